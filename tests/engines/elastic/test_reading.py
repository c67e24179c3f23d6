"""Reading when a part of the server is away."""

from __future__ import annotations

import pytest

from indexer.engines.elastic.bulk import Action
from indexer.engines.elastic.reading import Freshness, by_id, stream
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
    with cluster.retrying():
        assert by_id(cluster, "rows", ["a"]) == {"a": {"x": 1}}
    assert len(pauses) == 2


def test_rows_of_an_index_that_is_gone_are_not_waited_for(stub, cluster, pauses):
    stub.mishaps.append(one(error={"type": "index_not_found_exception", "reason": "no such index [rows]"}))
    with cluster.retrying(), pytest.raises(MappingMismatch, match="no such index"):
        by_id(cluster, "rows", ["a"])
    assert pauses == []


def unavailable(_):
    return 503, {
        "error": {"type": "search_phase_execution_exception", "reason": "all shards failed"},
        "status": 503,
    }


def test_a_run_waits_where_a_person_would_be_told(stub, cluster, pauses):
    stub.mishaps.append(unavailable)
    with pytest.raises(EngineUnavailable, match="all shards failed"):
        cluster.search(index="rows")
    assert pauses == []
    stub.mishaps.extend([unavailable, unavailable, lambda _: (200, {"hits": {"hits": []}})])
    with cluster.retrying():
        assert cluster.search(index="rows") == {"hits": {"hits": []}}
    assert len(pauses) == 2


def test_one_of_several_searches_that_failed_is_waited_for(stub, cluster, pauses):
    failed = {"error": {"type": "no_shard_available_action_exception", "reason": "[a]"}, "status": 503}
    stub.mishaps.append(lambda _: (200, {"responses": [{"hits": 1}, failed]}))
    stub.mishaps.append(lambda _: (200, {"responses": [{"hits": 1}, {"hits": 2}]}))
    with cluster.retrying():
        assert cluster.search_many([("rows", {}), ("rows", {})]) == [{"hits": 1}, {"hits": 2}]
    assert len(pauses) == 1


def test_patience_has_an_end(stub, cluster, pauses):
    stub.mishaps.extend([unavailable] * 100)
    with cluster.retrying(), pytest.raises(EngineUnavailable, match="all shards failed"):
        cluster.search(index="rows")
    assert (
        60 <= sum(pauses) < 120
    )  # of the 60 seconds that this one has; the last pause is longer than what is left


def page(*ids, pit="p"):
    return lambda _: (200, {"pit_id": pit, "hits": {"hits": [{"_id": id_, "sort": [id_, 0]} for id_ in ids]}})


FORGOTTEN = {
    "error": {
        "type": "search_phase_execution_exception",
        "reason": "all shards failed",
        "root_cause": [
            {"type": "search_context_missing_exception", "reason": "No search context found for id [7]"}
        ],
    },
    "status": 404,
}


def read(cluster):
    return [hit["_id"] for hit in stream(cluster, "rows", {"match_all": {}}, sort=["id"], page=2)]


def test_a_stream_goes_on_after_a_restart(stub, cluster, pauses):
    opened = [lambda _, name=name: (200, {"id": name}) for name in ("p", "q")]
    stub.mishaps.extend(
        [opened[0], page("a", "b"), lambda _: (404, FORGOTTEN), opened[1], page("c", pit="q")]
    )
    with cluster.retrying():
        assert read(cluster) == ["a", "b", "c"]
    assert pauses == []
    assert stub.bodies[-2]["search_after"] == ["b", 0]
    assert stub.bodies[-2]["pit"]["id"] == "q"
    assert stub.bodies[-1] == {"id": "q"}  # closed


def test_without_patience_a_person_is_told_that_the_server_has_forgotten(stub, cluster):
    stub.mishaps.extend([lambda _: (200, {"id": "p"}), lambda _: (404, FORGOTTEN)])
    with pytest.raises(EngineUnavailable, match="forgotten what was being read"):
        read(cluster)


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
