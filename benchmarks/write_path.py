"""What indexing through Elasticsearch costs beside the embedded engine: the same documents, one run after the other.

    python -m benchmarks.write_path --data articles.jsonl.gz --documents 5000

Three ways: the embedded engine; Elasticsearch with one process; Elasticsearch with workers, PostgreSQL and Redis, which
are started before the clock runs. Prints documents a second as the command reports them, its stages, CPU seconds of each
program, bytes sent to the server for each byte of source, bytes on disk for each document, and change marks that
are left over.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil
from elasticsearch import Elasticsearch

from benchmarks.corpus import SHIPPED, write_sample
from benchmarks.servers import VERSIONS, Servers, servers
from benchmarks.table import Row, table

WARM = 64  # documents of the run before the clock: it measures the backends, once in a home
STAGES = ("mine", "fit topics", "assign", "consolidate")
EMBEDDED, ALONE, WORKERS = "embedded", "Elasticsearch", "Elasticsearch, workers"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--elasticsearch", type=versions, default=["8.19", "9.2"], help=",".join(VERSIONS))
    parser.add_argument("--ways", type=lambda text: text.split(","), default=["embedded", "alone", "workers"])
    arguments = parser.parse_args()
    for version in arguments.elasticsearch:
        print(f"Elasticsearch {version}")
        compare(version, arguments)


def versions(text: str) -> list[str]:
    """Read the versions of an option."""
    chosen = text.split(",")
    if unknown := set(chosen) - set(VERSIONS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: choose from {', '.join(VERSIONS)}")
    return chosen


def compare(version: str, arguments: argparse.Namespace) -> None:
    """Index the same documents in each way, one after the other, and print the table."""
    with servers(version, {"http.client_stats.closed_channels.max_age": "2h"}) as site:
        source, warm = site.home / "sample.jsonl", site.home / "warm.jsonl"
        write_sample(arguments.data, arguments.documents, source)
        write_sample(arguments.data, WARM, warm)
        rows = []
        if "embedded" in arguments.ways:
            site.more = {"INDEXER_ENGINE": "local", "INDEXER_DATABASE": ""}
            rows.append({"": EMBEDDED} | measured(site, source, warm, "embedded", workers=False))
            site.more = {}
        for way, name in (("alone", ALONE), ("workers", WORKERS)):
            if way in arguments.ways:
                rows.append({"": name} | measured(site, source, warm, way, workers=way == "workers"))
    for row in rows[1:]:
        row["by embedded"] = row["documents/s"] / rows[0]["documents/s"]
    print(table(rows))


def measured(site: Servers, source: Path, warm: Path, collection: str, *, workers: bool) -> Row:
    """Index the file into a new collection."""
    with site.workers() if workers else nullcontext() as running:
        index(site, f"warm-{collection}", warm, workers)
        with cpu_seconds(running) as spent:
            before = received_bytes(site)
            report, command = index(site, collection, source, workers)
    documents = report["new"]
    row: Row = {"documents/s": documents / report["seconds"]}
    row |= {stage: report["stages"].get(stage) for stage in STAGES}
    row |= {"cpu command": command, "cpu workers": spent.get("workers"), "cpu server": spent["server"]}
    if collection == "embedded":
        folder = site.home / "collections" / collection
        row["kB/document"] = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e3 / documents
        return row
    row["sent/source"] = (received_bytes(site) - before) / source.stat().st_size
    with Elasticsearch(site.elastic.url, request_timeout=120) as client:
        names = f"indexer-{collection}-*"
        client.indices.refresh(index=names)
        client.indices.flush(index=names)
        stats = client.indices.stats(index=names, metric="store,docs")
        row["kB/document"] = stats["_all"]["total"]["store"]["size_in_bytes"] / 1e3 / documents
        for index_name, entry in sorted(stats["indices"].items()):
            size, count = entry["total"]["store"]["size_in_bytes"], entry["total"]["docs"]
            print(
                f"  {index_name:<45} {count['count']:>9,} rows {count['deleted']:>8,} deleted {size / 1e6:8.1f} MB"
            )
        row["marks left"] = sum(
            client.count(index=name)["count"] for name in stats["indices"] if "-changes-" in name
        )
    return row


def index(site: Servers, collection: str, source: Path, workers: bool) -> tuple[dict[str, Any], float]:
    """The report of the command, and its CPU seconds with those of its own processes."""
    before = os.times()
    running = site.index(collection, source, broker=workers)
    output, _ = running.communicate()
    after = os.times()
    if running.returncode:
        raise SystemExit(f"The command ended with {running.returncode}.")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(output), spent


@contextmanager
def cpu_seconds(workers: subprocess.Popen[bytes] | None) -> Iterator[dict[str, float]]:
    """CPU seconds of the server and of the workers inside the block."""
    programs = {"server": [p for p in psutil.process_iter() if p.name() == "java"]}
    if workers is not None:
        programs["workers"] = [
            psutil.Process(workers.pid),
            *psutil.Process(workers.pid).children(recursive=True),
        ]
    before = {name: _cpu(processes) for name, processes in programs.items()}
    spent: dict[str, float] = {}
    yield spent
    spent |= {name: _cpu(processes) - before[name] for name, processes in programs.items()}


def _cpu(processes: list[psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes if process.is_running()]
    return sum(one.user + one.system for one in times)


def received_bytes(site: Servers) -> int:
    """Bytes of all requests that the server has received; nearly all are those of the bulk interface.

    Its own count by route leaves out the bulk interface, whose requests it reads as a stream.
    """
    with Elasticsearch(site.elastic.url) as client:
        nodes = client.nodes.stats(metric="http")["nodes"]
    return sum(one["request_size_bytes"] for node in nodes.values() for one in node["http"]["clients"])


if __name__ == "__main__":
    main()
