"""Phrases, topics and the list of what has to be consolidated; figures; compacting."""

from __future__ import annotations

import numpy as np
import pytest
from contract_rows import ROUNDING, axis, between, document, mention, mined, phrase, topic

from indexer.errors import WriteRefused


def test_phrases_are_written_overwritten_and_deleted(engine):
    engine.write_phrases(row for row in [phrase("b", axis(1)), phrase("a", between(0, 1, 45)), phrase("c")])
    engine.write_phrases([phrase("b", axis(2), documents=9)])
    assert list(engine.phrase_ids()) == ["p-a", "p-b", "p-c"]
    first, second = engine.phrases(["p-b", "p-nobody", "p-a"])
    assert (first.phrase_id, first.documents, first.surfaces, first.topics) == (
        "p-b",
        9,
        ("B", "b"),
        ("t-000001",),
    )
    np.testing.assert_allclose(first.vector, axis(2), atol=ROUNDING)
    np.testing.assert_allclose(second.vector, between(0, 1, 45), atol=ROUNDING)
    engine.delete_phrases(id_ for id_ in ["p-b", "p-nobody"])
    assert list(engine.phrase_ids()) == ["p-a", "p-c"]
    assert engine.phrases(["p-b"]) == []
    assert engine.info().phrases == 2


def test_a_phrase_with_a_bad_vector_is_refused(engine):
    with pytest.raises(WriteRefused, match="p-x"):
        engine.write_phrases([phrase("x", np.ones(3, np.float32))])


def test_phrases_that_lose_a_mention_are_listed_until_they_are_written(engine):
    phrases = {"p-w", "p-x", "p-y", "p-z"}

    def settle() -> None:
        engine.write_phrases([phrase(id_.removeprefix("p-")) for id_ in sorted(phrases)])
        assert list(engine.changed_phrases()) == []

    def listed(lost: set[str]) -> bool:
        """Those, and no others than the phrases of the documents; they are written all, a few too many do no harm."""
        return lost <= set(engine.changed_phrases()) <= phrases

    engine.store([document("a"), document("b")])
    assert list(engine.changed_phrases()) == []
    rows = [
        mined("a", mentions=(mention("a", "x", topic="t-000001"), mention("a", "y", topic="t-000001"))),
        mined("b", mentions=(mention("b", "y"), mention("b", "z"))),
    ]
    engine.write_mined(rows)
    assert listed(set())
    settle()
    engine.write_mined([mined("b", mentions=(mention("b", "w"),))])
    assert listed({"p-y", "p-z"})
    engine.delete_phrases(["p-z"])
    assert listed({"p-y"})
    assert "p-z" not in engine.changed_phrases()
    settle()
    engine.store([document("a", "another text")])
    assert listed({"p-x", "p-y"})
    settle()
    engine.delete(["b"])
    assert listed({"p-w"})


@pytest.mark.parametrize("asked", [["p-gone", "p-x"], None])
def test_a_phrase_that_loses_a_mention_while_it_is_consolidated_stays_on_the_list(engine, asked):
    engine.store([document(id_) for id_ in "abcd"])
    engine.write_mined(
        [mined(id_, mentions=(mention(id_, "gone" if id_ == "b" else "x"),)) for id_ in "abcd"]
    )
    engine.write_phrases([phrase("x"), phrase("gone")])
    engine.delete(["b", "d"])
    groups = list(engine.mentions_by_phrase(asked))
    assert [sorted(row.document_id for row in group) for group in groups] == [["a", "c"]]
    engine.delete(["c"])  # too late to be read
    engine.write_phrases([phrase("x", documents=1)])
    engine.delete_phrases(["p-gone"] if asked else [])
    assert {"p-x"} <= set(engine.changed_phrases()) <= {"p-gone", "p-x"}
    assert [[row.document_id for row in group] for group in engine.mentions_by_phrase(["p-x"])] == [["a"]]
    engine.write_phrases([phrase("x", documents=1)])
    engine.delete_phrases(["p-gone"])
    assert list(engine.changed_phrases()) == []


def test_topics_replace_the_ones_before(engine):
    engine.write_topics([topic("t-000001"), topic("t-000002")])
    engine.write_topics([topic("t-000003", 5, "Wärme"), topic("t-000001", 5), topic("t-000009", 8)])
    found = engine.topics()
    assert [row.id for row in found] == ["t-000009", "t-000001", "t-000003"]  # largest first, then by id
    assert (found[2].label, found[2].phrases, found[2].size, found[2].label_locked) == (
        "Wärme",
        ("heat pump", "boiler"),
        5,
        False,
    )
    np.testing.assert_allclose(found[2].centroid, axis(1), atol=ROUNDING)


def test_info_counts(engine):
    assert engine.info().documents == 0
    engine.store([document("a"), document("b")])
    engine.store([document("c")])
    engine.write_mined(
        [mined("a", mentions=(mention("a", "x"), mention("a", "y"))), mined("b", topics=(("t-000001", 0.5),))]
    )
    engine.write_phrases([phrase("x")])
    engine.write_topics([topic("t-000001")])
    info = engine.info()
    assert (info.documents, info.mined, info.mentions, info.phrases, info.topics) == (3, 2, 2, 1, 1)
    assert info.without_topic == 1
    assert info.bytes > 0
    assert info.description


def test_compacting_changes_nothing_that_is_read(engine):
    engine.store([document(id_, f"text {id_}", lang="en") for id_ in "abcdef"])
    for _ in range(3):
        engine.write_mined(
            [
                mined(id_, axis(at), mentions=(mention(id_, id_, axis(at)), mention(id_, "x", axis(7))))
                for at, id_ in enumerate("abcdef")
            ]
        )
        engine.write_phrases([phrase(id_, between(at, 7, 20)) for at, id_ in enumerate("abcdef")])
    engine.delete(["b", "d"])
    engine.delete_phrases(["p-c"])
    engine.compact()
    assert not engine.wasteful()
    stored = engine.documents(list("abcdef"), vectors=True)
    assert [row.document.id for row in stored] == list("acef")
    for row in stored:
        at = "abcdef".index(row.document.id)
        np.testing.assert_allclose(row.vector, axis(at), atol=ROUNDING)
        (found, score), *_ = engine.nearest_mentions(axis(at), limit=1)
        assert (found.document_id, found.phrase) == (row.document.id, row.document.id)
        assert score == pytest.approx(1, abs=ROUNDING)
    for row in engine.phrases(list(engine.phrase_ids())):
        np.testing.assert_allclose(row.vector, between("abcdef".index(row.phrase), 7, 20), atol=ROUNDING)
    engine.write_mined([mined("a", axis(5), mentions=(mention("a", "x", axis(6)),))])
    np.testing.assert_allclose(engine.mentions(["a"])[0].vector, axis(6), atol=ROUNDING)
    np.testing.assert_allclose(engine.mentions(["c"])[1].vector, axis(7), atol=ROUNDING)
