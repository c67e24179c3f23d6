"""The network against transformers' own hidden states and attention matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from indexer.errors import BackendUnavailable, BundleIncompatible
from indexer.protocols import Window
from models.bundle import Bundle, Pooling
from tests.models.conftest import encoder_of

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library

TEXT = "The heat pumps warm a house."
#       words: the heat pump ##s warm a house .
SPANS = ((4, 14), (15, 19), (0, 28))
PIECES = [slice(1, 4), slice(4, 5), slice(0, 8)]  # of the eight word pieces
WINDOWS = [Window(TEXT, SPANS), Window("the cell membrane is thin")]  # two lengths, so there is padding


def naive(base, text: str, *, attention_layers: tuple[int, ...]):
    """Hidden states [layers + 1, length, dims] and attention received [length], one text at a time."""
    from transformers import AutoModel, PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(base / "tokenizer.json"))
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    ids = torch.tensor([tokenizer.backend_tokenizer.encode(text).ids])
    model = AutoModel.from_pretrained(base, attn_implementation="eager").eval()
    with torch.inference_mode():
        given = model(input_ids=ids, output_hidden_states=True, output_attentions=True)
    received = np.zeros(ids.shape[1])
    for layer in attention_layers:
        for head in given.attentions[layer - 1][0].numpy():  # [length, length], a row per sender
            for sender in range(1, ids.shape[1] - 1):
                received[1:-1] += head[sender, 1:-1]
    return np.stack([hidden[0].numpy() for hidden in given.hidden_states]), received


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("name", ["torch-fp32", "onnx-fp32"])
@pytest.mark.parametrize("attention_layers", [(), (2,)])
def test_encodings_are_those_of_transformers(bundle, base, home, name, attention_layers):
    encoder = encoder_of(bundle, name, home, attention_layers=attention_layers)
    [encoding, _] = encoder.encode(WINDOWS)
    hidden, received = naive(base, TEXT, attention_layers=attention_layers or (1, 2))
    words = (hidden[1] + hidden[2])[1:-1] / 2
    for row, pieces in enumerate(PIECES):
        assert encoding.mentions[row] == pytest.approx(unit(words[pieces].mean(axis=0)), abs=1e-5)
        assert encoding.attention[row] == pytest.approx(received[1:-1][pieces].sum(), rel=1e-4)
    assert encoding.document == pytest.approx(unit(hidden[2].mean(axis=0)), abs=1e-5)


def test_attention_is_given_away_whole_when_nothing_is_special(bundle, home):
    """Each word piece gives 1 in each of 4 heads and 2 layers; a part goes to the special tokens."""
    [encoding, _] = encoder_of(bundle, "torch-fp32", home).encode(WINDOWS)
    assert 0.5 * 8 * 4 * 2 < encoding.attention[2] < 8 * 4 * 2


def test_phrases_and_texts_agree_between_torch_and_onnx(bundle, home):
    texts = ["heat pump", "", "the solid state battery is safe " * 5]
    ours, theirs = (encoder_of(bundle, name, home) for name in ("torch-fp32", "onnx-fp32"))
    assert ours.encode_phrases(texts) == pytest.approx(theirs.encode_phrases(texts), abs=1e-5)
    assert ours.encode_texts(texts) == pytest.approx(theirs.encode_texts(texts), abs=1e-5)


def test_bf16_is_near(bundle, home):
    exact, rough = (
        encoder_of(bundle, name, home).encode(WINDOWS)[0] for name in ("torch-fp32", "torch-bf16")
    )
    assert np.sum(exact.mentions * rough.mentions, axis=1).min() > 0.999
    assert rough.attention == pytest.approx(exact.attention, rel=0.05)


def test_the_gpu_backend_says_that_there_is_none(bundle, home, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BackendUnavailable, match="needs a GPU"):
        encoder_of(bundle, "torch", home)


@pytest.mark.parametrize("name", ["torch-fp32", "onnx-fp32"])
def test_layers_that_are_not_there_are_refused(bundle, home, name):
    with pytest.raises(BundleIncompatible, match="'tiny' uses layer 3; its base model has 2 layers"):
        encoder_of(bundle, name, home, span_layers=(3,))


# -- other architectures, with random weights made by transformers itself

SIZES = {"vocab_size": 40, "num_hidden_layers": 2, "max_position_embeddings": 40}
WIDE = SIZES | {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
FAMILIES = {
    "roberta": WIDE | {"pad_token_id": 0},
    "luke": WIDE | {"pad_token_id": 0, "entity_vocab_size": 5, "entity_emb_size": 8},
    "distilbert": SIZES | {"dim": 32, "n_heads": 4, "n_layers": 2, "hidden_dim": 64},
    "bart": SIZES | {"d_model": 32, "pad_token_id": 0}
    | {f"{side}_{what}": number for side in ("encoder", "decoder")
       for what, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))},
}  # fmt: skip


@pytest.fixture(scope="module", params=FAMILIES)
def other(request, base, tmp_path_factory) -> Bundle:
    import shutil

    from transformers import AutoConfig, AutoModel

    folder = tmp_path_factory.mktemp("other") / request.param
    settings = {name: value for name, value in FAMILIES[request.param].items() if name != "num_hidden_layers"}
    if request.param in ("roberta", "luke"):
        settings["num_hidden_layers"] = 2
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.for_model(request.param, **settings)).save_pretrained(folder)
    shutil.copy(base / "tokenizer.json", folder)
    pooling = Pooling(span_layers=(1, 2), document_layers=(2,))
    return Bundle(name=request.param, base={"folder": str(folder)}, pooling=pooling, window_tokens=16)


def test_other_architectures_encode_as_transformers_does(other, home):
    [encoding, _] = encoder_of(other, "torch-fp32", home).encode(WINDOWS)
    if other.name == "bart":
        return  # AutoModel gives no encoder states by that name; that it runs is enough
    hidden, received = naive(other.base_folder, TEXT, attention_layers=(1, 2))
    assert encoding.document == pytest.approx(unit(hidden[2].mean(axis=0)), abs=1e-5)
    assert encoding.attention[2] == pytest.approx(received.sum(), rel=1e-4)


def test_other_architectures_agree_between_torch_and_onnx(other, home):
    if other.name == "bart":
        with pytest.raises(BackendUnavailable, match="cannot run this base model"):
            encoder_of(other, "onnx-fp32", home)
        return
    for ours, theirs in zip(
        *(encoder_of(other, name, home).encode(WINDOWS) for name in ("torch-fp32", "onnx-fp32")), strict=True
    ):
        assert ours.mentions == pytest.approx(theirs.mentions, abs=1e-5)
        assert ours.document == pytest.approx(theirs.document, abs=1e-5)
        assert ours.attention == pytest.approx(theirs.attention, rel=1e-4)


def test_a_base_without_a_weight_is_named(bundle, tmp_path):
    import shutil

    from safetensors.numpy import load_file, save_file

    folder = tmp_path / "broken"
    shutil.copytree(bundle.base_folder, folder)
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors")
    broken = replace(bundle, base={"folder": str(folder)})
    for name in ("torch-fp32", "onnx-fp32"):
        with pytest.raises(BundleIncompatible, match=r"encoder\.layer\.1\.output\.dense\.bias"):
            encoder_of(broken, name, tmp_path)
