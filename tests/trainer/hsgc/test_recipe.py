"""HS-GC: learns a handful by heart, ends the same when it was killed, and puts its clusters into the vectors."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from indexer.errors import NotEnoughData
from models.backend_factory import make_backend
from models.encoder import WindowEncoder
from models.tokens import TokenizerFile
from models.torch.network import Network
from models.weights import read_heads
from trainer.hsgc import recipe as module
from trainer.hsgc.options import HSGCOptions
from trainer.hsgc.recipe import GlobalContrast
from trainer.hsgc.train import holistic, train_hsgc

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library

KINDS = ["heat pump warm house", "cell membrane thin", "solid state battery safe"]
OPTIONS = HSGCOptions(name="mine", clusters=3, steps=40, eval_every=10, learning_rate=2e-3, threads=1)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(module, "BATCH", 24)
    monkeypatch.setattr("trainer.hsgc.data.NEAREST", 2)


@pytest.fixture
def texts(tmp_path):
    """Sixty texts of three kinds, each with its own order of words."""
    draw = np.random.default_rng(0)
    lines = []
    for at in range(60):
        words = [*KINDS[at % 3].split(), "the", "is", "and"]
        lines.append(json.dumps({"id": str(at), "text": " ".join(draw.permutation(words))}) + "\n")
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(lines))
    return path


def encoder(bundle, home):
    return WindowEncoder(bundle, make_backend(bundle, "torch-fp32", home=home, threads=1))


def apart(vectors):
    """Mean cosine inside of the kinds, less that between them."""
    kinds = np.arange(60) % 3
    same = kinds[:, None] == kinds[None, :]
    similarity = vectors @ vectors.T
    return similarity[same].mean() - similarity[~same].mean()


@pytest.mark.slow
def test_it_learns_the_texts_by_heart(bundle, texts, tmp_path):
    made = train_hsgc(bundle, replace(OPTIONS, corpus=(texts,)), home=tmp_path / "home")
    losses = [step["loss"] for step in json.loads((made.folder / "curve.json").read_text())]
    assert losses[-1] < losses[0] - 1
    assert made.pooling.document_layers == (1, 2)
    assert made.scores["clusters"] == 3
    lines = [json.loads(line)["text"] for line in texts.read_text().splitlines()]
    before, after = (apart(encoder(one, tmp_path).encode_texts(lines)) for one in (holistic(bundle), made))
    assert after > before + 0.2


@pytest.mark.slow
def test_killed_and_started_again_it_ends_the_same(bundle, texts, tmp_path):
    options = replace(OPTIONS, corpus=(texts,), steps=30)
    whole = train_hsgc(bundle, options, home=tmp_path / "whole")

    def stop(stage, done, total):
        if stage.startswith("train") and done == 17:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_hsgc(bundle, options, home=tmp_path / "killed", progress=stop)
    again = train_hsgc(bundle, options, home=tmp_path / "killed")
    assert again.fingerprint == whole.fingerprint
    other = train_hsgc(bundle, replace(options, seed=1), home=tmp_path / "whole")
    assert other.fingerprint != whole.fingerprint


@pytest.mark.slow
def test_what_stands_beside_the_encoder_stays(bundle, texts, tmp_path, monkeypatch):
    heads = {"other": np.eye(2, dtype=np.float32)}
    monkeypatch.setattr("trainer.hsgc.train.read_heads", lambda _: dict(heads))
    made = train_hsgc(bundle, replace(OPTIONS, corpus=(texts,), steps=10), home=tmp_path / "home")
    assert made.heads == ("other",)
    np.testing.assert_array_equal(read_heads(made)["other"], heads["other"])


def recipe(bundle, texts, clusters):
    words = TokenizerFile(bundle.base_folder / "tokenizer.json")
    ids = words.ids([json.loads(line)["text"] for line in texts.read_text().splitlines()])
    return GlobalContrast(Network(holistic(bundle)), words, ids, clusters, again=10, seed=0)


def test_centres_begin_at_those_of_all_texts_and_move_a_tenth(bundle, texts):
    made = recipe(bundle, texts, 3)
    made.network.eval()
    made._cluster()
    begin = made._centres.clone()
    assert torch.equal(begin[0], begin[1])
    assert torch.allclose(begin.norm(dim=-1), torch.ones(2, 3))
    made.loss(1)
    moved = (made._centres - begin).norm(dim=-1)
    assert 0 < moved.max() < 0.2  # a tenth of the way to a vector of unit length


def test_the_number_of_clusters_is_found(bundle, texts, monkeypatch):
    monkeypatch.setattr(module, "number_of_clusters", lambda vectors: len(vectors) // 15)
    assert recipe(bundle, texts, None).clusters == 4


def test_the_same_step_gives_the_same_loss(bundle, texts):
    one, other = recipe(bundle, texts, 3), recipe(bundle, texts, 3)
    other._head.load_state_dict(one._head.state_dict())
    for step in (10, 11):
        one.network.eval()
        other.network.eval()
        torch.manual_seed(step)
        expected = one.loss(step)
        torch.manual_seed(step)
        assert torch.equal(other.loss(step), expected)


def test_too_few_texts_are_refused(bundle, tmp_path):
    path = tmp_path / "few.jsonl"
    path.write_text('{"text": "the heat pump"}\n')
    with pytest.raises(NotEnoughData, match="There are 1 texts; 16 are needed"):
        train_hsgc(bundle, replace(OPTIONS, corpus=(path,)), home=tmp_path / "home")
