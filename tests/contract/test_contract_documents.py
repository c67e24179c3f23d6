"""Documents stored, changed, removed and given back."""

from __future__ import annotations

import pytest
from contract_rows import axis, document, keyphrase, mention, mined
from fuzzing import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.records import Document


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
    assert engine.topic_documents("t-000001", axis(0)).total == 0
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


@pytest.mark.slow
@settings(
    max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(), title=st.text(), meta=META)
def test_any_document_comes_back_or_is_refused(engine, text, title, meta):
    given_ = Document("x", text, title, meta)
    if engine.store([given_]):
        assert any("\ud800" <= char <= "\udfff" for char in text + title)
    else:
        found = engine.documents(["x"])[0].document
        assert (found, found.content_hash) == (given_, given_.content_hash)
    engine.delete(["x"])
