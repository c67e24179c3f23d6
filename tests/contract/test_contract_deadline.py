"""A query that takes too long is stopped."""

from __future__ import annotations

import pytest
from contract_rows import axis, document, mention, mined

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.engines.deadline import deadline
from indexer.errors import QueryTimeout

WORDS = WordQuery((Clause("plain"), Clause("t", "prefix")), require_all=False)


@pytest.fixture
def filled(engine, monkeypatch):
    monkeypatch.setattr("indexer.engines.local.connections.STEPS", 1)  # of a collection as small as this
    engine.store([document(id_, f"plain text {id_}") for id_ in "abc"])
    engine.write_mined([mined(id_, axis(1), mentions=(mention(id_, "x", axis(2)),)) for id_ in "abc"])
    return engine


@pytest.mark.parametrize(
    "query",
    [
        lambda engine: engine.search(SearchRequest(words=WORDS, facets=("topic",))),
        lambda engine: engine.search(SearchRequest(vector=axis(1))),
        lambda engine: engine.hits(WORDS, ["a", "b"]),
        lambda engine: [(row.document_id, score) for row, score in engine.nearest_mentions(axis(2))],
        lambda engine: engine.count_topics([()]),
    ],
)
def test_a_query_is_stopped_at_its_deadline_and_the_engine_works_on(filled, query):
    before = query(filled)
    with pytest.raises(QueryTimeout, match=r"after 1e-09 seconds"), deadline(1e-9):
        query(filled)
    with deadline(60.0):
        assert query(filled) == before
    assert query(filled) == before


def test_a_deadline_inside_another_does_not_extend_it(filled):
    with deadline(1e-9), deadline(60.0), pytest.raises(QueryTimeout):
        filled.search(SearchRequest(words=WORDS))
