"""Keyphrases that do not stand in the text: searched with a weight, counted and filtered apart."""

from __future__ import annotations

import pytest
from contract_asking import found, under, words
from contract_rows import absent, axis, document, keyphrase, mined

from indexer.engines.base import Clause, Filter, SearchRequest, WordQuery
from indexer.records import Refinement


@pytest.fixture
def guessed(own_energy):
    """ "a" and "b" have keyphrases that do not stand in them."""
    own_energy.write_mined(
        [
            mined("a", axis(0), keyphrases=(keyphrase("Heat pump"), absent("Air conditioning"))),
            mined("b", axis(1), keyphrases=(absent("fluid mechanics"), absent("solar cooling"))),
        ]
    )
    return own_energy


def test_absent_keyphrases_are_searched_when_they_have_a_weight(guessed):
    assert found(guessed, words("conditioning")) == set()
    assert found(guessed, words("conditioning", absent=0.5)) == {"a"}
    # One word here, the other in the text: the document has both.
    assert found(guessed, words("water", "mechanic", absent=0.5)) == {"b"}
    # A weight far below that of the text: who says it in the text comes first.
    ranked = guessed.search(SearchRequest(words=words("solar", absent=0.01))).words
    assert ranked.ids == ("d", "b")


def test_no_phrase_reaches_from_one_absent_keyphrase_into_the_next(guessed):
    def of(text):
        return found(guessed, WordQuery((Clause(text, "phrase"),), absent=1.0))

    assert of("fluid mechanics") == {"b"}
    assert of("mechanics solar") == set()


def test_an_absent_keyphrase_keeps_no_document_out(guessed):
    query = WordQuery((Clause("pump"), Clause("mechanics", negated=True)), absent=1.0)
    assert found(guessed, query) == {"a", "b"}


def test_absent_keyphrases_are_counted_and_filtered_apart(guessed):
    assert under(guessed, Filter("keyphrase", "=", "air conditioning")) == []
    assert under(guessed, Filter("absent_keyphrase", "=", "AIR conditioning")) == ["a"]
    answer = guessed.search(SearchRequest(facets=("keyphrase", "absent_keyphrase")))
    assert dict(answer.facets["absent_keyphrase"]) == {
        "Air conditioning": 1,
        "fluid mechanics": 1,
        "solar cooling": 1,
    }
    assert "Air conditioning" not in dict(answer.facets["keyphrase"])
    [stored] = guessed.documents(["a"])
    assert [(k.text, k.present) for k in stored.keyphrases] == [
        ("Heat pump", True),
        ("Air conditioning", False),
    ]


def test_words_of_absent_keyphrases_go_with_them(guessed):
    guessed.refine([Refinement("a", (absent("ventilation"),), (), {}, "r2")])
    guessed.store([document("b", "Another text.")])
    guessed.catch_up()
    assert found(guessed, words("conditioning", absent=1.0)) == set()
    assert found(guessed, words("ventilation", absent=1.0)) == {"a"}
    assert found(guessed, words("mechanics", absent=1.0)) == set()
