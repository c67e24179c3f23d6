"""What was mined from documents: written, refined, and read as mentions and counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from contract_rows import ROUNDING, axis, between, document, keyphrase, mention, mined

from indexer.engines.base import Damage, SearchRequest
from indexer.errors import MappingMismatch
from indexer.records import Keyphrase, Place, Refinement, TopicWeight


def test_mined_rows_come_back(engine):
    engine.store([document("a", "The heat pump. Another heat pump."), document("b")])
    keyphrases = (
        Keyphrase("p1", "Heat pump", 0.75, (Place("text", 4, 13), Place("text", 23, 32))),
        Keyphrase("p2", "renewable energy", 0.25),
    )
    row = mined(
        "a",
        between(0, 1, 30),
        keyphrases=keyphrases,
        topics=(("t-000002", 0.6), ("t-000001", 0.3)),
        mentions=(mention("a", "heat pump", between(2, 3, 60), topic="t-000002", surface="Heat pump"),),
    )
    assert engine.write_mined([row]) == []
    stored, other = engine.documents(["a", "b"], vectors=True)
    assert stored.keyphrases == keyphrases
    assert stored.keyphrases[0].present
    assert not stored.keyphrases[1].present
    assert stored.topics == (TopicWeight("t-000002", 0.6), TopicWeight("t-000001", 0.3))
    assert (stored.bundle, stored.run) == ("base", "run-1")
    np.testing.assert_allclose(stored.vector, between(0, 1, 30), atol=ROUNDING)
    assert stored.vector.dtype == np.float32
    assert np.linalg.norm(stored.vector) == pytest.approx(1, abs=1e-6)
    assert other.vector is None
    assert engine.documents(["a"])[0].vector is None  # only when asked for
    (found,) = engine.mentions(["a"])
    np.testing.assert_allclose(found.vector, between(2, 3, 60), atol=ROUNDING)
    expected = row.mentions[0]
    for name in ("document_id", "phrase_id", "phrase", "surface", "score", "places", "sentence", "topic"):
        assert getattr(found, name) == getattr(expected, name)


def test_mentions_come_by_document_then_by_score(engine):
    engine.store([document("a"), document("b")])
    engine.write_mined(
        [
            mined("a", mentions=(mention("a", "low", score=0.1), mention("a", "high", score=0.9))),
            mined("b", mentions=(mention("b", "mid", axis(3), score=0.5),)),
        ]
    )
    found = engine.mentions(["b", "nobody", "a"])
    assert [(row.document_id, row.phrase) for row in found] == [("b", "mid"), ("a", "high"), ("a", "low")]
    np.testing.assert_allclose(found[0].vector, axis(3), atol=ROUNDING)


def test_mining_again_replaces_everything(engine):
    engine.store([document("a")])
    first = mined("a", axis(0), topics=(("t-000001", 1.0),), mentions=(mention("a", "x"), mention("a", "y")))
    second = mined(
        "a",
        axis(1),
        topics=(("t-000002", 1.0),),
        mentions=(mention("a", "y", axis(2)),),
        bundle="new",
        run="run-2",
    )
    engine.write_mined([first])
    engine.write_mined([second])
    engine.write_mined([second])  # twice is once
    (stored,) = engine.documents(["a"], vectors=True)
    np.testing.assert_allclose(stored.vector, axis(1), atol=ROUNDING)
    assert (stored.bundle, stored.run) == ("new", "run-2")
    assert [row.phrase for row in engine.mentions(["a"])] == ["y"]
    assert engine.topic_documents("t-000001", axis(0)).ids == ()
    assert engine.topic_documents("t-000002", axis(0)).ids == ("a",)
    assert engine.info().mentions == 1


def test_mining_without_mentions_or_topics(engine):
    engine.store([document("a"), document("b")])
    engine.write_mined([mined("a"), mined("b", mentions=(mention("b", "x"),))])
    assert engine.mentions(["a"]) == []
    assert len(engine.mentions(["b"])) == 1
    assert engine.info().mined == 2


def test_mined_rows_without_a_document_or_with_a_bad_vector_are_refused(engine):
    engine.store([document("a"), document("b"), document("c")])
    short = np.ones(3, np.float32)
    broken = np.full(8, np.nan, np.float32)
    refused = engine.write_mined(
        [mined("nobody"), mined("a", short), mined("b", mentions=(mention("b", "x", broken),)), mined("c")]
    )
    assert [row.id for row in refused] == ["nobody", "a", "b"]
    assert all(row.reason for row in refused)
    assert engine.info().mined == 1


def test_what_was_mined_from_another_text_is_refused_as_changed(engine):
    old = document("a", "heat pumps")
    engine.store([old, document("b")])
    engine.store([document("a", "tax law")])
    slow = mined("a", mentions=(mention("a", "heat pumps"),), keyphrases=(keyphrase("heat pumps"),), of=old)
    refused = engine.write_mined([slow, mined("b"), mined("nobody")])
    assert [(row.id, row.why) for row in refused] == [("a", "changed"), ("nobody", "missing")]
    assert engine.documents(["a"])[0].keyphrases == ()
    assert engine.mentions(["a"]) == []
    assert engine.info().mined == 1
    assert engine.write_mined([mined("a", mentions=(mention("a", "tax law"),))]) == []
    assert [row.phrase for row in engine.mentions(["a"])] == ["tax law"]


def test_refine_replaces_keyphrases_and_topics_and_keeps_vectors(engine):
    engine.store([document("a"), document("b"), document("c")])
    engine.write_mined(
        [
            mined(
                id_,
                axis(2),
                keyphrases=(keyphrase("old"),),
                topics=(("t-000001", 0.9),),
                mentions=(
                    mention(id_, "x", axis(3), score=0.9, topic="t-000001"),
                    mention(id_, "y", score=0.8, topic="t-000001"),
                    mention(id_, "z", score=0.7, topic="t-000001"),
                ),
            )
            for id_ in ("a", "b")
        ]
    )
    change = Refinement(
        "a",
        (keyphrase("new"),),
        (TopicWeight("t-000002", 0.4),),
        {"p-x": "t-000002", "p-y": None, "p-unheard": "t-000003"},
        "run-2",
    )
    refused = engine.refine(
        row for row in [change, Refinement("c", (), (), {}, "r"), Refinement("?", (), (), {}, "r")]
    )
    assert [row.id for row in refused] == ["c", "?"]
    changed, same = engine.documents(["a", "b"], vectors=True)
    assert changed.keyphrases == (keyphrase("new"),)
    assert changed.topics == (TopicWeight("t-000002", 0.4),)
    assert (changed.bundle, changed.run) == ("base", "run-2")
    np.testing.assert_allclose(changed.vector, axis(2), atol=ROUNDING)
    mentions = engine.mentions(["a"])
    assert [row.topic for row in mentions] == ["t-000002", None, "t-000001"]  # one not named keeps its topic
    np.testing.assert_allclose(mentions[0].vector, axis(3), atol=ROUNDING)
    assert same.keyphrases == (keyphrase("old"),)
    answer = engine.search(SearchRequest(facets=("topic", "keyphrase")))
    assert answer.facets == {
        "topic": (("t-000001", 1), ("t-000002", 1)),
        "keyphrase": (("new", 1), ("old", 1)),
    }
    assert [(w.topic_id, w.weight) for w in engine.documents(["a"])[0].topics] == [("t-000002", 0.4)]
    assert engine.refine([change]) == []  # twice is once
    assert engine.topic_documents("t-000001", axis(0)).ids == ("b",)


def test_mentions_by_phrase_come_in_order_of_phrase_id(engine):
    engine.store([document(id_) for id_ in "abc"])
    engine.write_mined(
        [
            mined("a", mentions=(mention("a", "x", axis(1)), mention("a", "y", axis(2)))),
            mined("b", mentions=(mention("b", "y", axis(3)),)),
            mined("c", mentions=(mention("c", "w", axis(4)),)),
        ]
    )
    groups = list(engine.mentions_by_phrase())
    assert [[(row.phrase_id) for row in group] for group in groups] == [["p-w"], ["p-x"], ["p-y", "p-y"]]
    assert sorted(row.document_id for row in groups[2]) == ["a", "b"]
    by_document = {row.document_id: row.vector for row in groups[2]}
    np.testing.assert_allclose(by_document["a"], axis(2), atol=ROUNDING)
    np.testing.assert_allclose(by_document["b"], axis(3), atol=ROUNDING)
    some = list(engine.mentions_by_phrase(["p-y", "p-nobody", "p-w"]))
    assert [group[0].phrase_id for group in some] == ["p-w", "p-y"]


def test_mentions_say_whether_they_are_a_keyphrase_of_their_document(engine):
    engine.store([document("a"), document("b")])
    both = [
        mined(
            id_, keyphrases=(keyphrase(chosen),), mentions=(mention(id_, "wind"), mention(id_, "wind farm"))
        )
        for id_, chosen in (("a", "wind"), ("b", "wind farm"))
    ]
    engine.write_mined(both)
    expected = {("a", "wind"), ("b", "wind farm")}

    def chosen(rows):
        return {(row.document_id, row.phrase) for row in rows if row.keyphrase}

    assert chosen(engine.mentions(["a", "b"])) == expected
    assert chosen(row for rows in engine.mentions_by_phrase() for row in rows) == expected
    assert chosen(row for row, _ in engine.nearest_mentions(axis(0))) == expected
    engine.refine([Refinement("a", (keyphrase("wind farm"),), (), {}, "r")])
    assert chosen(engine.mentions(["a"])) == {("a", "wind farm")}


def test_at_most_limit_mentions_of_a_phrase_have_a_vector_whatever_the_order_of_writing(engine):
    ids = [f"d{number}" for number in range(6)]
    engine.store([document(id_) for id_ in ids])
    rows = [mined(id_, mentions=(mention(id_, "x", axis(1)),)) for id_ in ids]
    engine.write_mined(rows)
    chosen = {
        row.document_id for group in engine.mentions_by_phrase(limit=2) for row in group if row.vector.size
    }
    assert len(chosen) == 2
    engine.write_mined(rows[::-1])
    (group,) = engine.mentions_by_phrase(limit=2)
    assert len(group) == 6
    assert {row.document_id for row in group if row.vector.size} == chosen


def test_documents_that_stand_for_a_topic_are_mostly_about_it_and_near_its_centroid(engine):
    engine.store([document(id_) for id_ in "abcdefg"])
    angles = {"a": 60, "b": 0, "c": 30, "d": 0, "e": 60, "f": 90}
    weights = {"a": 1.0, "b": 0.2, "c": 0.5, "d": 0.9, "e": 1.0, "f": 0.4}
    engine.write_mined(
        [
            mined(id_, between(0, 1, angles[id_]), topics=(("t-000001", weight), ("t-000002", 1 - weight)))
            for id_, weight in weights.items()
        ]
        + [mined("g", axis(0), topics=(("t-000002", 1.0),))]
    )
    ranking = engine.topic_documents("t-000001", axis(0))
    assert ranking.ids == ("d", "c", "a", "e", "b", "f")  # equally near: by id
    assert ranking.scores == pytest.approx((1, math.sqrt(3) / 2, 0.5, 0.5, 1, 0), abs=ROUNDING)
    assert ranking.total == 6
    for limit in (0, 2, 5):
        some = engine.topic_documents("t-000001", axis(0), limit=limit)
        assert (some.ids, some.total) == (ranking.ids[:limit], 6)
    assert engine.topic_documents("t-000001", axis(1), limit=1).ids == ("a",)
    assert engine.topic_documents("t-000009", axis(0)).ids == ()
    with pytest.raises(MappingMismatch, match="3 numbers"):
        engine.topic_documents("t-000001", np.ones(3, np.float32))


def test_outlines_name_phrases_and_topics_of_mined_documents(engine):
    engine.store([document(id_) for id_ in "abc"])
    mentions = (mention("a", "x"), mention("a", "y", axis(2)))
    engine.write_mined([mined("a", topics=(("t-000002", 0.6),), mentions=mentions), mined("b")])
    found = {frozenset(outline.phrases): outline.topics for outline in engine.outlines(["c", "b", "a", "z"])}
    assert found == {frozenset({"p-x", "p-y"}): ("t-000002",), frozenset(): ()}


def test_vectors_as_stored_are_those_that_come_back(engine):
    chance = np.random.default_rng(1)
    vectors = chance.normal(size=(3, len(axis(0)))).astype(np.float32)
    engine.store([document("a")])
    mentions = (mention("a", "x", vectors[1]), mention("a", "y", vectors[2]))
    engine.write_mined([mined("a", vectors[0], mentions=mentions)])
    (stored,) = engine.documents(["a"], vectors=True)
    rows = {row.phrase: row.vector for row in engine.mentions(["a"])}
    expected = np.stack([stored.vector, rows["x"], rows["y"]])
    np.testing.assert_array_equal(engine.as_stored(vectors), expected)


def test_what_was_written_is_not_damaged(engine):
    engine.store([document("a"), document("b")])
    assert engine.damage(deep=True) == Damage()
    engine.write_mined([mined("a", mentions=(mention("a", "wind"), mention("a", "sea")))])
    engine.write_mined([mined("a", mentions=(mention("a", "sea"),)), mined("b")])
    engine.delete(["b"])
    assert engine.damage() == engine.damage(deep=True) == Damage()
