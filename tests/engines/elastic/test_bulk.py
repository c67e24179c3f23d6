"""The bulk loop: what goes wrong between us and the server, and that no row is lost or counted for nothing."""

from __future__ import annotations

import pytest
from engines.elastic.stub import Stub

from indexer.engines.elastic.bulk import Action, require, send
from indexer.engines.elastic.cluster import Cluster
from indexer.errors import EngineUnavailable, MappingMismatch, WriteRefused

BUSY = (429, {"type": "es_rejected_execution_exception", "reason": "queue is full"})
WRONG = {
    "type": "document_parsing_exception",
    "reason": "failed to parse",
    "caused_by": {"reason": "dims differ"},
}


def rows(*ids: str, text: str = "x") -> list[Action]:
    return [Action("index", "rows", id_, {"text": text}) for id_ in ids]


def test_rows_are_sent_in_chunks_of_so_many_bytes(stub, cluster):
    ids = [f"{number:02}" for number in range(10)]
    # head and body of one row: {"index":{"_id":"00"}} and {"text":"xxxxxxxxxx"} = 22 + 1 + 21
    assert send(cluster, rows(*ids, text="x" * 10), chunk_bytes=4 * 44) == []
    assert stub.sent == [ids[:4], ids[4:8], ids[8:]]
    assert sorted(stub.rows) == ids


def test_a_row_that_is_larger_than_a_chunk_goes_alone(stub, cluster):
    actions = [*rows("a"), *rows("b", text="x" * 500), *rows("c")]
    assert send(cluster, actions, chunk_bytes=200) == []
    assert stub.sent == [["a"], ["b"], ["c"]]


def test_the_actions_are_drawn_chunk_by_chunk(stub, cluster):
    seen = []

    def drawn():
        for action in rows(*"abcd"):
            seen.append((action.id, len(stub.requests)))
            yield action

    send(cluster, drawn(), chunk_actions=2)
    assert seen == [("a", 0), ("b", 0), ("c", 0), ("d", 1)]  # c is drawn to know that the first chunk is full


def test_only_the_rows_that_were_put_off_are_sent_again(stub, cluster, pauses):
    stub.mishaps.append(lambda items: stub.take(items, {"b": BUSY, "c": (503, {"reason": "no shard"})}))
    stub.mishaps.append(lambda items: stub.take(items, {"c": BUSY}))
    assert send(cluster, rows(*"abcd")) == []
    assert stub.sent == [["a", "b", "c", "d"], ["b", "c"], ["c"]]
    assert sorted(stub.rows) == ["a", "b", "c", "d"]
    assert len(pauses) == 2


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_request_that_was_put_off_is_sent_again_as_a_whole(stub, cluster, status):
    stub.mishaps.append(
        lambda items: (status, {"error": {"type": "busy", "reason": "later"}, "status": status})
    )
    assert send(cluster, rows("a", "b")) == []
    assert stub.sent == [["a", "b"], ["a", "b"]]


def test_a_lost_connection_loses_and_doubles_nothing(stub, cluster):
    def carried_out_but_not_answered(items):
        stub.take(items)

    stub.mishaps.append(lambda items: None)
    stub.mishaps.append(carried_out_but_not_answered)
    assert send(cluster, rows("a", "b")) == []
    assert stub.sent == [["a", "b"]] * 3
    assert sorted(stub.rows) == ["a", "b"]


def test_a_request_that_is_too_large_is_split(stub, cluster, pauses):
    stub.largest = 90  # two rows of some 35 bytes each
    assert send(cluster, rows(*"abcdefg")) == []
    assert [id_ for part in stub.sent for id_ in part] == list("abcdefg")
    assert max(map(len, stub.sent)) == 2
    assert pauses == []


def test_a_single_row_that_is_too_large_is_refused_with_its_size(stub, cluster):
    stub.largest = 200
    actions = [*rows("a"), *rows("b", text="x" * 300), *rows("c")]
    (failure,) = send(cluster, actions)
    # {"index":{"_id":"b"}} is 21 bytes, the line feed 1, {"text":""} with 300 signs 311
    assert (failure.action.id, failure.status) == ("b", 413)
    assert failure.reason == "it has 333 bytes, more than the server takes in one request"
    assert sorted(stub.rows) == ["a", "c"]


