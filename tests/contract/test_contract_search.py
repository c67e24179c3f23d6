"""Searches by words, by vector, under filters, with counts and marked pieces of text."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from contract_asking import found, under, words
from contract_rows import DIMS, ROUNDING, axis, between, document, keyphrase, mention, mined, phrase
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.engines.base import Clause, Counted, Filter, SearchRequest, WordQuery
from indexer.errors import MappingMismatch, QueryError
from indexer.search import scan, search

# -- words -------------------------------------------------------------------------------------------------


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
    assert [marked(piece) for piece in engine.highlights(words("einstein"), ["a"])["a"]] == [["Einstein"]]


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


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.builds(WordQuery, st.lists(CLAUSES, max_size=4).map(tuple), st.booleans()))
def test_no_text_is_ever_a_syntax_error(energy, query):
    answer = energy.search(SearchRequest(words=query, facets=("topic",)))
    assert answer.words.total <= 6
    energy.highlights(query, list("abcdef"))


def test_a_long_query_is_no_error(energy):
    clauses = [Clause(f"word{number}", negated=number % 2 == 0) for number in range(1000)]
    assert found(energy, WordQuery((*clauses, Clause("pump")), require_all=False)) == {"a", "b"}


# -- vectors -----------------------------------------------------------------------------------------------


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


def test_pages_of_a_search_are_one_list(engine):
    """240 documents, one degree of angle from the next after every third; every third has "solar"."""
    ids = [f"d{number:03}" for number in range(240)]
    engine.store([document(id_, "solar wind" if at % 3 == 0 else "wind") for at, id_ in enumerate(ids)])
    engine.write_mined([mined(id_, between(0, 1, at / 3)) for at, id_ in enumerate(ids)])
    for query, mode, number in (
        ("wind -solar", "words", 160),
        ("wind -solar", "meaning", 160),
        ("wind -sol*", "both", 160),
        ("solar -nothing", "both", 80 + 66),  # the 100 nearest are the first 100: 34 of them have "solar"
        ("nowhere -solar", "both", 100),
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


# -- filters -----------------------------------------------------------------------------------------------


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
    assert energy.document_frequencies([odd]) == {odd: 0}
    assert energy.topic_documents(odd, axis(0)).total == 0
    assert energy.highlights(words("heat"), [odd]) == {}
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


# -- facets ------------------------------------------------------------------------------------------------


def test_facets_count_all_matches(energy):
    facets = ("topic", "keyphrase", "lang", "year", "tags", "open", "nofield")
    answer = energy.search(SearchRequest(facets=facets, limit=1))
    assert answer.facets == {
        "topic": (("t-000001", 2), ("t-000003", 2), ("t-000002", 1)),
        "keyphrase": (("Heat pump", 2), ("cost", 1), ("solar panel", 1), ("tax law", 1)),
        "lang": (("en", 3), ("de", 1), ("fr", 1)),
        "year": (("2021", 2), ("2019", 1), ("2020", 1)),
        "tags": (("home", 2), ("heat", 1)),
        "open": (("false", 1), ("true", 1)),
        "nofield": (),
    }


def test_facets_count_what_matches_words_and_filters(energy):
    answer = energy.search(
        SearchRequest(words=words("pump"), filters=(Filter("year", "=", 2019),), facets=("topic", "lang"))
    )
    assert answer.facets == {"topic": (("t-000001", 1),), "lang": (("en", 1),)}


def test_special_keyphrases_are_more_frequent_here_than_elsewhere(engine):
    """Ten mined documents, four with the topic.

    wind: 3 of 4 here, 3 of 10 everywhere: (.75 - .3) * .75 / .3 = 1.125. solar: 2 of 4, 4 of 10: (.5 - .4) * .5 / .4 =
    0.125. noise: 4 of 4, 10 of 10: 0. rare: one document. Not mined documents count for nothing.
    """
    having = {"wind": "abc", "Solar": "ab", "solar": "ef", "noise": "abcdefghij", "rare": "a"}
    engine.store([document(id_) for id_ in "abcdefghijkl"])
    engine.write_mined(
        [
            mined(
                id_,
                topics=(("t-000001", 1.0),) if id_ in "abcd" else (),
                keyphrases=tuple(keyphrase(text) for text, ids in having.items() if id_ in ids),
            )
            for id_ in "abcdefghij"
        ]
    )
    found = engine.special_keyphrases((Filter("topic", "=", "t-000001"),))
    assert [(s.keyphrase.casefold(), s.documents, s.everywhere) for s in found] == [
        ("wind", 3, 3),
        ("solar", 2, 4),
    ]
    assert [s.score for s in found] == pytest.approx([1.125, 0.125])
    assert len(engine.special_keyphrases((Filter("topic", "=", "t-000001"),), limit=1)) == 1
    assert engine.special_keyphrases((Filter("topic", "=", "t-000009"),)) == []


def test_topics_are_counted_in_each_part(engine):
    """Four documents of three years; one has two topics, one has none, one is not mined."""
    dates = {"a": "2019-05-01", "b": "2020", "c": "2020-12-31", "d": 2021, "e": "2021-01-01"}
    engine.store([document(id_, date=date) for id_, date in dates.items()])
    one, two = ("t-000001", 1.0), ("t-000002", 0.5)
    engine.write_mined(
        [mined("a", topics=(one,)), mined("b", topics=(one, two)), mined("c"), mined("d", topics=(two,))]
    )
    years = [(Filter("date", ">=", first), Filter("date", "<", last))
             for first, last in (("2019", "2020"), ("2020", "2021"), ("2021", "2022"), ("2030", "2031"))]  # fmt: skip
    assert engine.count_topics([*years, ()]) == [
        Counted(1, {"t-000001": 1}),
        Counted(2, {"t-000001": 1, "t-000002": 1}),
        Counted(2, {"t-000002": 1}),
        Counted(0, {}),
        Counted(5, {"t-000001": 2, "t-000002": 2}),
    ]
    assert engine.count_topics([]) == []


def test_facets_with_a_vector_count_all_under_the_filters(energy):
    answer = energy.search(
        SearchRequest(vector=axis(0), filters=(Filter("lang", "=", "en"),), facets=("year",), limit=1)
    )
    assert answer.facets == {"year": (("2021", 2), ("2019", 1))}
    assert answer.words is None


def test_a_value_that_a_document_has_twice_counts_once(engine):
    engine.store([document("a", tags=["x", "x", "y"])])
    engine.write_mined([mined("a", keyphrases=(keyphrase("One"), keyphrase("one")))])
    answer = engine.search(SearchRequest(facets=("tags", "keyphrase")))
    assert answer.facets == {"tags": (("x", 1), ("y", 1)), "keyphrase": (("One", 1),)}


def test_facet_size_with_many_equal_counts_takes_the_first_by_value(engine):
    """5,000 values that stand once and one that stands twice."""
    values = [f"v{number:04}" for number in range(5000)]
    engine.store([document("a", tags=values[::-1]), document("b", tags=["v2500"])])
    answer = engine.search(SearchRequest(facets=("tags",), facet_size=3))
    assert answer.facets == {"tags": (("v2500", 2), ("v0000", 1), ("v0001", 1))}
    few = engine.search(
        SearchRequest(filters=(Filter("tags", "=", "v2500"),), facets=("tags",), facet_size=1)
    )
    assert few.facets == {"tags": (("v2500", 2),)}


# -- highlights --------------------------------------------------------------------------------------------


def marked(fragment) -> list[str]:
    return [fragment.text[start:end] for start, end in fragment.marks]


def test_highlights_mark_the_matched_words(energy):
    pieces = energy.highlights(words("running", "heating"), ["a", "d", "c", "nobody"])
    assert list(pieces) == ["a", "d"]
    assert {(piece.field, *marked(piece)) for piece in pieces["a"]} == {
        ("title", "Heating"),
        ("text", "heat", "runs"),
    }
    assert [(piece.field, marked(piece)) for piece in pieces["d"]] == [("text", ["Running"])]


def test_highlights_mark_a_phrase_as_one_and_no_negated_words(energy):
    query = WordQuery((Clause("heat pump", "phrase"), Clause("winter", negated=True)))
    (piece,) = energy.highlights(query, ["a"])["a"]
    assert (piece.field, marked(piece)) == ("text", ["heat pump"])
    assert energy.highlights(WordQuery((Clause("winter", negated=True),)), ["a"]) == {}


def test_highlights_are_pieces_of_the_field_best_first(engine):
    filler = "Lorem ipsum dolor sit amet, consetetur sadipscing elitr. " * 12
    text = f"{filler}One pump. {filler}A pump\0 and \ue000 valve. {filler}Another pump. {filler}"
    engine.store([document("a", text, "Valves")])
    pieces = engine.highlights(words("pump", "valve"), ["a"], fragments=3)["a"]
    assert len(pieces) == 3
    assert marked(pieces[0]) == ["pump", "valve"]  # two of the words beat one
    assert (pieces[1].field, pieces[1].text, pieces[1].marks) == ("title", "Valves", ((0, 6),))
    assert marked(pieces[2]) == ["pump"]
    for piece in pieces:
        assert piece.text in (text if piece.field == "text" else "Valves")
        assert len(piece.text) <= 300
        assert not piece.text.startswith(" ")
    assert len(engine.highlights(words("pump"), ["a"], fragments=2)["a"]) == 2
    assert len(engine.highlights(words("pump"), ["a"], fragments=9)["a"]) == 3


_ANY = st.lists(
    st.sampled_from(["pump", "Pümp", "\0", "\ue000", "\ue001", " ", "𝄞", "x" * 90, ", "]), max_size=40
).map("".join)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(_ANY, min_size=5, max_size=5))  # five at a time: a server takes a while to store
def test_marks_fit_in_any_text(engine, texts):
    of = dict(zip("abcde", texts, strict=True))
    engine.store([document(id_, text, text[:20]) for id_, text in of.items()])
    for id_, pieces in engine.highlights(words("pump"), list(of), fragments=50).items():
        for piece in pieces:
            assert piece.text in (of[id_] if piece.field == "text" else of[id_][:20])
            assert set(marked(piece)) <= {"pump", "Pümp"}
            assert all(first[1] <= second[0] for first, second in pairwise(piece.marks))
