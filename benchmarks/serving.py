"""Searches through HTTP: how long `indexer serve` takes for its page and for its API while several people ask.

    python -m benchmarks.serving --home .indexer

Starts a server over a collection, on any engine, and asks it with leading phrases of topics and keyphrases of documents,
drawn with a fixed seed: by words, by meaning and both. Every client keeps its connection and asks again as soon as it is
answered. Times are those of the clients, on the same machine; each way of searching is tried before it is measured.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from benchmarks.table import Row, table
from indexer.collection import Collection

CLIENTS = 8
QUERIES = 200
DOCUMENTS = 500  # of which keyphrases are taken
WARM = 20  # requests before the measured ones
WAIT = 300.0  # seconds that the server may take until it is ready
WAYS = {"API": "/api/search", "page": "/"}
MODES = ("words", "meaning", "both")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True, help="home of the collection")
    parser.add_argument("--engine", default="local", help="where the collection is: local, or a URL")
    parser.add_argument("--collection", default="main")
    parser.add_argument("--requests", type=int, default=400, help="for each row of the table")
    arguments = parser.parse_args()
    opened = {"home": arguments.home, "engine": arguments.engine, "collection": arguments.collection}
    with Collection.open(create=False, **opened) as collection:
        queries = drawn(collection)
        documents = collection.engine.info().documents
    with serving(arguments) as port:
        print(f"{documents:,} documents, {CLIENTS} clients, {arguments.requests} requests a row")
        rows: list[Row] = []
        for way, path in WAYS.items():
            for mode in MODES:
                paths = [address(path, query, mode) for query in queries]
                rows.append({"": f"{way}, {mode}", **measured(port, paths, arguments.requests)})
        print(table(rows))
        print(
            f"a page of results with all that it loads: {weight(port, queries[0]) / 1000:.0f} kB, uncompressed"
        )


def drawn(collection: Collection) -> list[str]:
    """What to ask with."""
    some = islice(collection.documents(), DOCUMENTS)
    keyphrases = [k.text for stored in some for k in stored.keyphrases[:3]]
    leading = [phrase for topic in collection.topics() for phrase in topic.phrases[:3]]
    known = sorted({*keyphrases, *leading})
    return random.Random(0).sample(known, min(QUERIES, len(known)))


def address(path: str, query: str, mode: str) -> str:
    return f"{path}?{urlencode({'q': query, 'mode': mode})}"


@contextmanager
def serving(arguments: argparse.Namespace) -> Iterator[int]:
    """A server in a separate process; yields its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    options = [
        f"--home={arguments.home}",
        f"--engine={arguments.engine}",
        f"--collection={arguments.collection}",
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "indexer.cli", *options, "serve", f"--port={port}"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        until = time.monotonic() + WAIT
        while not ready(port):
            if server.poll() is not None or time.monotonic() > until:
                raise SystemExit("The server does not become ready.")
            time.sleep(0.5)
        yield port
    finally:
        server.terminate()
        server.wait(30)


def ready(port: int) -> bool:
    try:
        return ask(HTTPConnection("127.0.0.1", port, timeout=30), "/health/ready")[0] == 200
    except OSError:
        return False


def ask(connection: HTTPConnection, path: str) -> tuple[int, int]:
    """Status, and bytes of the body."""
    connection.request("GET", path, headers={"Accept": "text/html, application/json"})
    answer = connection.getresponse()
    return answer.status, len(answer.read())


def measured(port: int, paths: Sequence[str], requests: int) -> Row:
    """Times of requests by several clients at once."""
    requested = [paths[at % len(paths)] for at in range(requests)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda path: timed(port, [path]), requested[:WARM]))
        start = time.perf_counter()
        times = [
            t
            for some in pool.map(lambda at: timed(port, requested[at::CLIENTS]), range(CLIENTS))
            for t in some
        ]
        seconds = time.perf_counter() - start
    p50, p99 = 1000 * np.percentile(times, [50, 99])
    return {"p50 ms": float(p50), "p99 ms": float(p99), "requests/s": requests / seconds}


def timed(port: int, paths: Sequence[str]) -> list[float]:
    """Seconds that each answer took, over one connection."""
    connection, times = HTTPConnection("127.0.0.1", port, timeout=60), []
    for path in paths:
        start = time.perf_counter()
        status, _ = ask(connection, path)
        times.append(time.perf_counter() - start)
        if status != 200:
            raise SystemExit(f"{path} was answered with {status}.")
    connection.close()
    return times


def weight(port: int, query: str) -> int:
    """Bytes of a page of results, its style, its script and its icon."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    parts = [address("/", query, "both"), "/static/style.css", "/static/page.js", "/static/icon.svg"]
    return sum(ask(connection, part)[1] for part in parts)


if __name__ == "__main__":
    main()