def test_refused_rows_are_named_with_their_reason_and_the_rest_is_written(stub, cluster, pauses):
    stub.refused["b"] = WRONG
    stub.mishaps.append(
        lambda items: stub.take(items, {"d": BUSY, "c": (409, {"reason": "version conflict"})})
    )
    failures = send(cluster, rows(*"abcde"))
    assert {(f.action.id, f.status, f.reason) for f in failures} == {
        ("b", 400, "document_parsing_exception: failed to parse; dims differ"),
        ("c", 409, "version conflict"),
    }
    assert stub.sent == [["a", "b", "c", "d", "e"], ["d"]]
    assert sorted(stub.rows) == ["a", "d", "e"]
    assert len(pauses) == 1


def test_every_chunk_is_sent_when_an_earlier_one_had_refusals(stub, cluster):
    stub.refused["a"] = WRONG
    failures = send(cluster, rows(*"abcd"), chunk_actions=1)
    assert [failure.action.id for failure in failures] == ["a"]
    assert sorted(stub.rows) == ["b", "c", "d"]


def test_rows_to_remove_that_are_not_there_are_removed_and_rows_to_update_are_missing(stub, cluster):
    stub.rows["here"] = {"text": "x"}
    failures = send(
        cluster,
        [
            Action("delete", "rows", "here"),
            Action("delete", "rows", "nowhere"),
            Action("update", "rows", "nowhere", {"text": "y"}),
        ],
    )
    assert [(f.action.kind, f.missing) for f in failures] == [("update", True)]
    assert stub.rows == {}
    require(failures, "here")  # a row that is gone needs no change


def test_patience_ends_with_what_is_left_to_write(stub: Stub, cluster: Cluster, pauses: list[float]):
    stub.mishaps.extend([lambda items: stub.take(items, {"b": BUSY})] * 100)
    with pytest.raises(EngineUnavailable, match=r"busy \(429\): queue is full") as caught:
        send(cluster, rows("a", "b"))
    assert caught.value.facts["unwritten"] == 1
    assert caught.value.retryable
    assert 60 <= sum(pauses) <= 90  # the patience, and at most half as much again
    assert [round(p) for p in pauses[:1]] == [1]
    assert max(pauses) <= 15 * 1.5


@pytest.mark.slow
def test_progress_gives_the_patience_back(stub, cluster, pauses):
    """Sixty rows of which the server takes one at a time: each round is progress."""
    ids = [f"{number:02}" for number in range(60)]

    def one_only(items):
        return stub.take(items, {id_: BUSY for _, id_, _ in items[1:]})

    stub.mishaps.extend([one_only] * 60)
    assert send(cluster, rows(*ids)) == []
    assert sorted(stub.rows) == ids
    assert max(pauses) <= 0.75


def test_a_full_disk_is_said_at_once(stub, cluster, pauses):
    reason = "index [rows] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark]"
    stub.mishaps.append(
        lambda items: stub.take(items, {"a": (429, {"type": "cluster_block_exception", "reason": reason})})
    )
    with pytest.raises(EngineUnavailable, match="takes no writes") as caught:
        send(cluster, rows("a"))
    assert "disk" in caught.value.hint
    assert pauses == []


def test_an_index_that_was_removed_does_not_come_back(stub, cluster):
    gone = (404, {"type": "index_not_found_exception", "reason": "no such index [rows]"})
    stub.mishaps.append(lambda items: stub.take(items, {"a": gone}))
    with pytest.raises(MappingMismatch, match="no such index"):
        send(cluster, rows("a"))


def test_required_rows_that_are_refused_are_an_error(stub, cluster):
    stub.refused["a"] = WRONG
    with pytest.raises(
        WriteRefused, match=r"refused 1 rows\. First: 'a' of rows: document_parsing_exception"
    ):
        require(send(cluster, rows("a")), "here")
