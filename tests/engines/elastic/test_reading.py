"""Reading when a part of the server is away."""

from __future__ import annotations

import pytest

from indexer.engines.elastic.bulk import Action
from indexer.engines.elastic.reading import Freshness, by_id
from indexer.errors import EngineUnavailable, MappingMismatch, SearchError


def one(**row):
    return lambda _: (200, {"docs": [{"_id": "a", **row}]})


AWAY = one(error={"type": "no_shard_available_action_exception", "reason": "No shard available for [a]"})


def test_rows_of_a_shard_that_is_away_are_not_missing(stub, cluster, pauses):
    stub.mishaps.append(AWAY)
    with pytest.raises(EngineUnavailable, match="No shard available"):
        by_id(cluster, "rows", ["a"])
    assert pauses == []
    stub.mishaps.extend([AWAY, AWAY, one(found=True, _source={"x": 1})])
    assert by_id(cluster, "rows", ["a"], insist=True) == {"a": {"x": 1}}
    assert len(pauses) == 2


def test_rows_of_an_index_that_is_gone_are_not_waited_for(stub, cluster, pauses):
    stub.mishaps.append(one(error={"type": "index_not_found_exception", "reason": "no such index [rows]"}))
    with pytest.raises(MappingMismatch, match="no such index"):
        by_id(cluster, "rows", ["a"], insist=True)
    assert pauses == []


def test_a_refresh_is_asked_for_once_and_only_where_something_was_written(stub, cluster):
    fresh = Freshness(cluster)
    fresh.refresh("rows")
    assert stub.requests == []
    fresh.send([Action("index", "rows", "a", {})])
    fresh.refresh("others")
    fresh.refresh("rows")
    fresh.refresh("rows")
    assert stub.sent == [["a"], []]  # the rows, and one refresh


def test_a_refresh_that_failed_is_asked_for_again(stub, cluster):
    fresh = Freshness(cluster)
    fresh.send([Action("index", "rows", "a", {})])
    stub.mishaps.append(lambda _: (500, {"error": {"type": "x", "reason": "broken"}, "status": 500}))
    with pytest.raises(SearchError, match="broken"):
        fresh.refresh("rows")
    fresh.refresh("rows")
    assert stub.sent == [["a"], [], []]
