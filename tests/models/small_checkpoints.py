"""Small random checkpoints of other architectures, as their authors publish them: two layers, 32 dims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from tests.models.conftest import write_tokenizer

TEXTS = [
    "The heat pumps warm a house.",
    "A solid state battery is safe.",
    "The cell membrane is thin.",
    "a cup, a cat, a car",
]
BYTE_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
WIDE = {
    "vocab_size": 330,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 50,
}
SIZES: dict[str, dict[str, Any]] = {
    "bert": WIDE | {"pad_token_id": 0},
    "roberta": WIDE | {"pad_token_id": 1},
    "luke": WIDE | {"pad_token_id": 1, "entity_vocab_size": 7, "entity_emb_size": 8},
    "distilbert": {
        "vocab_size": 330, "dim": 32, "n_heads": 4, "n_layers": 2, "hidden_dim": 64, "max_position_embeddings": 50,
        "pad_token_id": 0,
    },
    "bart": {
        "vocab_size": 330, "d_model": 32, "max_position_embeddings": 50, "pad_token_id": 1,
        **{f"{side}_{what}": number for side in ("encoder", "decoder")
           for what, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))},
    },
}  # fmt: skip


def write_checkpoint(folder: Path, kind: str, **config: Any) -> Path:
    """config.json, tokenizer and model.safetensors of one architecture."""
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    from transformers import AutoConfig, AutoModel

    model = AutoModel.from_config(AutoConfig.for_model(kind, **{**SIZES[kind], **config}))
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms too, so that forgetting one shows
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    if kind in ("bert", "distilbert"):
        write_tokenizer(folder)
    elif kind == "luke":
        write_old_luke_tokenizer(folder)
    else:
        byte_pairs().save(str(folder / "tokenizer.json"))
    return folder


def byte_pairs() -> Tokenizer:
    """A byte-level tokenizer such as RoBERTa's, learned from four lines."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=BYTE_SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def write_old_luke_tokenizer(folder: Path) -> None:
    """vocab.json, merges.txt and entity_vocab.json, as the published LUKE models and UCTopic have them."""
    byte_pairs().model.save(str(folder))
    entities = {"[PAD]": 0, "[UNK]": 1, "[MASK]": 4, "[MASK2]": 2, "Beijing": 3}
    (folder / "entity_vocab.json").write_text(json.dumps(entities), encoding="utf-8")
    settings = {
        "tokenizer_class": "LukeTokenizer",
        "entity_unk_token": "[UNK]",
        "entity_pad_token": "[PAD]",
        "entity_mask_token": "[MASK]",
        "entity_mask2_token": "[MASK2]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
