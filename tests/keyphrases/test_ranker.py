"""Learned ranking: scores, clues and choice, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from indexer.keyphrases.ranker import (
    CLUES,
    TEMPERATURE,
    DualEncoder,
    Ranker,
    Vocabulary,
    present_clues,
    stems_of,
)
from indexer.keyphrases.scoring import choose_ranked
from indexer.records import Document, EncodedDocument, Mention, MentionRow, Place, Sentence

NOTHING = Vocabulary(
    (), (), np.zeros(0, np.float32), np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32)
)


def dual(clues: int = 1, threshold: float = 0.0) -> DualEncoder:
    """Layers that change nothing but by tanh; the first clue counts one."""
    layer, none = np.eye(2, dtype=np.float32), np.zeros(2, np.float32)
    weights = np.eye(1, clues, dtype=np.float32)[0]
    return DualEncoder(layer, none, layer, none, weights, threshold)


def test_scores_by_hand():
    document = np.array([1, 0], np.float32)
    phrases = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    clues = np.array([[0], [0.5], [0]], np.float32)
    # Cosines 1, 0 and cos 45°; the second gets 0.5 for its clue.
    raw = [1, 0.5, math.sqrt(0.5)]
    expected = [1 / (1 + math.exp((0.5 - r) / TEMPERATURE)) for r in raw]
    assert dual(threshold=0.5).scores(document, phrases, clues) == pytest.approx(expected, rel=1e-5)


def encoded(text: str, *phrases: tuple[str, list[int], float]) -> tuple[Document, EncodedDocument]:
    """A document whose first sentence ends at 20; phrases with their places and shares of own mentions."""
    mentions = tuple(tuple(Mention(at, at + len(p), p) for at in places) for p, places, _ in phrases)
    count = len(phrases)
    return Document("a", text), EncodedDocument(
        vector=np.array([1, 0], np.float32),
        phrases=mentions,
        sentences=(Sentence(0, 20),) * count,
        vectors=np.tile(np.array([1, 0], np.float32), (count, 1)),
        attention=np.array([math.e - 1] * count, np.float32),
        relevance=np.ones(count, np.float32),
        own=np.array([share for *_, share in phrases], np.float32),
    )


def test_clues_by_hand():
    text = "heat pumps are good. A heat pump is safe."
    document, found = encoded(text, ("heat pump", [0, 23], 1.0), ("heat", [0, 23], 0.0))
    stems = stems_of(document, found)
    assert stems == ["heat pump", "heat"]
    clues = present_clues(document, found, stems, np.array([3, 0], np.float32))
    named = [dict(zip(CLUES, row, strict=True)) for row in clues.tolist()]
    assert named[0] == pytest.approx(
        {
            "attention": 0, "early": 1, "often": math.log(2), "title": 1,
            "one": 0, "two": 1, "three": 0, "more": 0,
            "own": 1, "inside": 0, "known": math.log(4),
        }
    )  # fmt: skip
    # "heat" stands both times in "heat pump".
    assert (named[1]["one"], named[1]["own"], named[1]["inside"], named[1]["known"]) == (1, 0, 1, 0)


def test_a_ranker_ranks_by_vector_and_clues():
    document, found = encoded("heat pumps are good.", ("heat pump", [0], 1.0), ("pump", [5], 0.0))
    early = DualEncoder(*(np.zeros(s, np.float32) for s in ((2, 2), 2, (2, 2), 2)),
                        np.eye(1, len(CLUES), CLUES.index("own"), dtype=np.float32)[0], 0.5)  # fmt: skip
    scores = Ranker(early, early, {}, NOTHING).rank(document, found)
    assert scores == pytest.approx([1 / (1 + math.exp(-5)), 1 / (1 + math.exp(5))], rel=1e-4)


def row(surface: str, score: float) -> MentionRow:
    places = (Place("text", 0, len(surface)),)
    return MentionRow("a", f"p-{surface}", surface, surface, score, places, "", np.zeros(2, np.float32))


def test_those_past_the_threshold_are_chosen_and_at_least_five():
    rows = [
        row(name, score)
        for name, score in zip("abcdefgh", (0.9, 0.8, 0.4, 0.3, 0.2, 0.1, 0.05, 0), strict=True)
    ]
    assert [k.text for k in choose_ranked(rows, 10)] == ["a", "b", "c", "d", "e"]
    sure = [row(name, 0.6) for name in "abcdefgh"]
    assert [k.text for k in choose_ranked(sure, 10)] == list("abcdefgh")
    assert [k.text for k in choose_ranked(sure, 3)] == ["a", "b", "c"]
    twice = [row("heat pump", 0.9), row("heat pumps", 0.95), row("wall", 0.1)]
    assert [k.text for k in choose_ranked(twice, 10)] == ["heat pumps", "wall"]
    assert choose_ranked([], 10) == ()
