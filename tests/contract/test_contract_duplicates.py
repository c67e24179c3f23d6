"""Near duplicates: of which document each is one, and filters and counts by it."""

from __future__ import annotations

import pytest
from contract_asking import words
from contract_rows import axis, between, document, mention, mined

from indexer.engines.base import NO_DUPLICATES, Engine, Filter, SearchRequest


@pytest.fixture
def copies(engine: Engine) -> Engine:
    """Five documents: b and c are near duplicates of a, e of d."""
    engine.store([document(id_, f"A pump moves water {id_}", lang="en") for id_ in "abcde"])
    rows = {
        "a": axis(0),
        "b": between(0, 1, 10),
        "c": between(0, 1, 20),
        "d": axis(1),
        "e": between(1, 0, 10),
    }
    engine.write_mined(
        [
            mined(id_, vector, mentions=(mention(id_, "pump", vector),), topics=(("t-000001", 1.0),))
            for id_, vector in rows.items()
        ]
    )
    engine.write_duplicates({"b": "a", "c": "a", "e": "d", "unknown": "a"})
    return engine


def originals(engine: Engine) -> dict[str, str | None]:
    return {one.document.id: one.duplicate_of for one in engine.documents(list("abcde"))}


def test_documents_name_their_original(copies):
    assert originals(copies) == {"a": None, "b": "a", "c": "a", "d": None, "e": "d"}
    assert copies.duplicates() == {"b": "a", "c": "a", "e": "d"}
    assert copies.documents(["unknown"]) == []


def test_an_original_can_be_taken_back_and_set_again(copies):
    copies.write_duplicates({"b": None, "c": "b"})
    assert copies.duplicates() == {"c": "b", "e": "d"}
    copies.write_duplicates({})
    assert copies.duplicates() == {"c": "b", "e": "d"}


def test_hits_totals_counts_and_neighbours_leave_out_near_duplicates(copies):
    request = SearchRequest(
        words=words("pump"),
        vector=axis(0),
        filters=(NO_DUPLICATES,),
        facets=("lang", "topic", "duplicate_of"),
    )
    answer = copies.search(request)
    assert (set(answer.words.ids), answer.words.total) == ({"a", "d"}, 2)
    assert (answer.meaning.ids, answer.meaning.total) == (("a", "d"), 2)
    assert answer.facets == {"lang": (("en", 2),), "topic": (("t-000001", 2),), "duplicate_of": ()}
    assert [id_ for id_, _ in copies.scan(None, (NO_DUPLICATES,))] == ["a", "d"]
    near = copies.nearest_mentions(axis(0), filters=(NO_DUPLICATES,))
    assert [row.document_id for row, _ in near] == ["a", "d"]
    assert [part.documents for part in copies.count_topics([(NO_DUPLICATES,), ()])] == [2, 5]


def test_near_duplicates_are_counted_and_filtered_by_their_original(copies):
    answer = copies.search(SearchRequest(filters=(Filter("duplicate_of", "=", "a"),)))
    assert answer.words.ids == ("b", "c")
    several = copies.search(SearchRequest(filters=(Filter("duplicate_of", "=", ["a", "d"]),)))
    assert several.words.ids == ("b", "c", "e")
    every = copies.search(
        SearchRequest(filters=(Filter("duplicate_of", "!=", ""),), facets=("duplicate_of",))
    )
    assert every.words.ids == ("b", "c", "e")
    assert every.facets["duplicate_of"] == (("a", 2), ("d", 1))
    others = copies.search(SearchRequest(filters=(Filter("duplicate_of", "!=", "a"),)))
    assert others.words.ids == ("a", "d", "e")
    counted = copies.search(SearchRequest(words=words("pump"), facets=("duplicate_of",), facet_size=1))
    assert counted.facets["duplicate_of"] == (("a", 2),)


def test_mining_keeps_the_original_and_another_text_loses_it(copies):
    copies.write_mined([mined("b", axis(2))])
    assert copies.duplicates()["b"] == "a"
    copies.store([document("b", "Another text", lang="en")])
    assert copies.duplicates() == {"c": "a", "e": "d"}
    copies.delete(["a"])
    assert copies.duplicates() == {"c": "a", "e": "d"}  # its next original is for the pipeline to find
    copies.delete(["c"])
    assert copies.duplicates() == {"e": "d"}


def test_a_field_of_the_user_may_have_the_name(engine):
    engine.store([document("a", duplicate_of="z")])
    engine.write_duplicates({"a": "b"})
    (stored,) = engine.documents(["a"])
    assert (stored.document.meta, stored.duplicate_of) == ({"duplicate_of": "z"}, "b")
    found = engine.search(SearchRequest(filters=(Filter("duplicate_of", "=", "b"),)))
    assert found.words.ids == ("a",)
