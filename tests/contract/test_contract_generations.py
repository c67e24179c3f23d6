"""Generations: a new one is made beside the live one, takes over as a whole, and the old one is kept."""

from __future__ import annotations

from contextlib import closing, suppress

import numpy as np
import pytest
from contract_rows import DIMS, document, mention, mined, phrase, topic

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.errors import NotFound, SearchError, Superseded

WORD = SearchRequest(words=WordQuery((Clause("plain"),)))


def states(generations) -> list[tuple[int, str, int]]:
    return [(g.number, g.state, g.documents) for g in generations.all()]


def live(generations):
    (number,) = (g.number for g in generations.all() if g.state == "live")
    return closing(generations.open(number))


def fill(engine, *ids):
    engine.store([document(id_) for id_ in ids])
    engine.write_mined([mined(id_, mentions=(mention(id_, "x"),)) for id_ in ids])
    engine.write_phrases([phrase("x")])
    engine.write_topics([topic("t-000001")])


def test_a_new_generation_is_seen_by_nobody_until_it_takes_over_and_the_old_one_comes_back(
    engine, generations
):
    fill(engine, "a", "b")
    with closing(generations.make(16, bundle="new")) as following:
        assert following.info().documents == 0
        following.store([document("a"), document("b"), document("c")])
        vector = np.eye(16, dtype=np.float32)[9]
        row = mined("c", vector, topics=(("t-000001", 1.0),))
        assert following.write_mined([row]) == []
        assert states(generations) == [(1, "live", 2), (2, "unfinished", 3)]
        assert set(engine.search(WORD).words.ids) == {"a", "b"}
        assert engine.info().phrases == 1
    generations.switch(2)
    generations.switch(2)
    assert states(generations) == [(1, "kept", 2), (2, "live", 3)]
    with live(generations) as engine_of_2:
        assert engine_of_2.dims == 16
        assert set(engine_of_2.search(WORD).words.ids) == {"a", "b", "c"}
        assert engine_of_2.topic_documents("t-000001", np.eye(16, dtype=np.float32)[0]).ids == ("c",)
        assert engine_of_2.topics() == []
        assert engine_of_2.store([document("d")]) == []
    with closing(generations.open(1)) as old:
        assert (old.dims, old.info().phrases, len(old.topics())) == (DIMS, 1, 1)
        with pytest.raises(SearchError):  # kept: nothing writes there
            old.store([document("z")])
    generations.switch(1)
    assert states(generations) == [(1, "live", 2), (2, "kept", 4)]
    with live(generations) as engine_of_1:
        assert engine_of_1.store([document("e")]) == []
    (first, second) = generations.all()
    assert (first.dims, second.dims, second.bundle) == (DIMS, 16, "new")
    assert first.bytes > 0


def test_who_had_it_open_learns_that_another_one_has_taken_over(engine, generations):
    fill(engine, "a")
    assert not engine.superseded()
    with closing(generations.make(DIMS, bundle="new")) as following:
        fill(following, "a")
        following.write_phrases([phrase("y")])
    assert not engine.superseded()
    generations.switch(2)
    assert engine.superseded()
    generations.switch(1)
    assert not engine.superseded()


def test_a_vector_never_meets_those_of_another_encoder(engine, generations):
    fill(engine, "a")
    with closing(generations.make(DIMS, bundle="new")) as following:
        fill(following, "b")
    generations.switch(2)
    vector = phrase("x").vector
    with suppress(Superseded):  # which says: open it again
        assert engine.search(SearchRequest(vector=vector)).meaning.ids == ("a",)
    with suppress(Superseded):
        assert [row.document_id for row, _ in engine.nearest_mentions(vector)] == ["a"]


def test_what_was_left_unfinished_stands_in_the_way_until_it_is_removed(engine, generations):
    fill(engine, "a")
    generations.make(DIMS, bundle="left").close()
    with pytest.raises(SearchError, match=r"Generation 2 .* is unfinished") as caught:
        generations.make(DIMS, bundle="again")
    assert "indexer generations remove 2" in caught.value.hint
    with closing(generations.open(2)) as going_on:
        assert going_on.store([document("later")]) == []
    generations.remove(2)
    assert states(generations) == [(1, "live", 1)]
    with closing(generations.make(DIMS, bundle="again")) as following:
        fill(following, "b")
    generations.switch(2)
    generations.remove(1)
    assert states(generations) == [(2, "live", 1)]
    with live(generations) as engine_of_2:
        assert list(engine_of_2.document_ids()) == ["b"]
    with closing(generations.make(DIMS, bundle="third")):
        assert [number for number, _, _ in states(generations)] == [2, 3]


def test_the_live_one_cannot_be_removed_and_what_is_not_there_is_named(engine, generations):
    with pytest.raises(SearchError, match="is live, and cannot be removed"):
        generations.remove(1)
    for ask in (generations.open, generations.switch, generations.remove):
        with pytest.raises(NotFound, match="no generation 7") as caught:
            ask(7)
        assert caught.value.hint == "Existing generations: 1."


def test_a_generation_that_is_kept_is_brought_up_to_date_before_it_takes_over_again(engine, generations):
    assert generations.live() == 1
    fill(engine, "a", "b")
    with closing(generations.make(DIMS, bundle="new")) as following:
        fill(following, "a", "b", "c")
    generations.switch(2)
    assert generations.live() == 2
    for _ in range(2):  # a process may die and another do it again
        with closing(generations.amend(1)) as coming:
            coming.store([document("c")])
            assert coming.delete(["a"]) in (0, 1)
            assert list(coming.document_ids()) == ["b", "c"]
        assert states(generations) == [(1, "kept", 2), (2, "live", 3)]
    with live(generations) as engine_of_2:
        assert set(engine_of_2.search(WORD).words.ids) == {"a", "b", "c"}
    generations.switch(1)
    assert states(generations) == [(1, "live", 2), (2, "kept", 3)]
    with live(generations) as engine_of_1:
        assert set(engine_of_1.search(WORD).words.ids) == {"b", "c"}
        assert engine_of_1.store([document("d")]) == []
    with closing(generations.amend(2)) as coming:  # and forward again
        coming.store([document("d")])
    generations.switch(2)
    assert states(generations) == [(1, "kept", 3), (2, "live", 4)]
