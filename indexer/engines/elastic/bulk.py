"""Bulk writes with retries, splits and backoff that the client's helpers lack.

When `send` returns, every action was either executed or is in the list of failures, with its reason. An action may have
been executed twice (after a lost connection), which is harmless because this program sets the ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from indexer.engines.elastic.cluster import RETRY_STATUS, TOO_LARGE, Cluster, explained, reason_of
from indexer.errors import EngineUnavailable, SearchError, WriteRefused

CHUNK_BYTES = 5_000_000  # of one request; servers take 100 MB, but work best on much less
CHUNK_ACTIONS = 2_000
CONFLICTS = 3  # retries by the server of an update that meets a concurrent one

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


Guard = tuple[int, int]  # sequence number and primary term of the row when it was read


def guard_of(row: Mapping[str, Any]) -> Guard:
    """Return the version of a row, from a hit or from an item of an answer to `mget`."""
    return row["_seq_no"], row["_primary_term"]


@dataclass(frozen=True)
class Action:
    """One row to write or remove. `update` replaces the fields of `body` in an existing row.

    Attributes:
        guard: Version that the row must have; otherwise the action fails as a conflict.
        ours: The index has an alias of this program; nothing is written when the alias is missing.
        routing: Of a row in a user's index.
    """

    kind: Literal["index", "update", "delete"]
    index: str
    id: str
    body: Mapping[str, Any] | None = None
    guard: Guard | None = None
    ours: bool = True
    routing: str | None = None


@dataclass(frozen=True)
class BulkFailure:
    """An action that was not executed."""

    action: Action
    status: int
    reason: str

    @property
    def missing(self) -> bool:
        """The row does not exist."""
        return self.status == 404

    @property
    def conflict(self) -> bool:
        """The row has another version; perhaps our own write succeeded and its answer was lost."""
        return self.status == 409


@dataclass(frozen=True)
class _Lines:
    action: Action
    data: bytes


def send(
    cluster: Cluster,
    actions: Iterable[Action],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    chunk_actions: int = CHUNK_ACTIONS,
) -> list[BulkFailure]:
    """Execute actions chunk by chunk; reads the iterable once and holds one chunk, of one index.

    Rows that a busy server rejects are sent again without the others; a request that is too large is split; requests to
    an unavailable server are retried.

    Returns:
        The failures. Removing a missing row is a success.

    Raises:
        EngineUnavailable: The retries of `cluster` are used up; `facts["unwritten"]` counts the rest of the chunk.
    """
    failures: list[BulkFailure] = []
    for chunk in _chunks(actions, chunk_bytes, chunk_actions):
        failures += _deliver(cluster, chunk)
    return failures


def _chunks(actions: Iterable[Action], max_bytes: int, max_actions: int) -> Iterator[list[_Lines]]:
    chunk: list[_Lines] = []
    size = 0
    for action in actions:
        lines = _encoded(action)
        full = size + len(lines.data) > max_bytes or len(chunk) == max_actions
        if chunk and (full or action.index != chunk[0].action.index):
            yield chunk
            chunk, size = [], 0
        chunk.append(lines)
        size += len(lines.data)
    if chunk:
        yield chunk


def _encoded(action: Action) -> _Lines:
    head: dict[str, Any] = {"_id": action.id}
    if action.guard is not None:
        head["if_seq_no"], head["if_primary_term"] = action.guard
    elif action.kind == "update":
        head["retry_on_conflict"] = CONFLICTS
    if not action.ours:
        head["require_alias"] = False
        if action.kind == "index":
            head["pipeline"] = "_none"  # the row has passed through it before
    if action.routing is not None:
        head["routing"] = action.routing
    lines = [_ENCODER.encode({action.kind: head})]
    if action.body is not None:
        lines.append(_ENCODER.encode({"doc": action.body} if action.kind == "update" else action.body))
    return _Lines(action, "\n".join(lines).encode("utf-8"))


def _deliver(cluster: Cluster, chunk: Sequence[_Lines]) -> list[BulkFailure]:
    failures: list[BulkFailure] = []
    retry = cluster.retry_policy()
    waiting = list(chunk)
    while waiting:
        try:
            items = _post(cluster, waiting)
        except EngineUnavailable as error:
            error.facts["unwritten"] = len(waiting)
            retry.wait(error)
            continue
        except SearchError as error:
            if error.facts.get("status") != TOO_LARGE:
                raise
            if len(waiting) == 1:
                reason = f"it has {len(waiting[0].data):,} bytes, more than the server takes in one request"
                return [*failures, BulkFailure(waiting[0].action, TOO_LARGE, reason)]
            middle = len(waiting) // 2
            return [*failures, *_deliver(cluster, waiting[:middle]), *_deliver(cluster, waiting[middle:])]
        again, refused, problem = _evaluate(cluster, waiting, items)
        failures += refused
        if problem is not None:
            if len(again) < len(waiting):
                retry.reset()
            problem.facts["unwritten"] = len(again)
            retry.wait(problem)
        waiting = again
    return failures


def _post(cluster: Cluster, lines: Sequence[_Lines]) -> list[Any]:
    # `require_alias`: a collection that was removed concurrently must not be recreated without its mappings.
    operations: Any = [
        line.data for line in lines
    ]  # the client accepts encoded lines, which it does not document
    index = lines[0].action.index
    answer = cluster.once(cluster.client.bulk, index=index, operations=operations, require_alias=True)
    return list(answer["items"])


def _evaluate(
    cluster: Cluster, lines: Sequence[_Lines], items: Sequence[Any]
) -> tuple[list[_Lines], list[BulkFailure], EngineUnavailable | None]:
    """Return the lines to send again, the failures, and the reason for the first retry."""
    again: list[_Lines] = []
    refused: list[BulkFailure] = []
    problem: EngineUnavailable | None = None
    for line, item in zip(lines, items, strict=True):
        result = item[line.action.kind]
        status = int(result["status"])
        error = result.get("error")
        if status < 300 or (status == 404 and line.action.kind == "delete" and error is None):
            continue
        if error and error.get("type") == "index_not_found_exception":
            raise explained(cluster.where, status, {"error": error})
        if status in RETRY_STATUS or (error and error.get("type") == "cluster_block_exception"):
            found = explained(cluster.where, status, {"error": error})
            if not isinstance(found, EngineUnavailable):
                raise found
            again.append(line)
            problem = problem or found
        else:
            refused.append(BulkFailure(line.action, status, reason_of(error)))
    return again, refused, problem


def require(failures: Sequence[BulkFailure], where: str) -> None:
    """Raise for failures; rows that were removed concurrently do not count.

    Raises:
        WriteRefused: The message has the first reason.
    """
    real = [failure for failure in failures if not failure.missing]
    if real:
        first = real[0]
        raise WriteRefused(
            f"The server at {where} refused {len(real)} rows. First: '{first.action.id}' of "
            f"{first.action.index}: {first.reason}.",
            hint="Compare the reason with mappings/README.md.",
        )
