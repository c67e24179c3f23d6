"""An HTTP server that answers as Elasticsearch does at its border: rows taken, refused, put off, or no answer at all.

Tests put what it is to do wrong into `Stub.mishaps`; each request uses up one. Rows that it took are in `Stub.rows`,
and can be read by id. An action for a state of a row that is not there any more is a conflict.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Item = tuple[str, str, Any]  # operation, id, body
Answer = tuple[int, Any]  # status, body


@dataclass
class Stub:
    """What was asked, what is stored, and what goes wrong next."""

    requests: list[list[Item]] = field(default_factory=list)
    heads: dict[str, dict[str, Any]] = field(default_factory=dict)  # id ► of the last action for it
    rows: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # id ► sequence number of the last write
    mishaps: deque[Callable[[list[Item]], Answer | None]] = field(default_factory=deque)
    refused: dict[str, dict[str, Any]] = field(default_factory=dict)  # id ► error, always
    largest: int = 10**9  # bytes of a request
    product: bool = True
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)  # of requests other than bulk

    @property
    def sent(self) -> list[list[str]]:
        """Ids of each request."""
        return [[id_ for _, id_, _ in items] for items in self.requests]

    def put(self, id_: str, row: Any) -> None:
        """Write a row, or remove it with None."""
        self.numbers[id_] = max(self.numbers.values(), default=-1) + 1
        if row is None:
            self.rows.pop(id_, None)
        else:
            self.rows[id_] = row

    def found(self, ids: list[str]) -> Answer:
        """Answer a request for rows by id."""
        known = [
            {"found": True, "_source": self.rows[id_], "_seq_no": self.numbers[id_], "_primary_term": 1}
            if id_ in self.rows
            else {"found": False}
            for id_ in ids
        ]
        return 200, {"docs": [{"_id": id_, **row} for id_, row in zip(ids, known, strict=True)]}

    def take(self, items: list[Item], put_off: dict[str, tuple[int, Any]] | None = None) -> Answer:
        """Carry out a bulk request, but for the items that are refused or put off."""
        results = []
        for kind, id_, body in items:
            status, error = 200, None
            if put_off and id_ in put_off:
                status, error = put_off[id_]
            elif id_ in self.refused:
                status, error = 400, self.refused[id_]
            elif kind == "update" and id_ not in self.rows:
                status, error = (
                    404,
                    {"type": "document_missing_exception", "reason": f"[{id_}]: document missing"},
                )
            elif self.heads[id_].get("if_seq_no", self.numbers.get(id_)) != self.numbers.get(id_):
                status, error = 409, {"type": "version_conflict_engine_exception", "reason": "another write"}
            elif kind == "delete":
                status = 200 if id_ in self.rows else 404
                self.put(id_, None)
            else:
                self.put(id_, self.rows[id_] | body["doc"] if kind == "update" else body)
            results.append({kind: {"_id": id_, "status": status} | ({"error": error} if error else {})})
        return 200, {"errors": True, "items": results}


def serve(stub: Stub) -> ThreadingHTTPServer:
    """A server for the stub on a free port; `serve_forever` is up to the caller."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            stub.headers.append(dict(self.headers))
            self.answer(stub.mishaps.popleft()([]) if stub.mishaps else (200, {}))

        def do_PUT(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            if len(data) > stub.largest:
                self.answer((413, None))
                return
            if "_mget" in self.path and not stub.mishaps:
                asked = json.loads(data)
                ids = asked.get("ids") or [row["_id"] for row in asked["docs"]]
                self.answer(stub.mishaps.popleft()([]) if stub.mishaps else stub.found(ids))
                return
            heads, items = _items(data) if "_bulk" in self.path else ({}, [])
            stub.heads |= heads
            stub.requests.append(items)
            if data and "_bulk" not in self.path and "_msearch" not in self.path:
                stub.bodies.append(json.loads(data))
            self.answer(stub.mishaps.popleft()(items) if stub.mishaps else stub.take(items))

        do_POST = do_DELETE = do_PUT

        def answer(self, answer: Answer | None) -> None:
            if answer is None:  # the line goes dead
                self.close_connection = True
                self.connection.close()
                return
            status, body = answer
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            if stub.product:
                self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def _items(data: bytes) -> tuple[dict[str, dict[str, Any]], list[Item]]:
    heads: dict[str, dict[str, Any]] = {}
    items: list[Item] = []
    lines = iter(data.splitlines())
    for line in lines:
        ((kind, head),) = json.loads(line).items()
        heads[head["_id"]] = head
        items.append((kind, head["_id"], None if kind == "delete" else json.loads(next(lines))))
    return heads, items
