"""Searches by words, by vector, under filters, with counts and marked pieces of text."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from contract_asking import found, marked, under, words
from contract_rows import DIMS, ROUNDING, absent, axis, between, document, keyphrase, mention, mined, phrase
from fuzzing import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.engines.base import Clause, Filter, SearchRequest, WordQuery
from indexer.errors import MappingMismatch, QueryError
from indexer.records import Document
from indexer.search.search import scan, search

# -- words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (words("heat", "pump"), {"a", "b"}),
        (words("heat", "solar", require_all=False), {"a", "b", "d"}),
        (WordQuery((Clause("heat pump", "phrase"),)), {"a"}),
        (words("heat pump"), {"a"}),  # a word with a space in it can only be meant as a phrase
        (WordQuery((Clause("wärmep", "prefix"),)), {"c"}),
        (WordQuery((Clause("pump"), Clause("water", negated=True))), {"a"}),
        (
            WordQuery((Clause("pump"), Clause("solar"), Clause("heat pump", "phrase", True)), False),
            {"b", "d"},
        ),
        (WordQuery((Clause("pump", negated=True), Clause("tax", negated=True))), {"c", "d", "f"}),
        (WordQuery((Clause("pump", required=True), Clause("solar"), Clause("nowhere")), False), {"a", "b"}),
        (WordQuery((Clause("solar", alternatives=(Clause("water"),)),)), {"b", "d"}),
        (WordQuery((Clause("pump"), Clause("solar", alternatives=(Clause("winter"),)))), {"a"}),
        (WordQuery((Clause("tax", alternatives=(Clause("heat pump", "phrase"),)),)), {"a", "e"}),
        (WordQuery((Clause("heat"), Clause("tax", negated=True, alternatives=(Clause("winter"),)))), {"b"}),
        (WordQuery((Clause("!!", alternatives=(Clause("water"),)),)), {"b"}),
        (words("RUN"), {"a", "d"}),  # runs, running
        (words("naive", "cafe"), {"e"}),
        (words("recht"), {"c"}),  # in the title
        (words("nowhere"), set()),
    ],
)
def test_words(energy, query, expected):
    assert found(energy, query) == expected


def test_punctuation_ends_a_word(engine):
    engine.store(
        [
            document("a", "Einstein's equations"),
            document("b", "Einstein’s life, and 3.14"),
            document("c", "the snake_case of node.js"),
        ]
    )
    assert found(engine, words("Einstein")) == found(engine, words("einstein's")) == {"a", "b"}
    assert found(engine, words("14")) == found(engine, words("3.14")) == {"b"}
    assert found(engine, words("case")) == found(engine, words("js")) == {"c"}
    assert [marked(piece) for piece in engine.hits(words("einstein"), ["a"])[1]["a"]] == [["Einstein"]]


def test_clauses_without_a_word_are_ignored(energy):
    assert found(energy, words("!!", "heat", "--")) == {"a", "b"}
    assert found(energy, words("heat", "?", require_all=False)) == {"a", "b"}
    assert found(energy, WordQuery((Clause("heat"), Clause("*", negated=True)))) == {"a", "b"}
    assert found(energy, words("!!", "...")) == set()
    assert found(energy, WordQuery(())) == set()


def test_the_title_weighs_more(engine):
    filler = " one two three four five"
    engine.store(
        [
            document("text", "pump" + filler, "valve"),
            document("title", "valve" + filler, "pump"),
            document("x", filler),
        ]
    )
    assert engine.search(SearchRequest(words=words("pump"))).words.ids == ("title", "text")


def test_a_document_counts_as_the_alternative_that_it_matches_best(engine):
    engine.store(
        [document("both", "pump valve"), document("one", "pump tube"), document("none", "tube tube")]
    )
    either = WordQuery((Clause("pump", alternatives=(Clause("valve"),)),))
    scores = {
        text: dict(zip(ranking.ids, ranking.scores, strict=True))
        for text, query in {"either": either, "pump": words("pump"), "valve": words("valve")}.items()
        for ranking in [engine.search(SearchRequest(words=query)).words]
    }
    assert scores["either"] == pytest.approx({"both": scores["valve"]["both"], "one": scores["pump"]["one"]})
    assert scores["valve"]["both"] > scores["pump"]["both"]
    pieces = engine.hits(either, ["both"])[1]["both"]
    assert [marked(piece) for piece in pieces] == [["pump", "valve"]]


def test_a_title_alone_does_not_outrank_a_text_about_it(engine):
    """BM25F: a title that counts three times is three times as long, too."""
    engine.store(
        [
            Document("title", "", "A note on the heat pump"),
            Document("both", "The pump moves heat. Each pump needs a pump.", "Pumps"),
            *(
                Document(f"other{i}", "Nothing of the kind is in this text.", "Something else")
                for i in range(6)
            ),
        ]
    )
    assert engine.search(SearchRequest(words=words("pump"))).words.ids == ("both", "title")


def test_equal_scores_come_by_id_and_total_counts_all(engine):
    engine.store([document(id_, "same words") for id_ in ("c", "a", "d", "b")] + [document("other", "else")])
    ranking = engine.search(SearchRequest(words=words("same"), limit=3)).words
    assert ranking.ids == ("a", "b", "c")
    assert ranking.total == 4
    assert len(set(ranking.scores)) == 1


def test_a_removed_or_changed_text_is_no_longer_found(own_energy):
    own_energy.store([document("a", "Something new")])
    own_energy.delete(["b"])
    assert found(own_energy, words("pump")) == set()
    assert found(own_energy, words("something")) == {"a"}


def test_without_words_and_vector_all_match_in_order_of_id(energy):
    answer = energy.search(SearchRequest(limit=4))
    assert answer.words.ids == ("a", "b", "c", "d")
    assert answer.words.scores == (0.0,) * 4
    assert answer.words.total == 6
    assert answer.meaning is None


SIGNS = st.text(st.characters(codec="utf-8"), max_size=12) | st.text(
    "\"*^:(){}[]-+AND OR NOT NEAR,;\\%_'\0", max_size=12
)
CLAUSES = st.builds(
    Clause, SIGNS | st.text(max_size=4), st.sampled_from(["word", "phrase", "prefix"]), st.booleans()
)


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(query=st.builds(WordQuery, st.lists(CLAUSES, max_size=4).map(tuple), st.booleans()))
def test_no_text_is_ever_a_syntax_error(energy, query):
    answer = energy.search(SearchRequest(words=query, facets=("topic",)))
    assert answer.words.total <= 6
    energy.hits(query, list("abcdef"))[1]


def test_a_long_query_is_no_error(energy):
    most = (
        500 if "OpenSearch" in energy.info().description else 1000
    )  # it counts each word once for each field
    clauses = [Clause(f"word{number}", negated=number % 2 == 0) for number in range(most)]
    assert found(energy, WordQuery((*clauses, Clause("pump")), require_all=False)) == {"a", "b"}


# -- vectors -------------------------------------------------------------------------------------------------


def test_by_vector_all_mined_documents_by_cosine(energy):
    ranking = energy.search(SearchRequest(vector=axis(0))).meaning
    assert ranking.ids == ("a", "c", "b", "d", "e")  # 0°, 30°, 60°, 90° and 90°: by id
    assert ranking.scores == pytest.approx((1, math.sqrt(3) / 2, 0.5, 0, 0), abs=ROUNDING)
    assert ranking.total == 5  # "f" has no vector
    assert energy.search(SearchRequest(vector=axis(0), limit=2)).meaning.ids == ("a", "c")


def test_by_vector_under_a_filter_total_counts_what_the_filter_lets_through(energy):
    request = SearchRequest(vector=axis(0), filters=(Filter("lang", "=", "en"),), limit=1)
    ranking = energy.search(request).meaning
    assert (ranking.ids, ranking.total) == (("a",), 3)
    nothing = energy.search(SearchRequest(vector=axis(0), filters=(Filter("lang", "=", "xx"),))).meaning
    assert (nothing.ids, nothing.total) == ((), 0)


def test_by_vector_what_is_excluded_makes_room_for_the_next(energy):
    """Angles: a 0°, c 30°, b 60°, d and e 90°. "heat" stands in a and b, "wärme…" in c."""
    none_of = WordQuery((Clause("heat", negated=True),))
    ranking = energy.search(SearchRequest(words=none_of, vector=axis(0), limit=2)).meaning
    assert (ranking.ids, ranking.total) == (("c", "d"), 3)
    both = WordQuery((Clause("pump"), Clause("heat pump", "phrase", True), Clause("wärme", "prefix", True)))
    answer = energy.search(SearchRequest(words=both, vector=axis(0), limit=9))
    assert (answer.words.ids, answer.meaning.ids, answer.meaning.total) == (("b",), ("b", "d", "e"), 3)
    english = SearchRequest(
        words=none_of, vector=axis(0), filters=(Filter("lang", "=", "en"),), facets=("lang",), limit=1
    )
    answer = energy.search(english)
    assert (answer.meaning.ids, answer.meaning.total) == (("d",), 1)
    assert answer.facets == {"lang": (("en", 1),)}
    nothing = WordQuery((Clause("--", negated=True),))
    assert energy.search(SearchRequest(words=nothing, vector=axis(0))).meaning.total == 5


def test_words_and_vector_in_one_request_give_two_rankings(energy):
    answer = energy.search(SearchRequest(words=words("pump"), vector=axis(1), facets=("lang",)))
    assert set(answer.words.ids) == {"a", "b"}
    assert answer.meaning.ids == ("d", "b", "c", "a", "e")
    assert answer.facets["lang"] == (("en", 2),)  # counts what matches the words, not what is near
    shorter = energy.search(SearchRequest(words=words("pump"), vector=axis(1), limit=5, nearest=1))
    assert (len(shorter.words.ids), shorter.meaning.ids, shorter.meaning.total) == (2, ("d",), 5)


def test_a_vector_of_another_length_is_an_error(energy):
    with pytest.raises(MappingMismatch, match="3 numbers"):
        energy.search(SearchRequest(vector=np.ones(3, np.float32)))


def test_an_empty_collection_answers(engine):
    answer = engine.search(SearchRequest(words=words("x"), vector=axis(0), facets=("topic",)))
    assert (answer.words.ids, answer.meaning.ids, answer.facets) == ((), (), {"topic": ()})
    assert engine.nearest_phrases(axis(0)) == []
    assert engine.nearest_mentions(axis(0)) == []
    assert list(engine.document_ids()) == list(engine.phrase_ids()) == list(engine.mentions_by_phrase()) == []


def test_nearest_phrases(engine):
    engine.write_phrases([phrase("far", axis(1)), phrase("near", between(0, 1, 30)), phrase("at", axis(0))])
    engine.write_phrases([phrase("at", between(0, 1, 60))])  # overwritten: its old vector must not be found
    rows = engine.nearest_phrases(axis(0), limit=2)
    assert [row.phrase for row, _ in rows] == ["near", "at"]
    assert [score for _, score in rows] == pytest.approx([math.sqrt(3) / 2, 0.5], abs=ROUNDING)


def test_nearest_mentions_with_and_without_filters(engine):
    engine.store([document("a", lang="en"), document("b", lang="de"), document("c", lang="en")])
    rows = [
        mined("a", mentions=(mention("a", "x", axis(1)), mention("a", "y", between(0, 1, 60)))),
        mined("b", mentions=(mention("b", "x", axis(0)),)),
        mined("c"),
    ]
    engine.write_mined([mined("a", mentions=(mention("a", "old", axis(0)),))])
    engine.write_mined(rows)
    nearest = engine.nearest_mentions(axis(0), limit=2)
    assert [(row.document_id, row.phrase) for row, _ in nearest] == [("b", "x"), ("a", "y")]
    assert [score for _, score in nearest] == pytest.approx([1, 0.5], abs=ROUNDING)
    english = engine.nearest_mentions(axis(0), limit=5, filters=(Filter("lang", "=", "en"),))
    assert [(row.document_id, row.phrase) for row, _ in english] == [("a", "y"), ("a", "x")]
    assert english[0][0].sentence == "The y stands here."


def test_words_that_no_document_has_are_corrected(engine):
    engine.store(
        [
            document("a", "A computational model of magnetic fields.", "Solar wind"),
            document("b", "Computational linguistics, and a library."),
            document("c", "Computations of tides."),
        ]
    )
    typed = [
        "computatonal",
        "komputational",
        "magnetc",
        "libary",
        "Sollar",
        "tide",
        "wind",
        "qwxyzzz",
        "win",
        "fieds",
    ]
    assert engine.spellings(typed) == {
        "computatonal": "computational",
        "komputational": "computational",
        "magnetc": "magnetic",
        "libary": "library",
        "Sollar": "solar",
        "fieds": "fields",
    }
    assert engine.spellings([]) == {}


def test_keyphrases_and_titles_that_begin_so(engine):
    engine.store(
        [
            document("a", title="Solar wind"),
            document("b", title="solar panels"),
            document("c", title="The solar wind"),
            document("d", title="Sol[ar.*"),
        ]
    )
    wind, other = keyphrase("Solar Wind"), keyphrase("solar flare")
    engine.write_mined(
        [
            mined("a", keyphrases=(wind, keyphrase("wind"))),
            mined("b", keyphrases=(wind, other)),
            mined("c", keyphrases=(wind,)),
            mined("d", keyphrases=(keyphrase("sol[ar.*|x"), absent("solar eclipse"))),
        ]
    )
    engine.delete(["c"])
    assert engine.keyphrases_with("SOLAR", limit=5) == [("Solar Wind", 2), ("solar flare", 1)]
    assert engine.keyphrases_with("solar", limit=1) == [("Solar Wind", 2)]
    assert engine.keyphrases_with("sol[ar.*|", limit=5) == [("sol[ar.*|x", 1)]
    assert engine.keyphrases_with("lunar", limit=5) == engine.titles_with("lunar", limit=5) == []
    assert sorted(engine.titles_with("SOLAR", limit=5)) == [("a", "Solar wind"), ("b", "solar panels")]
    assert engine.titles_with("sol[ar.", limit=5) == [("d", "Sol[ar.*")]
    assert len(engine.titles_with("sol", limit=2)) == 2


def test_near_sentences_of_some_documents(engine):
    engine.store([document("a"), document("b"), document("c")])
    far, near = mention("a", "far", axis(1)), mention("a", "near", between(0, 1, 60))
    both = (
        replace(mention("b", "x", axis(1)), sentence="One."),
        replace(mention("b", "y", axis(0)), sentence="One."),
    )
    rows = [
        mined("a", mentions=(far, near)),
        mined("b", mentions=both),
        mined("c", mentions=(mention("c", "z"),)),
    ]
    engine.write_mined(rows)
    found = {
        (one.document_id, one.sentence): one.similarity for one in engine.near_sentences(axis(0), ["a", "b"])
    }
    assert found == {
        ("a", "The far stands here."): pytest.approx(0, abs=ROUNDING),
        ("a", "The near stands here."): pytest.approx(0.5, abs=ROUNDING),
        ("b", "One."): pytest.approx(1, abs=ROUNDING),  # of its nearest mention
    }
    assert engine.near_sentences(axis(0), []) == engine.near_sentences(axis(0), ["nobody"]) == []


def test_many_rows_give_the_same_as_numpy(engine):
    """More rows than any shortcut takes, with every second one overwritten."""
    random = np.random.default_rng(5)
    vectors = random.standard_normal((500, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [f"d{number:03}" for number in range(500)]
    engine.store([document(id_, half=str(number % 2)) for number, id_ in enumerate(ids)])
    engine.write_mined([mined(id_, -vector) for id_, vector in zip(ids, vectors, strict=True)])
    engine.write_mined([mined(id_, vector) for id_, vector in zip(ids, vectors, strict=True)])
    for filters, kept in (((), np.arange(500)), ((Filter("half", "=", "1"),), np.arange(1, 500, 2))):
        ranking = engine.search(SearchRequest(vector=vectors[7], filters=filters, limit=20)).meaning
        scores = vectors[kept] @ vectors[7]
        best = np.sort(scores)[::-1][:20]
        assert ranking.scores == pytest.approx(best.tolist(), abs=ROUNDING)
        exact = {ids[at]: score for at, score in zip(kept, scores, strict=True)}
        assert [exact[id_] for id_ in ranking.ids] == pytest.approx(list(ranking.scores), abs=ROUNDING)


class Axes:
    """An encoder for which every text lies on the first axis."""

    dims = DIMS

    def encode_texts(self, texts):
        return np.stack([axis(0) for _ in texts])


@pytest.mark.slow
def test_pages_of_a_search_are_one_list(engine):
    """240 documents, one degree of angle from the next after every third; every third has "solar"."""
    ids = [f"d{number:03}" for number in range(240)]
    engine.store([document(id_, "solar wind" if at % 3 == 0 else "wind") for at, id_ in enumerate(ids)])
    engine.write_mined([mined(id_, between(0, 1, at / 3)) for at, id_ in enumerate(ids)])
    for query, mode, number in (
        ("wind -solar", "words", 160),
        ("wind -solar", "meaning", 160),
        ("wind -sol*", "both", 160),
        ("solar -nothing", "both", 80 + 133),  # the 200 nearest are the first 200: 67 of them have "solar"
        ("nowhere -solar", "both", 160),
    ):
        whole = search(engine, Axes(), query, mode=mode, limit=240)
        assert whole.listed == len(whole.hits) == number
        listed = [hit.stored.document.id for hit in whole.hits]
        for size in (33, 100):
            pages = [
                search(engine, Axes(), query, mode=mode, limit=size, offset=at)
                for at in range(0, number, size)
            ]
            assert [hit.stored.document.id for page in pages for hit in page.hits] == listed
            assert [page.has_more for page in pages] == [True] * (len(pages) - 1) + [False]
        assert [hit.stored.document.id for hit in scan(engine, query, mode=mode, encoder=Axes())] == listed


# -- filters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((Filter("lang", "=", "en"),), "abd"),
        ((Filter("lang", "=", "EN"),), ""),  # exact
        ((Filter("lang", "=", "en"), Filter("lang", "=", "fr")), "abdf"),  # alternatives
        ((Filter("lang", "=", ["en", "fr"]),), "abdf"),
        ((Filter("lang", "=", "en"), Filter("year", "=", 2021)), "bd"),  # both must hold
        ((Filter("lang", "!=", "en"),), "cef"),  # without the field too
        ((Filter("lang", "!=", "en"), Filter("lang", "!=", "fr")), "ce"),
        ((Filter("tags", "=", "heat"),), "a"),
        ((Filter("tags", "!=", "home"),), "cdef"),
        ((Filter("year", "=", 2021),), "bd"),
        ((Filter("year", "=", "2021"),), "bd"),  # as a user types it
        ((Filter("year", ">=", 2020), Filter("year", "<", 2021)), "c"),
        ((Filter("year", ">", 2019.5),), "bcd"),
        ((Filter("year", "<=", "2019"),), "a"),
        ((Filter("price", ">", 9),), "ef"),  # 9.5 and 10 by size, not as text
        ((Filter("price", "=", 10.0),), "f"),
        ((Filter("open", "=", True),), "e"),
        ((Filter("open", "=", False),), "f"),
        ((Filter("date", ">=", "2020-06-01"),), "d"),
        ((Filter("date", "<", "2021"),), "c"),
        ((Filter("topic", "=", "t-000001"),), "ab"),
        ((Filter("topic", "=", "t-000002"), Filter("topic", "=", "t-000003")), "bce"),
        ((Filter("topic", "!=", "t-000001"),), "cdef"),
        ((Filter("keyphrase", "=", "HEAT PUMP"),), "ac"),
        ((Filter("keyphrase", "=", "pump"),), ""),  # the whole keyphrase
        ((Filter("nofield", "=", "x"),), ""),
        ((Filter("nofield", "!=", "x"),), "abcdef"),
        ((Filter("nofield", "<", 3),), ""),
        ((Filter("lang", "=", "\ud800"),), ""),
        ((), "abcdef"),
    ],
)
def test_filters(energy, filters, expected):
    assert "".join(under(energy, *filters)) == expected


def test_filters_apply_to_words(energy):
    assert found(energy, words("pump"), Filter("year", ">", 2020)) == {"b"}


def test_the_users_fields_may_have_our_names(engine):
    engine.store([document("a", topic="mine", keyphrase="mine")])
    engine.write_mined([mined("a", topics=(("t-000001", 1.0),))])
    assert under(engine, Filter("topic", "=", "mine")) == []
    assert under(engine, Filter("topic", "=", "t-000001")) == ["a"]


def test_a_range_with_a_list_is_an_error(energy):
    with pytest.raises(QueryError, match="year"):
        under(energy, Filter("year", ">", ["2019", "2020"]))


def test_half_a_character_is_found_nowhere_and_is_no_error(energy):
    """Lone surrogates come from the command line, where bytes are no UTF-8."""
    odd = "\ud800"
    assert found(energy, words(odd)) == set()
    assert under(energy, Filter(odd, "=", odd)) == []
    assert energy.search(SearchRequest(facets=(odd,))).facets == {odd: ()}
    assert energy.documents([odd, "a"])[0].document.id == "a"
    assert energy.mentions([odd]) == energy.phrases([odd]) == list(energy.mentions_by_phrase([odd])) == []
    assert energy.topic_documents(odd, axis(0)).total == 0
    assert energy.hits(words("heat"), [odd])[1] == {}
    assert energy.delete([odd]) == 0
    energy.delete_phrases([odd])


def test_a_scan_gives_what_a_search_ranks(energy):
    query = words("heat", "solar", "tax", require_all=False)
    for given_, filters in (
        (query, ()),
        (query, (Filter("lang", "=", "en"),)),
        (None, (Filter("year", "<", 2021),)),
    ):
        ranking = energy.search(SearchRequest(words=given_, filters=filters)).words
        scanned = list(energy.scan(given_, filters))
        assert [id_ for id_, _ in scanned] == list(ranking.ids)
        assert [score for _, score in scanned] == pytest.approx(list(ranking.scores))
    assert list(energy.scan(words("nowhere"))) == []
