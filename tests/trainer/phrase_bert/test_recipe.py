"""Phrase-BERT on a tiny network."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from indexer.errors import NotEnoughData
from models.registry import Registry
from models.tokens import TokenizerFile
from tests.models.conftest import encoder_of
from trainer.base.corpus import given_mentions, mine
from trainer.base.losses import triplet_by_distance
from trainer.base.pairs import HELD_BACK
from trainer.phrase_bert.data import TripletSampler, other_phrase
from trainer.phrase_bert.options import PhraseBertOptions
from trainer.phrase_bert.train import train_phrase_bert

pytestmark = [pytest.mark.usefixtures("small_training"), pytest.mark.xdist_group("transformers")]

PAIRS = [("heat pump", "warm house"), ("cell membrane", "thin cell"), ("solid state battery", "safe battery")]
OPTIONS = PhraseBertOptions(
    name="mine", steps=60, learning_rate=5e-3, warmup=2, eval_every=20, licence="CC0 1.0", threads=1
)


@pytest.fixture
def spans(tmp_path):
    """Three phrases with another name each, in sentences of their own."""
    lines = []
    for at, (one, other) in enumerate(PAIRS):
        sentence = f"{'and ' * at}the {one}, also called {other}, is {'a ' * at}."
        for phrase in (one, other):
            start = sentence.index(phrase)
            lines.append({"sentence": sentence, "start": start, "end": start + len(phrase)})
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def sampler(bundle, spans, folder, *, specials=True):
    words = TokenizerFile(bundle.base_folder / "tokenizer.json")
    sources = [mine(given_mentions([spans]), folder)]
    return TripletSampler(sources, [1.0], words, size=16, specials=specials, seed=0)


def test_triplet_by_distance_by_hand():
    anchors = torch.tensor([[0.0, 0.0], [0.0, 0.0]])
    positives = torch.tensor([[3.0, 4.0], [1.0, 0.0]])
    negatives = torch.tensor([[0.0, 2.0], [0.0, 3.0]])
    # Distances 5 against 2: 5 - 2 + 1. And 1 against 3: nearer by more than the margin.
    assert triplet_by_distance(anchors, positives, negatives).item() == pytest.approx((4 + 0) / 2)
    assert triplet_by_distance(anchors, positives, negatives, margin=3).item() == pytest.approx((6 + 1) / 2)


def test_another_phrase_is_a_stranger_or_has_a_word_of_one():
    draw = np.random.default_rng(0)
    found = {other_phrase("heat pump", ("thin", "safe"), draw) for _ in range(100)}
    assert found == {"thin", "safe", "thin pump", "safe pump", "heat thin", "heat safe"}
    assert {other_phrase("heat", ("thin", "safe"), draw) for _ in range(20)} == {"thin", "safe"}


def test_triples_hold_paraphrases_and_masked_contexts(bundle, spans, tmp_path):
    triplets = sampler(bundle, spans, tmp_path / "mined")
    words = TokenizerFile(bundle.base_folder / "tokenizer.json")
    ids = {
        tuple(found.tolist()): text
        for pair in PAIRS
        for text, found in zip(pair, words.ids(pair), strict=True)
    }
    lesson = triplets.paraphrases(0)
    for anchor, positive in zip(lesson.anchors, lesson.positives, strict=True):
        pair = ids[tuple(anchor.ids[1:-1])], ids[tuple(positive.ids[1:-1])]
        assert pair in PAIRS or pair[::-1] in PAIRS
        assert (anchor.first, anchor.last) == (0, len(anchor.ids))
    lesson = triplets.contexts(0)
    for anchor, positive, negative in zip(lesson.anchors, lesson.positives, lesson.negatives, strict=True):
        pieces = anchor.ids[1:-1].tolist()
        assert positive.ids.tolist().count(words.mask) == len(pieces)
        assert words.mask in negative.ids
        assert positive.ids.tolist() != negative.ids.tolist()
    same = sampler(bundle, spans, tmp_path / "again").contexts(0)
    assert [view.ids.tolist() for view in same.views] == [view.ids.tolist() for view in lesson.views]


def test_without_special_tokens_in_the_mean(bundle, spans, tmp_path):
    view = sampler(bundle, spans, tmp_path / "mined", specials=False).contexts(HELD_BACK).anchors[0]
    assert (view.first, view.last) == (1, len(view.ids) - 1)


def trained(bundle, spans, home, **more):
    return train_phrase_bert(bundle, replace(OPTIONS, mentions=(spans,)), home=home, **more)


@pytest.mark.slow
def test_it_learns_the_names_by_heart(bundle, spans, tmp_path):
    made = trained(bundle, spans, tmp_path / "home")
    assert made.scores["held_back"] > 0.9  # a coin finds half
    losses = [step["loss"] for step in json.loads((made.folder / "curve.json").read_text())]
    assert len(losses) == OPTIONS.steps
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10])
    names = encoder_of(made, "torch-fp32", tmp_path).encode_phrases([name for pair in PAIRS for name in pair])
    similarity = names @ names.T - 2 * np.eye(6)
    assert similarity.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]  # each is nearest to its other name


@pytest.mark.slow
def test_the_card_says_what_was_trained_and_how_phrases_are_pooled(bundle, spans, tmp_path):
    trained(bundle, spans, tmp_path / "home")
    made = Registry(tmp_path / "home").get("mine")
    assert made.about == f"Phrase-BERT on {bundle.name}: spans.jsonl."
    assert made.licence == "CC0 1.0"
    assert made.pooling == replace(
        bundle.pooling,
        span_layers=bundle.pooling.document_layers,
        phrase_specials=bundle.pooling.document_specials,
    )
    assert json.loads((made.folder / "training.json").read_text())["recipe"] == "phrase-bert"


@pytest.mark.slow
def test_killed_and_started_again_it_ends_the_same(bundle, spans, tmp_path):
    whole = trained(bundle, spans, tmp_path / "whole")

    def stop(stage, done, total):
        if stage.startswith("train") and done == 45:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(bundle, spans, tmp_path / "killed", progress=stop)
    again = trained(bundle, spans, tmp_path / "killed")
    assert again.fingerprint == whole.fingerprint


def test_texts_in_which_nothing_is_said_twice(bundle, tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps({"sentence": "the heat pump is warm .", "start": 4, "end": 13}) + "\n")
    with pytest.raises(NotEnoughData, match="0 pairs of paraphrases; 2 are needed"):
        trained(bundle, path, tmp_path / "home")
