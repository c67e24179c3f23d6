"""How records are laid out in rows, and how questions become queries."""

from __future__ import annotations

import pytest
from contract_rows import axis, document, keyphrase, mention, mined

from indexer.engines.base import Clause, Filter, WordQuery
from indexer.engines.elastic import rows
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.queries import of_filters, of_words
from indexer.engines.elastic.vectors import VectorField
from indexer.errors import QueryError

BYTES = VectorField("byte", "flat")


def test_the_users_fields_are_text_and_where_they_can_numbers_and_dates():
    row = rows.of_document(
        document(
            "a",
            year=2020,
            price=10.0,
            half=9.5,
            open=True,
            tags=["x", "y", "x"],
            day="2020-05-01",
            at="2020-05-01 10:00",
            session="2020/21",
            none=[],
        )
    )
    assert row["meta"] == {
        "year": "2020", "price": "10", "half": "9.5", "open": "true", "tags": ["x", "y"], "day": "2020-05-01",
        "at": "2020-05-01 10:00", "session": "2020/21",
    }  # fmt: skip
    assert row["numbers"] == {"year": 2020.0, "price": 10.0, "half": 9.5}
    assert row["dates"] == {"day": "2020-05-01", "at": "2020-05-01T10:00"}
    assert rows.to_document(row) == document(
        "a", year=2020, price=10.0, half=9.5, open=True, tags=["x", "y", "x"], day="2020-05-01",
        at="2020-05-01 10:00", session="2020/21", none=[],
    )  # fmt: skip


@pytest.mark.parametrize(
    "meta",
    [
        {"": "no name"},
        {" \t": "white space"},
        {"long": "x" * 1025},
        {"infinite": float("inf")},
        {"huge": 10**400},
    ],
)
def test_what_cannot_be_searched_is_kept(meta):
    given = document("a")
    given = type(given)("a", "text", "", meta)
    row = rows.of_document(given)
    assert row["numbers"] == {}
    assert set(row["meta"]) <= {"infinite", "huge"}  # as text
    assert rows.to_document(row) == given


def test_the_longest_value_that_is_searched_has_1024_characters():
    assert rows.of_document(document("a", long="x" * 1024))["meta"] == {"long": "x" * 1024}


def test_nul_characters_are_stored_as_spaces_and_come_back():
    row = rows.of_document(document("a", "one\0two", "\0"))
    assert (row["text"], row["title"]) == ("one two", " ")
    assert rows.to_document(row) == document("a", "one\0two", "\0")
    assert "nuls" not in rows.of_document(document("a", "one two"))


def test_a_mention_has_what_its_document_is_filtered_by_and_the_document_its_topic():
    first, second = mention("a", "heat pump", topic="t-000001", surface="Heat pump"), mention("a", "valve")
    row = mined(
        "a", keyphrases=(keyphrase("Heat pump"),), topics=(("t-000002", 0.5),), mentions=(first, second)
    )
    fields = {"meta": {"lang": "en"}, "numbers": {"year": 2020.0}, "title": "x"}
    (_, stored), (_, other_stored) = rows.of_mentions(row, fields, BYTES, nested=False)
    assert (stored["meta"], stored["numbers"]) == ({"lang": "en"}, {"year": 2020.0})
    on_document = rows.of_mined(
        row,
        rows.TopicNames({"t-000002": "Heating", "t-000003": "House"}, {"t-000002": "t-000003"}),
        BYTES,
        nested=False,
    )
    assert (on_document["phrase_ids"], on_document["mention_topics"]) == (
        ["p-heat pump", "p-valve"],
        ["t-000001", None],
    )
    assert (on_document["topic_labels"], on_document["keyphrase_keys"]) == (["Heating"], ["heat pump"])
    assert on_document["topic_path"] == ["House", "House/Heating"]
    assert on_document["topic_path_ids"] == ["t-000003", "t-000003/t-000002"]
    choice = rows.to_choice(on_document)
    back = rows.to_mention(stored, choice, first.vector)
    assert (back.surface, back.places, back.topic, back.keyphrase) == (
        "Heat pump",
        first.places,
        "t-000001",
        True,
    )
    assert back.sentence == first.sentence
    other = rows.to_mention(other_stored, choice, None)
    assert (other.topic, other.keyphrase, other.vector.size) == (None, False, 0)


