"""A tiny BERT with random weights and a vocabulary of its own: two layers, 32 dims, no download."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from models.backend_factory import make_backend
from models.bundle import Bundle, Pooling, read_bundle, write_bundle
from models.encoder import WindowEncoder

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "a", "heat", "pump", "##s", "warm", "house", "cell", "membrane", "is", "thin", "and", "safe"]
WORDS += ["solid", "state", "battery", ".", ","]
SIZES = {"dims": 32, "heads": 4, "layers": 2, "wide": 64, "positions": 64}


def write_tokenizer(folder: Path) -> None:
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    # As published models have it: the encoder must switch both off.
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    tokenizer.save(str(folder / "tokenizer.json"))


def bert_weights(seed: int, names: dict[str, str] | None = None) -> dict[str, np.ndarray]:
    """Random weights of BERT's layout; biases and norms too, so that forgetting one shows."""
    draw = np.random.default_rng(seed)
    dims, wide = SIZES["dims"], SIZES["wide"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(SPECIAL) + len(WORDS), dims),
        "embeddings.position_embeddings.weight": (SIZES["positions"], dims),
        "embeddings.token_type_embeddings.weight": (2, dims),
        "embeddings.LayerNorm.weight": (dims,),
        "embeddings.LayerNorm.bias": (dims,),
    }
    for layer in range(SIZES["layers"]):
        at = f"encoder.layer.{layer}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{at}attention.{part}.weight"] = (dims, dims)
            shapes[f"{at}attention.{part}.bias"] = (dims,)
        shapes |= {
            f"{at}intermediate.dense.weight": (wide, dims),
            f"{at}intermediate.dense.bias": (wide,),
            f"{at}output.dense.weight": (dims, wide),
            f"{at}output.dense.bias": (dims,),
        }
        for part in ("attention.output", "output"):
            shapes[f"{at}{part}.LayerNorm.weight"] = (dims,)
            shapes[f"{at}{part}.LayerNorm.bias"] = (dims,)
    weights = {name: draw.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}
    for name in weights:
        if name.endswith("LayerNorm.weight"):
            weights[name] += 1
    return weights


def write_base(folder: Path, *, seed: int = 0, **config: Any) -> Path:
    """A Hugging Face folder: config.json, tokenizer.json, model.safetensors."""
    folder.mkdir(parents=True)
    write_tokenizer(folder)
    settings = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": len(SPECIAL) + len(WORDS),
        "hidden_size": SIZES["dims"],
        "num_attention_heads": SIZES["heads"],
        "num_hidden_layers": SIZES["layers"],
        "intermediate_size": SIZES["wide"],
        "max_position_embeddings": SIZES["positions"],
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
        "type_vocab_size": 2,
    }
    (folder / "config.json").write_text(json.dumps(settings | config), encoding="utf-8")
    save_file(bert_weights(seed), folder / "model.safetensors")
    return folder


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base") / "tiny")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for the tests that only read: the graphs are written once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def bundle(base: Path, home: Path) -> Bundle:
    """Spans from both layers, documents from the last, attention of all, windows of 16 word pieces."""
    pooling = Pooling(span_layers=(1, 2), document_layers=(2,))
    written = Bundle(name="tiny", base={"folder": str(base)}, pooling=pooling, window_tokens=16)
    write_bundle(written, home / "bundles" / "tiny")
    return read_bundle(home / "bundles" / "tiny")


def encoder_of(bundle: Bundle, name: str, home: Path, *, threads: int = 1, **pooling: Any) -> WindowEncoder:
    if pooling:
        bundle = replace(bundle, pooling=replace(bundle.pooling, **pooling))
    return WindowEncoder(bundle, make_backend(bundle, name, home=home, threads=threads))


@pytest.fixture(scope="session")
def encoder(bundle: Bundle, home: Path) -> WindowEncoder:
    """The float32 encoder that starts fastest."""
    return encoder_of(bundle, "onnx-fp32", home)
