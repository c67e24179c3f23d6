"""What is written comes back, a second time changes nothing, and what cannot be stored is named."""

from __future__ import annotations

import numpy as np
import pytest
from contract_rows import (
    ROUNDING,
    axis,
    between,
    document,
    keyphrase,
    mention,
    mined,
    phrase,
    topic,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.errors import WriteRefused
from indexer.records import Document, Keyphrase, Place, Refinement, TopicWeight


def test_a_document_comes_back_as_it_was(engine):
    given_ = Document(
        "a/1",
        "Line one.\nLine two — naïve 𝄞\ttab",
        "A title",
        {"year": 2020, "price": 9.5, "open": True, "tags": ["x", "Y"], "empty": [], "name": "Ünïcode"},
        "file.jsonl:7",
    )
    assert engine.store([given_]) == []
    (stored,) = engine.documents(["a/1"])
    assert stored.document == given_
    assert (stored.keyphrases, stored.topics, stored.vector, stored.bundle, stored.run) == (
        (),
        (),
        None,
        "",
        "",
    )


def test_nul_characters_come_back_where_they_were(engine):
    given_ = document("a", "one\0two\0", "\0title")
    assert engine.store([given_]) == []
    assert engine.documents(["a"])[0].document == given_


def test_documents_come_in_the_order_asked_for_without_the_unknown(engine):
    engine.store([document("a"), document("b"), document("c")])
    assert [stored.document.id for stored in engine.documents(["c", "nobody", "a"])] == ["c", "a"]


def test_document_ids_ascend(engine):
    engine.store([document(id_) for id_ in ("b", "a", "C", "é", "a1")])
    assert list(engine.document_ids()) == sorted(["b", "a", "C", "é", "a1"])


def test_storing_again_keeps_what_was_mined(engine):
    engine.store([document("a", "same text", year=2020)])
    engine.write_mined(
        [mined("a", keyphrases=(keyphrase("heat pump"),), mentions=(mention("a", "heat pump"),))]
    )
    engine.store([document("a", "same text", year=2020)])
    assert engine.documents(["a"])[0].keyphrases == (keyphrase("heat pump"),)
    assert len(engine.mentions(["a"])) == 1


@pytest.mark.parametrize("changed", [{"text": "other text"}, {"title": "other"}, {"year": 2021}])
def test_storing_a_change_loses_what_was_mined(engine, changed):
    engine.store([document("a", **{"text": "same text", "year": 2020})])
    engine.write_mined(
        [mined("a", topics=(("t-000001", 1.0),), keyphrases=(keyphrase("k"),), mentions=(mention("a", "k"),))]
    )
    engine.store([document("a", **({"text": "same text", "year": 2020} | changed))])
    (stored,) = engine.documents(["a"], vectors=True)
    assert (stored.keyphrases, stored.topics, stored.vector, stored.bundle) == ((), (), None, "")
    assert engine.mentions(["a"]) == []
    assert engine.document_frequencies(["p-k"]) == {"p-k": 0}
    assert engine.topic_documents("t-000001").total == 0
    assert engine.search(SearchRequest(facets=("topic", "keyphrase"))).facets == {
        "topic": (),
        "keyphrase": (),
    }


def test_what_cannot_be_stored_is_named_and_the_rest_is_written(engine):
    refused = engine.store([document("a"), document("b", "half \ud83d a character"), document("c")])
    assert [row.id for row in refused] == ["b"]
    assert "U+D83D" in refused[0].reason
    assert list(engine.document_ids()) == ["a", "c"]


def test_the_last_of_two_documents_with_one_id_stays(engine):
    engine.store([document("a", "first"), document("a", "second")])
    assert engine.documents(["a"])[0].document.text == "second"
    assert engine.info().documents == 1


def test_new_and_changed_documents_in_one_call(engine):
    engine.store([document("a", "old a"), document("b", "old b")])
    engine.store(
        [document("c", "new c"), document("b", "new b"), document("a", "old a"), document("d", "new d")]
    )
    assert [row.document.text for row in engine.documents(list("abcd"))] == [
        "old a",
        "new b",
        "new c",
        "new d",
    ]
    found = engine.search(SearchRequest(words=WordQuery((Clause("new"),)))).words
    assert set(found.ids) == {"b", "c", "d"}


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
    assert engine.topic_documents("t-000001").ids == ()
    assert engine.topic_documents("t-000002").ids == ("a",)
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
    assert engine.topic_documents("t-000002").scores == pytest.approx((0.4,))
    assert engine.refine([change]) == []  # twice is once
    assert engine.topic_documents("t-000001").ids == ("b",)


def test_delete_removes_documents_with_all_that_hangs_on_them(engine):
    engine.store([document("a", "wind", lang="en"), document("b", "wind", lang="en")])
    engine.write_mined(
        [
            mined(
                id_,
                topics=(("t-000001", 1.0),),
                mentions=(mention(id_, "wind"),),
                keyphrases=(keyphrase("k"),),
            )
            for id_ in "ab"
        ]
    )
    assert engine.delete(["a", "nobody"]) == 1
    assert engine.delete(["a"]) == 0
    assert list(engine.document_ids()) == ["b"]
    assert engine.mentions(["a", "b"])[0].document_id == "b"
    assert engine.document_frequencies(["p-wind"]) == {"p-wind": 1}
    answer = engine.search(SearchRequest(vector=axis(0), facets=("topic", "keyphrase", "lang")))
    assert answer.meaning.ids == ("b",)
    assert answer.facets == {"topic": (("t-000001", 1),), "keyphrase": (("k", 1),), "lang": (("en", 1),)}
    assert [row.document_id for row, _ in engine.nearest_mentions(axis(0))] == ["b"]


def test_a_deleted_document_may_come_back(engine):
    engine.store([document("a", "wind")])
    engine.write_mined([mined("a", mentions=(mention("a", "wind"),))])
    engine.delete(["a"])
    engine.store([document("a", "sun")])
    assert engine.documents(["a"])[0].document.text == "sun"
    assert engine.mentions(["a"]) == []


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


def test_phrases_whose_mentions_changed_are_listed_until_they_are_written(engine):
    def changed() -> list[str]:
        return sorted(engine.changed_phrases())

    def settle() -> None:
        ids = changed()
        engine.write_phrases([phrase(id_.removeprefix("p-")) for id_ in ids])

    engine.store([document("a"), document("b")])
    assert changed() == []
    rows = [
        mined("a", mentions=(mention("a", "x", topic="t-000001"), mention("a", "y", topic="t-000001"))),
        mined("b", mentions=(mention("b", "y"), mention("b", "z"))),
    ]
    engine.write_mined(rows)
    assert changed() == ["p-x", "p-y", "p-z"]
    engine.delete_phrases(["p-x"])
    assert changed() == ["p-y", "p-z"]
    settle()
    assert changed() == []
    # another topic for y in a, none of the others
    engine.refine([Refinement("a", (), (), {"p-x": "t-000001", "p-y": "t-000002"}, "r")])
    assert changed() == ["p-y"]
    settle()
    # x is chosen as a keyphrase of b, where it has no mention
    engine.refine([Refinement("b", (Keyphrase("p-x", "x", 0.5),), (), {}, "r")])
    assert changed() == ["p-x"]
    settle()
    # mining again touches what was there and what is there now, and that x is no longer chosen
    engine.write_mined([mined("b", mentions=(mention("b", "w"),))])
    assert changed() == ["p-w", "p-x", "p-y", "p-z"]
    settle()
    engine.store([document("a", "another text")])
    assert changed() == ["p-x", "p-y"]
    settle()
    engine.delete(["b"])
    assert changed() == ["p-w"]


@pytest.mark.parametrize("asked", [["p-gone", "p-x"], None])
def test_a_phrase_that_changes_while_it_is_consolidated_stays_on_the_list(engine, asked):
    engine.store([document("a"), document("b"), document("c")])
    engine.write_mined(
        [mined("a", mentions=(mention("a", "x"),)), mined("b", mentions=(mention("b", "gone"),))]
    )
    engine.delete(["b"])
    groups = list(engine.mentions_by_phrase(asked))
    assert [row.document_id for group in groups for row in group] == ["a"]
    engine.write_mined(
        [mined("c", mentions=(mention("c", "x"), mention("c", "gone")))]
    )  # too late to be read
    engine.write_phrases([phrase("x", documents=1)])
    engine.delete_phrases(["p-gone"] if asked else [])
    assert sorted(engine.changed_phrases()) == ["p-gone", "p-x"]
    assert len(list(engine.mentions_by_phrase(["p-gone", "p-x"]))) == 2
    engine.write_phrases([phrase("x"), phrase("gone", documents=1)])
    assert list(engine.changed_phrases()) == []


def test_topics_replace_the_ones_before(engine):
    engine.write_topics([topic("t-000001"), topic("t-000002")])
    engine.write_topics([topic("t-000003", 5, "Wärme"), topic("t-000001", 5), topic("t-000009", 8)])
    found = engine.topics()
    assert [row.id for row in found] == ["t-000009", "t-000001", "t-000003"]  # largest first, then by id
    assert (found[2].label, found[2].phrases, found[2].size, found[2].named_by_hand) == (
        "Wärme",
        ("heat pump", "boiler"),
        5,
        False,
    )
    np.testing.assert_allclose(found[2].centroid, axis(1), atol=ROUNDING)


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


def test_document_frequencies(engine):
    engine.store([document("a"), document("b")])
    engine.write_mined(
        [
            mined("a", mentions=(mention("a", "x"), mention("a", "y"))),
            mined("b", mentions=(mention("b", "x"),)),
        ]
    )
    assert engine.document_frequencies(["p-x", "p-y", "p-z"]) == {"p-x": 2, "p-y": 1, "p-z": 0}


def test_topic_documents_come_heaviest_first(engine):
    engine.store([document(id_) for id_ in "abcd"])
    engine.write_mined(
        [
            mined("a", topics=(("t-000001", 0.2),)),
            mined("b", topics=(("t-000002", 0.5), ("t-000001", 0.4))),
            mined("c", topics=(("t-000001", 0.4),)),
            mined("d"),
        ]
    )
    ranking = engine.topic_documents("t-000001", limit=2)
    assert ranking.ids == ("b", "c")  # equal weights: by id
    assert ranking.scores == pytest.approx((0.4, 0.4))
    assert ranking.total == 3
    assert engine.topic_documents("t-000009").ids == ()


def test_info_counts(engine):
    assert engine.info().documents == 0
    engine.store([document("a"), document("b")])
    engine.store([document("c")])
    engine.write_mined(
        [
            mined("a", mentions=(mention("a", "x"), mention("a", "y"))),
            mined("b", topics=(("t-000001", 0.5),)),
        ]
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


META = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8),
    st.one_of(
        st.text(st.characters(codec="utf-8"), max_size=20),
        st.integers(),
        st.floats(allow_nan=False),
        st.booleans(),
        st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=3),
    ),
    max_size=4,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(), title=st.text(), meta=META)
def test_any_document_comes_back_or_is_refused(engine, text, title, meta):
    given_ = Document("x", text, title, meta)
    if engine.store([given_]):
        assert any("\ud800" <= char <= "\udfff" for char in text + title)
    else:
        found = engine.documents(["x"])[0].document
        assert (found, found.content_hash) == (given_, given_.content_hash)
    engine.delete(["x"])