def test_ids_of_mentions_tell_documents_and_phrases_apart():
    assert rows.mention_id("a", "bc") != rows.mention_id("ab", "c")
    assert len({rows.mention_id("d" * 512, f"p{number}") for number in range(100)}) == 100


def test_an_id_that_is_too_long_is_refused():
    assert rows.unstorable_document(document("é" * 256)) == ""
    assert rows.unstorable_document(document("é" * 257)) == "the id has 514 bytes, more than 512"


# -- queries -------------------------------------------------------------------------------------------------


def phrase_of(text: str, kind: str = "phrase") -> dict:
    more = {"max_expansions": 1000} if kind == "phrase_prefix" else {}
    return {
        "multi_match": {
            "query": text,
            "type": kind,
            "fields": ["title^3", "text"],
            "tie_breaker": 1.0,
            **more,
        }
    }


def bm25f_of(text):
    return {"combined_fields": {"query": text, "fields": ["title^3", "text"]}}


def test_clauses_that_must_match_that_may_and_that_must_not():
    clauses = (Clause("heat"), Clause("pum", "prefix"), Clause("gas", negated=True), Clause("!!"))
    assert of_words(WordQuery(clauses)) == (
        {
            "bool": {
                "must": [bm25f_of("heat"), phrase_of("pum", "phrase_prefix")],
                "must_not": [phrase_of("gas")],
            }
        },
        True,
    )
    assert of_words(WordQuery(clauses[:1], require_all=False)) == (
        {"bool": {"should": [bm25f_of("heat")], "minimum_should_match": 1}},
        True,
    )
    required = Clause("tax", required=True)
    assert of_words(WordQuery((clauses[0], required), require_all=False)) == (
        {"bool": {"must": [bm25f_of("tax")], "should": [bm25f_of("heat")], "minimum_should_match": 0}},
        True,
    )
    # What the server may take for several words must stand side by side.
    assert of_words(WordQuery((Clause("e-mail"), Clause("東京")))) == (
        {"bool": {"must": [phrase_of("e-mail"), phrase_of("東京")]}},
        True,
    )
    assert of_words(WordQuery((Clause("gas", negated=True),))) == (
        {"bool": {"must_not": [phrase_of("gas")]}},
        False,
    )
    assert of_words(WordQuery((Clause("?"),))) == ({"match_none": {}}, False)


def test_numbers_compare_as_numbers_and_all_else_as_text():
    (query,) = of_filters([Filter("year", ">=", "2020")])
    text, number = query["bool"]["should"]
    assert text == {
        "bool": {
            "filter": [{"range": {"meta.year": {"gte": "2020"}}}],
            "must_not": [{"range": {"numbers.year": {}}}],
        }
    }
    assert number == {"range": {"numbers.year": {"gte": 2020.0}}}
    assert of_filters([Filter("lang", "=", "en")]) == [{"term": {"meta.lang": "en"}}]
    assert of_filters([Filter("keyphrase", "=", "HEAT")]) == [{"term": {"keyphrase_keys": "heat"}}]
    assert of_filters([Filter("", "=", "x")]) == [{"match_none": {}}]


@pytest.mark.parametrize(
    "condition", [Filter("year", ">", ["1", "2"]), Filter("year", "~", "1"), Filter("year", "=", None)]
)
def test_a_condition_that_means_nothing_is_an_error(condition):
    with pytest.raises(QueryError, match=r"year|operator"):
        of_filters([condition])


def test_names_of_collections_that_differ_in_case_stay_apart():
    assert Names.of("indexer", "main").documents == "indexer-main-documents"
    assert Names.of("indexer", "main").generation("documents", 1) == "indexer-main-documents-000001"
    upper = Names.of("indexer", "Main").documents
    assert upper.startswith("indexer-main-")
    assert upper.islower()
    assert upper != "indexer-main-documents"


def test_a_topic_that_0_1_0_wrote_is_read_with_its_locked_label():
    row = {
        "id": "t-000007", "label": "Sea freight", "phrases": ["cargo ship"], "size": 3, "named_by_hand": True,
    }  # fmt: skip
    topic = rows.to_topic(row, axis(0))
    assert (topic.label, topic.label_locked) == ("Sea freight", True)
    written = rows.of_topic(topic)
    assert {name: written[name] for name in row} == row  # still the field of the mapping
