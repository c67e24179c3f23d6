"""The fusion of two rankings, by hand."""

from __future__ import annotations

import pytest

from indexer.engines.base import Ranking
from indexer.search import fusion
from indexer.search.fusion import fuse


def test_a_score_is_65_percent_cosine_and_35_percent_the_share_of_the_best_by_words():
    words = Ranking(("a", "b"), (8.0, 2.0), 2)
    meaning = Ranking(("b", "c", "a"), (0.9, 0.6, 0.5), 3)
    # a .65 * .5 + .35 * 8 / 8; b .65 * .9 + .35 * 2 / 8; c has none of the words
    assert fuse(words, meaning) == [
        ("a", pytest.approx(0.675), {"words": 1, "meaning": 3}),
        ("b", pytest.approx(0.6725), {"words": 2, "meaning": 1}),
        ("c", pytest.approx(0.39), {"meaning": 2}),
    ]


def test_an_unknown_score_counts_as_the_lowest_known(monkeypatch):
    monkeypatch.setattr(fusion, "KNOWN", 2)
    monkeypatch.setattr(fusion, "NEAREST", 2)
    words = Ranking(("a", "b", "c"), (4.0, 2.0, 1.0), 9)
    meaning = Ranking(("d", "a", "c"), (0.8, 0.4, 0.3), 9)
    found = fuse(words, meaning)
    # d may have the words, and counts as b does; b is not among the two nearest, and counts as a does
    assert [(id_, score) for id_, score, _ in found[:3]] == [
        ("d", pytest.approx(0.65 * 0.8 + 0.35 * 0.5)),
        ("a", pytest.approx(0.65 * 0.4 + 0.35)),
        ("b", pytest.approx(0.65 * 0.4 + 0.35 * 0.5)),
    ]
    # c is the third by words: after all the others, whatever else is known of it
    assert found[3][0] == "c"
    assert found[3][1] < found[2][1]


def test_equal_scores_come_by_id_and_nothing_gives_nothing():
    assert [id_ for id_, _, _ in fuse(Ranking(("b", "a"), (1.0, 1.0), 2), Ranking((), (), 0))] == ["a", "b"]
    assert fuse(Ranking((), (), 0), Ranking((), (), 0)) == []
