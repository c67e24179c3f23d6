"""Counts of values, and marked pieces of text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from contract_asking import marked, words
from contract_rows import axis, document, keyphrase, mined, topic
from fuzzing import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.engines.base import Clause, Counted, Filter, SearchRequest, WordQuery

# -- facets --------------------------------------------------------------------------------------------------


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
    found = engine.significant_keyphrases((Filter("topic", "=", "t-000001"),))
    assert [(s.keyphrase.casefold(), s.documents, s.everywhere) for s in found] == [
        ("wind", 3, 3),
        ("solar", 2, 4),
    ]
    assert [s.score for s in found] == pytest.approx([1.125, 0.125])
    assert len(engine.significant_keyphrases((Filter("topic", "=", "t-000001"),), limit=1)) == 1
    assert engine.significant_keyphrases((Filter("topic", "=", "t-000009"),)) == []


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


def test_topics_are_counted_at_each_level_of_the_tree(engine):
    """Physics has Waves, which has Sound and Light, and Heat; Tax is by itself. A document counts once for a parent.

    a: Sound and Light, b: Light and Heat, c: Heat, d: Tax, e: a topic that is gone, f: not mined.
    """
    physics, waves, sound, light, heat, tax = (f"t-00000{number}" for number in range(1, 7))
    having = {"a": (sound, light), "b": (light, heat), "c": (heat,), "d": (tax,), "e": ("t-000009",)}
    engine.store([document(id_, "wave" if id_ in "ac" else "plain") for id_ in "abcdef"])
    engine.write_mined(
        [mined(id_, topics=tuple((one, 0.5) for one in topics)) for id_, topics in having.items()]
    )
    tree = [
        topic(physics, label="Physics"),
        topic(waves, label="Waves", parent=physics),
        topic(sound, label="Sound", parent=waves),
        topic(light, label="Light", parent=waves),
        topic(heat, label="Heat", parent=physics),
        topic(tax, label="Tax"),
    ]
    engine.write_topics(tree)
    assert engine.search(SearchRequest(facets=("topic_path",))).facets["topic_path"] == (
        (physics, 3),
        (f"{physics}/{waves}", 2),
        (f"{physics}/{waves}/{light}", 2),
        (f"{physics}/{heat}", 2),
        (f"{physics}/{waves}/{sound}", 1),
        (tax, 1),
    )
    some = engine.search(SearchRequest(words=words("wave"), facets=("topic_path",), facet_size=2))
    assert some.facets["topic_path"] == ((physics, 2), (f"{physics}/{waves}", 1))
    assert {found.id: found.parent for found in engine.topics()} == {one.id: one.parent for one in tree}
    assert engine.info().topics == 4  # parents are no topics of documents

    engine.write_topics([topic(heat, label="Heat"), topic(tax, label="Tax", parent=physics), topic(physics)])
    assert engine.search(SearchRequest(facets=("topic_path",))).facets["topic_path"] == (
        (heat, 2),
        (physics, 1),
        (f"{physics}/{tax}", 1),
    )


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


# -- highlights ----------------------------------------------------------------------------------------------


def test_highlights_mark_the_matched_words(energy):
    pieces = energy.hits(words("running", "heating"), ["a", "d", "c", "nobody"])[1]
    assert list(pieces) == ["a", "d"]
    assert {(piece.field, *marked(piece)) for piece in pieces["a"]} == {
        ("title", "Heating"),
        ("text", "heat", "runs"),
    }
    assert [(piece.field, marked(piece)) for piece in pieces["d"]] == [("text", ["Running"])]


def test_highlights_mark_a_phrase_as_one_and_no_negated_words(energy):
    query = WordQuery((Clause("heat pump", "phrase"), Clause("winter", negated=True)))
    (piece,) = energy.hits(query, ["a"])[1]["a"]
    assert (piece.field, marked(piece)) == ("text", ["heat pump"])
    assert energy.hits(WordQuery((Clause("winter", negated=True),)), ["a"])[1] == {}


def test_highlights_are_pieces_of_the_field_best_first(engine):
    filler = "Lorem ipsum dolor sit amet, consetetur sadipscing elitr. " * 12
    text = f"{filler}One pump. {filler}A pump\0 and \ue000 valve. {filler}Another pump. {filler}"
    engine.store([document("a", text, "Valves")])
    pieces = engine.hits(words("pump", "valve"), ["a"], fragments=3)[1]["a"]
    assert len(pieces) == 3
    assert marked(pieces[0]) == ["pump", "valve"]  # two of the words beat one
    assert (pieces[1].field, pieces[1].text, pieces[1].marks) == ("title", "Valves", ((0, 6),))
    assert marked(pieces[2]) == ["pump"]
    for piece in pieces:
        assert piece.text in (text if piece.field == "text" else "Valves")
        assert len(piece.text) <= 300
        assert not piece.text.startswith(" ")
    assert len(engine.hits(words("pump"), ["a"], fragments=2)[1]["a"]) == 2
    assert len(engine.hits(words("pump"), ["a"], fragments=9)[1]["a"]) == 3


_ANY = st.lists(
    st.sampled_from(["pump", "Pümp", "\0", "\ue000", "\ue001", " ", "𝄞", "x" * 90, ", "]), max_size=40
).map("".join)


@settings(
    max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(texts=st.lists(_ANY, min_size=5, max_size=5))  # five at a time: a server takes a while to store
def test_marks_fit_in_any_text(engine, texts):
    of = dict(zip("abcde", texts, strict=True))
    engine.store([document(id_, text, text[:20]) for id_, text in of.items()])
    for id_, pieces in engine.hits(words("pump"), list(of), fragments=50)[1].items():
        for piece in pieces:
            assert piece.text in (of[id_] if piece.field == "text" else of[id_][:20])
            assert set(marked(piece)) <= {"pump", "Pümp"}
            assert all(first[1] <= second[0] for first, second in pairwise(piece.marks))
