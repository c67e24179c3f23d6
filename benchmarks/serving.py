"""Searches through HTTP: how long `indexer serve` takes for its page and for its API while one or several people ask.

    python -m benchmarks.serving --home .indexer
    python -m benchmarks.serving --home .indexer --workers 2 --before ../older-checkout

Starts a server over a collection, on any engine, and asks it with leading phrases of topics and keyphrases of documents,
drawn with a fixed seed: by words, by meaning and both. Every client keeps its connection and asks again as soon as it is
answered. Times are those of the clients, on the same machine; each way of searching is tried before it is measured.

With --before, a server of another checkout (one process) takes turns with this one, and their answers are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.table import Row, table
from indexer.collection import Collection

CLIENTS = (1, 8)
QUERIES = 200
DOCUMENTS = 500  # of which keyphrases are taken
WARM = 100  # requests before the measured ones
COMPARED = 50  # answers
SETTLE = 5.0  # seconds between being ready and the first request: a server reads ahead
WAIT = 300.0  # seconds that the server may take until it is ready
WAYS = {"API": "/api/search", "page": "/"}
MODES = ("words", "meaning", "both")
HERE = Path(__file__).parents[1]

Times = dict[tuple[str, str, int], list[Row]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True, help="home of the collection")
    parser.add_argument("--engine", default="local", help="where the collection is: local, or a URL")
    parser.add_argument("--collection", default="main")
    parser.add_argument("--requests", type=int, default=400, help="for each row of the table")
    parser.add_argument(
        "--rounds", type=int, default=3, help="times that each server is started and measured"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes of the server")
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    arguments = parser.parse_args()
    opened = {"home": arguments.home, "engine": arguments.engine, "collection": arguments.collection}
    with Collection.open(create=False, **opened) as collection:
        queries = drawn(collection)
        documents = collection.engine.info().documents
    servers = {f"{arguments.workers} processes": (HERE, [f"--workers={arguments.workers}"])}
    if arguments.before:
        servers["before"] = (arguments.before, [])
    print(f"{documents:,} documents, {arguments.requests} requests a row, {arguments.rounds} rounds")
    times: dict[str, Times] = {name: defaultdict(list) for name in servers}
    answers: dict[str, list[Any]] = {}
    for _ in range(arguments.rounds):
        for name, (checkout, options) in servers.items():
            with serving(arguments, checkout, options) as port:
                for key, row in rows(port, queries, arguments.requests):
                    times[name][key].append(row)
                answers[name] = [answered(port, query) for query in queries[:COMPARED]]
    for name, found in times.items():
        print(f"\n{name}\n{table([{'': label(key), **summary(some)} for key, some in found.items()])}")
    if arguments.before:
        compare(times, answers)


def rows(port: int, queries: Sequence[str], requests: int) -> Iterator[tuple[tuple[str, str, int], Row]]:
    """Measure each way of searching with each number of clients."""
    for way, path in WAYS.items():
        for mode in MODES:
            paths = [address(path, query, mode) for query in queries]
            for clients in CLIENTS:
                yield (way, mode, clients), measured(port, paths, requests, clients)


def label(key: tuple[str, str, int]) -> str:
    way, mode, clients = key
    return f"{way}, {mode}, {clients} client{'s'[: clients - 1]}"


def summary(rounds: Sequence[Row]) -> Row:
    """The median of all rounds, and the least and the most requests a second."""
    rates = [float(row["requests/s"]) for row in rounds]
    medians = {name: float(np.median([float(row[name]) for row in rounds])) for name in rounds[0]}
    return {**medians, "from": min(rates), "to": max(rates)}


def compare(times: dict[str, Times], answers: dict[str, list[Any]]) -> None:
    """Print how many times as many requests a second, round by round, and how many answers differ."""
    now, before = times.values()
    ratios = []
    for key, some in now.items():
        each = [
            float(a["requests/s"]) / float(b["requests/s"]) for a, b in zip(some, before[key], strict=True)
        ]
        ratios.append({"": label(key), "times": float(np.median(each)), "from": min(each), "to": max(each)})
    print(f"\nrequests a second, now by before\n{table(ratios)}")
    for mode in MODES:
        alone, several = now["API", mode, CLIENTS[0]], now["API", mode, CLIENTS[-1]]
        gain = [float(b["requests/s"]) / float(a["requests/s"]) for a, b in zip(alone, several, strict=True)]
        print(
            f"{CLIENTS[-1]} clients by one, API, {mode}: {np.median(gain):.2f} ({min(gain):.2f} to {max(gain):.2f})"
        )
    differ = sum(a != b for a, b in zip(*answers.values(), strict=True))
    print(f"answers that differ: {differ} of {COMPARED}")


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
def serving(arguments: argparse.Namespace, checkout: Path, more: Sequence[str]) -> Iterator[int]:
    """A server of a checkout in separate processes; yields its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    options = [
        f"--home={arguments.home}",
        f"--engine={arguments.engine}",
        f"--collection={arguments.collection}",
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "indexer.cli", *options, "serve", f"--port={port}", *more],
        stdout=subprocess.DEVNULL,
        cwd=checkout,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(checkout.resolve())},
    )
    try:
        until = time.monotonic() + WAIT
        while not ready(port):
            if server.poll() is not None or time.monotonic() > until:
                raise SystemExit("The server does not become ready.")
            time.sleep(0.5)
        time.sleep(SETTLE)
        yield port
    finally:
        server.terminate()
        server.wait(30)


def ready(port: int) -> bool:
    try:
        return ask(HTTPConnection("127.0.0.1", port, timeout=30), "/health/ready")[0] == 200
    except OSError:
        return False


def ask(connection: HTTPConnection, path: str) -> tuple[int, bytes]:
    """Status and body."""
    connection.request("GET", path, headers={"Accept": "text/html, application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def answered(port: int, query: str) -> Any:
    """What the API finds by words and by meaning."""
    return json.loads(
        ask(HTTPConnection("127.0.0.1", port, timeout=60), address(WAYS["API"], query, "both"))[1]
    )


def measured(port: int, paths: Sequence[str], requests: int, clients: int) -> Row:
    """Times of requests by several clients at once."""
    requested = [paths[at % len(paths)] for at in range(requests)]
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda at: timed(port, requested[at:WARM:clients]), range(clients)))
        start = time.perf_counter()
        times = [
            t
            for some in pool.map(lambda at: timed(port, requested[at::clients]), range(clients))
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


if __name__ == "__main__":
    main()
