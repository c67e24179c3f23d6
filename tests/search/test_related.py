"""Phrases that say what a query says in other words."""

import numpy as np
import pytest

from indexer.records import PhraseRow
from indexer.search.related import other_phrases

VECTOR = np.zeros(2, np.float32)


def row(phrase, documents=5):
    return PhraseRow(phrase, phrase, (phrase,), documents, (), VECTOR)


class Engine:
    def __init__(self, *rows):
        self._rows = list(rows)

    def nearest_phrases(self, vector, *, limit):
        assert vector is VECTOR
        return self._rows[:limit]


def texts(engine, query, limit=4):
    return [row.phrase for row, _ in other_phrases(engine, query, VECTOR, limit)]


@pytest.mark.parametrize(
    ("phrase", "documents", "score", "said"),
    [
        ("stock market", 5, 0.85, True),
        ("stock price", 5, 0.99, False),  # the query itself
        ("daily stock price", 5, 0.9, False),  # with all its words: found by words anyway
        ("price", 5, 0.9, False),  # a part of it
        ("stock market", 1, 0.85, False),  # of one document
        ("stock market", 5, 0.74, False),  # too far
    ],
)
def test_other_words_for_the_same_are_suggested(phrase, documents, score, said):
    found = texts(Engine((row(phrase, documents), score)), "Stock prices")
    assert found == [phrase] * said


def test_what_contains_a_nearer_suggestion_is_none():
    engine = Engine(
        (row("stock market"), 0.9), (row("indian stock market"), 0.88), (row("financial market"), 0.8),
        (row("stock exchange"), 0.79),
    )  # fmt: skip
    assert texts(engine, "share prices") == ["stock market", "financial market", "stock exchange"]
    assert texts(engine, "share prices", limit=2) == ["stock market", "financial market"]
