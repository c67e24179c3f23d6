"""Keyphrases that other documents have, for those that fit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from indexer.keyphrases.absent import (
    ABSENT_CLUES,
    AbsentFinder,
    absent_clues,
    candidates,
    joined,
    recombined,
    vocabulary,
    vocabulary_of,
)
from indexer.keyphrases.ranker import DualEncoder, Ranker, Vocabulary
from indexer.records import Document, Keyphrase, MentionRow, Place, StoredDocument

X, Y = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


def row(text: str, phrase: str, vector: np.ndarray, **fields: object) -> MentionRow:
    at = text.index(phrase)
    places = (Place("text", at, at + len(phrase)),)
    made = MentionRow("a", f"p-{phrase}", phrase, phrase, 0.5, places, "", vector)
    return replace(made, **fields)  # type: ignore[arg-type]


def stored(id_: str, vector: np.ndarray, *phrases: str) -> tuple[StoredDocument, list[MentionRow]]:
    text = ", ".join(phrases)
    rows = [row(text, phrase, vector, keyphrase=True) for phrase in phrases]
    keyphrases = tuple(Keyphrase(r.phrase_id, r.surface, 0.5, r.places) for r in rows)
    return StoredDocument(Document(id_, text), keyphrases, vector=vector), rows


def known(*pairs: tuple[str, float, np.ndarray, np.ndarray]) -> Vocabulary:
    return vocabulary(
        *(list(column) for column in zip(*((t, t, c, p, d) for t, c, p, d in pairs), strict=True))
    )


def test_a_vocabulary_has_what_two_documents_have():
    found = vocabulary_of([stored("a", X, "wind", "sun"), stored("b", Y, "wind"), stored("c", Y, "rain")])
    assert (found.texts, found.counts.tolist()) == (("wind",), [2.0])
    assert found.documents[0] == pytest.approx([math.sqrt(0.5)] * 2)  # between its two documents


def test_the_first_of_two_vocabularies_counts():
    first, second = known(("wind", 5, X, X)), known(("wind", 2, Y, Y), ("sun", 3, Y, Y))
    both = joined(first, second)
    assert (both.texts, both.counts.tolist()) == (("wind", "sun"), [5.0, 3.0])
    assert joined(vocabulary([], [], [], [], []), second) is second


def test_what_stands_in_the_text_is_no_candidate():
    document = Document("a", "Winds blow over the sea.")
    pool = candidates(document, X, [], known(("wind", 3, X, X), ("storm", 2, X, Y), ("calm", 2, Y, X)))
    assert set(pool.texts) == {"storm", "calm"}


def test_phrases_are_put_together_again():
    text = "The control of ships, and oil in water."
    rows = [row(text, phrase, X) for phrase in ("control", "ships", "oil", "water")]
    rows[1] = replace(rows[1], phrase="ship")
    assert [(words, stem) for words, stem, _ in recombined(Document("a", text), rows)] == [
        ("ship control", "ship control"),
        ("water oil", "water oil"),
    ]


def test_clues_by_hand():
    document = Document("a", "Wind turns the mill.", "Old mill")
    pool = known(("wind mill", 3, X, Y), ("ocean current map", 0, Y, X))
    clues = absent_clues(document, X, X[None], pool)
    named = [dict(zip(ABSENT_CLUES, row, strict=True)) for row in clues.tolist()]
    assert named[0] == pytest.approx(
        {
            "documents": 0, "shared": 1, "title": 0.5, "head": 1, "often": math.log(4), "near": 1,
            "recombined": 0, "one": 0, "two": 1, "more": 0,
        }
    )  # fmt: skip
    assert (named[1]["documents"], named[1]["shared"], named[1]["recombined"], named[1]["more"]) == (
        0,
        0,
        1,
        1,
    )


def test_the_best_past_the_threshold_are_found():
    by_documents = DualEncoder(
        *(np.zeros(size, np.float32) for size in ((2, 2), 2, (2, 2), 2)),
        np.eye(1, len(ABSENT_CLUES), dtype=np.float32)[0],
        threshold=0.5,
    )
    own = known(("storm", 3, X, X), ("calm", 2, X, Y), ("gale", 2, X, X + Y))
    finder = AbsentFinder(Ranker(by_documents, by_documents, {}, own), vocabulary([], [], [], [], []))
    document = Document("a", "Wind over the sea.")
    found = finder.find(document, X, [row(document.text, "Wind", X)], 5)
    assert [k.text for k in found] == ["storm", "gale"]  # cosines 1 and .71; calm has 0
    assert not any(k.present for k in found)
    assert [k.text for k in finder.find(document, X, [], 1)] == ["storm"]
