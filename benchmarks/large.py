"""A large collection into Elasticsearch through workers: documents a second, memory of every program, sizes on disk.

    python -m benchmarks.large --data articles.jsonl.gz --documents 50000

Prints the documents done and the memory in use every minute, and at the end what there is of each kind of row, how large
it is, and whether every document is there once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.corpus import write_sample
from benchmarks.servers import DEFAULT, VERSIONS, Servers, servers

POLL_INTERVAL_S = 2.0  # seconds between two looks at the memory
SAY_EVERY = 60.0
COLLECTION = "large"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, required=True)
    parser.add_argument("--elasticsearch", choices=VERSIONS, default=DEFAULT)
    arguments = parser.parse_args()
    with servers(arguments.elasticsearch) as site:
        source = site.home / "sample.jsonl"
        write_sample(arguments.data, arguments.documents, source)
        with source.open() as lines:
            expected = sum(1 for _ in lines)
        indexed(site, source, expected)


def indexed(site: Servers, source: Path, expected: int) -> None:
    """Index the file through workers, and print what it took."""
    start = time.perf_counter()
    with site.workers() as workers:
        running = site.index(COLLECTION, source)
        most = watched(running, {"command": running.pid, "workers": workers.pid}, start)
        output, _ = running.communicate()
        if running.returncode:
            raise SystemExit(f"The command ended with {running.returncode}.")
    report = json.loads(output)
    print(json.dumps(report, indent=1))
    print(f"documents      {expected:>10,}  {expected / report['seconds']:8.2f} a second")
    for name, megabytes in sorted(most.items()):
        print(f"memory         {name:<28} {megabytes:8,.0f} MB at most")
    with site.opened(COLLECTION) as collection:
        status = collection.status()
        print(f"status         {status}")
    for row in sizes(site):
        print(
            f"index          {row['index']:<44} {int(row['docs.count']):>10,} rows {row['store.size']:>12} MB"
        )


def sizes(site: Servers) -> list[dict[str, str]]:
    """Every index of the server with its rows and megabytes."""
    from elasticsearch import Elasticsearch

    with Elasticsearch(site.elastic.url, request_timeout=120) as client:
        client.indices.refresh(index="*")
        found = client.cat.indices(
            index="*", format="json", bytes="mb", s="index", h=["index", "docs.count", "store.size"]
        )
        return [dict(row) for row in found]


def watched(running: subprocess.Popen[str], roots: dict[str, int], start: float) -> dict[str, float]:
    """Most megabytes in memory of each program and of all together, until the command ends."""
    most: dict[str, float] = defaultdict(float)
    said = 0.0
    while running.poll() is None:
        time.sleep(POLL_INTERVAL_S)
        now: dict[str, float] = defaultdict(float)
        for name, megabytes in resident(roots):
            now[name] += megabytes
        now["all"] = sum(now.values())
        for name, megabytes in now.items():
            most[name] = max(most[name], megabytes)
        seconds = time.perf_counter() - start
        if seconds - said >= SAY_EVERY:
            said = seconds
            using = ", ".join(f"{name} {megabytes:,.0f}" for name, megabytes in sorted(now.items()))
            print(f"{seconds:8.0f} s  MB: {using}", flush=True)
    return most


def resident(roots: dict[str, int]) -> Iterator[tuple[str, float]]:
    """Name and megabytes of each process that belongs to the run; the servers are known by what they are called."""
    for name, pid in roots.items():
        try:
            family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        except psutil.Error:
            continue
        for process in family:
            yield from _used(process, name)
    for process in psutil.process_iter():
        try:
            called = process.name()
        except psutil.Error:
            continue
        for server in ("java", "redis-server", "postgres"):
            if called.startswith(server):
                yield from _used(process, {"java": "elasticsearch"}.get(server, server))


def _used(process: psutil.Process, name: str) -> Iterator[tuple[str, float]]:
    try:
        if name == "workers":
            line = process.cmdline()
            kind = next((word for word in ("prepare", "encode", "maintain", "train") if word in line), "")
            name = f"workers: {kind}" if kind else "workers: other"
        yield name, process.memory_info().rss / 1e6
    except psutil.Error:  # it has just ended
        return


if __name__ == "__main__":
    main()
