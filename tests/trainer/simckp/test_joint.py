"""The encoder-decoder of SimCKP, on a tiny BART with random weights: both losses, the beam, and the bundle."""

from __future__ import annotations

import json
import math

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from indexer.errors import BundleIncompatible
from indexer.records import Document
from models.load import load_encoder
from models.registry import Registry
from models.tokens import TokenizerFile
from models.torch.generator import phrases_of, written
from trainer.base.loop import TrainConfig, train
from trainer.simckp.data import read_labelled
from trainer.simckp.joint import CONTRAST, Joint, SpanScorer, open_bart
from trainer.simckp.options import SimCKPOptions
from trainer.simckp.train import train_simckp

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
WORDS = [
    "the",
    "a",
    "heat",
    "pump",
    "warm",
    "house",
    "cell",
    "membrane",
    "is",
    "thin",
    "and",
    "safe",
    "solid",
    "state",
    "battery",
    ".",
    ",",
    ";",
]


def write_bart(folder):
    folder.mkdir()
    tokenizer = Tokenizer(
        models.WordLevel({word: at for at, word in enumerate([*SPECIAL, *WORDS])}, unk_token="<unk>")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    sizes = {"d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=len(SPECIAL) + len(WORDS), max_position_embeddings=64, encoder_layers=2, decoder_layers=2,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
        dropout=0.0, **sizes, **heads,
    )  # fmt: skip
    BartForConditionalGeneration(config).save_pretrained(folder, safe_serialization=True)
    return folder


@pytest.fixture
def bart(tmp_path):
    return write_bart(tmp_path / "bart")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "labelled.jsonl"
    lines = []
    for at in range(24):
        main, other, absent = ("heat pump", "cell membrane", ["warm house", "safe battery"])
        if at % 2:
            main, other, absent = other, main, ["solid state"]
        text = f"The {main} is thin. The {other} is a {main}." + " and" * (at // 2)
        lines.append({"id": str(at), "text": text, "keyphrases": [main, *absent]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_span_scores_by_hand():
    scorer = SpanScorer(2)
    with torch.no_grad():
        for layer in (scorer.document, scorer.phrase):
            layer.weight.copy_(torch.eye(2))
            layer.bias.zero_()
    hidden = torch.tensor([[1.0, 0.0], [0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    # The first span adds up to the start token; the last is at right angles to it.
    assert scorer(hidden, [(1, 3), (3, 4), (2, 4)]).tolist() == pytest.approx(
        [1, 0, math.tanh(0.5) / math.hypot(math.tanh(0.5), math.tanh(1))], abs=1e-6
    )


@pytest.mark.slow
def test_both_losses_are_learned_and_the_beam_writes_what_is_absent(bart, data):
    model = open_bart(bart)
    labelled = read_labelled([data], tagger="shipped")
    recipe = Joint(model, TokenizerFile(bart / "tokenizer.json"), labelled, seed=0)
    with torch.no_grad():
        writing, ranking = recipe._losses(range(8))
        # Not trained, every word is as likely as any other, more or less.
        assert writing.item() == pytest.approx(math.log(len(SPECIAL) + len(WORDS)), rel=0.2)
    config = TrainConfig(steps=60, learning_rate=5e-3, warmup=2, eval_every=60)
    steps = list(train(recipe, recipe.network, config))
    with torch.no_grad():
        now = recipe._losses(range(8))
    assert now[0] < 0.1 * writing
    assert now[1] < 0.1 * ranking
    assert steps[0].loss > CONTRAST * ranking.item()  # writing is in it, too
    model.eval()
    found = written(model, bart / "tokenizer.json", labelled[0].document.content, 4)
    assert found[:2] == ["warm house", "safe battery"]
    assert len(found) > 2  # more than is needed


def test_sequences_are_taken_apart():
    assert phrases_of(["heat pump; walls", "Heat Pumps ;; wall ; new"]) == ["heat pump", "walls", "new"]


@pytest.mark.slow
def test_a_bundle_carries_the_bart_and_writes_with_it(bundle, bart, data, tmp_path, monkeypatch):
    home = tmp_path / "home"
    options = SimCKPOptions(name="written", data=(data,), bart=bart, steps=20, tagger="shipped", threads=1)
    with monkeypatch.context() as patch:
        patch.setattr("trainer.simckp.train.run_bundle", lambda *_, **__: pytest.fail("the base is not used"))
        made = train_simckp(bundle, options, home=home)
    curve = json.loads((made.folder / "curve.json").read_text())
    assert [step["step"] for step in curve] == list(range(1, 61))  # three stages of 20
    assert Registry(home).get("written").base_folder == made.folder / "model"
    encoder = load_encoder("written", home=home, backend="torch-fp32", threads=1)
    document = Document("a", "The heat pump is thin.")
    generated = encoder.ranker.generate(document)
    assert generated
    text, _, vector = generated[0]
    assert vector == pytest.approx(encoder.encode_phrases([text])[0], abs=1e-5)


def test_another_model_is_refused(bart, base):
    with pytest.raises(BundleIncompatible, match="kind 'bert'; only BART can write"):
        open_bart(base)
    (bart / "model.safetensors").unlink()
    with pytest.raises(BundleIncompatible, match=r"has no model\.safetensors"):
        open_bart(bart)
