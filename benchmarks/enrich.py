"""Enrich an index while another client writes to it and deletes from it; none of its changes may be lost or undone.

    python -m benchmarks.enrich --engine http://localhost:9200 --data articles.jsonl.gz --documents 20000

Creates the index `bench-enrich` directly, starts `indexer enrich` in a separate process and concurrently changes numbers,
changes texts, replaces whole documents, deletes some and adds some. Then compares every document with what was written
last, runs `indexer enrich` once more, and takes everything back with `--undo`. Exits with 1 when one is not as it must
be.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk, scan

INDEX = "bench-enrich"
OURS = "indexer"
MAPPING = {
    "dynamic": "strict",
    "properties": {
        "headline": {"type": "text"},
        "body": {"type": "text"},
        "views": {"type": "integer"},
        "price": {"type": "double"},
        "tags": {"type": "keyword"},
    },
}
KINDS = ("number", "number", "number", "text", "whole", "delete", "add")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--engine", required=True, help="URL of an Elasticsearch; the index bench-enrich is recreated there"
    )
    parser.add_argument("--data", type=Path, required=True, help="JSON Lines with title and text, .gz or not")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--writes", type=float, default=20.0, help="writes of the other process a second")
    arguments = parser.parse_args()
    client = Elasticsearch(arguments.engine, request_timeout=60)
    with tempfile.TemporaryDirectory() as home:
        records = list(islice(read(arguments.data), arguments.documents + 2_000))
        there = made(client, records[: arguments.documents])
        command = [sys.executable, "-m", "indexer.cli", "--home", home, "--engine", arguments.engine]
        environment = {**os.environ, "INDEXER_INDEX_PREFIX": "bench"}
        start = time.perf_counter()
        fields = ["--text-field", "body", "--title-field", "headline"]
        running = subprocess.Popen([*command, "enrich", INDEX, *fields], env=environment)
        done = disturb(client, there, records[arguments.documents :], running, arguments.writes)
        print(f"enrich            {time.perf_counter() - start:,.0f} s, exit {running.returncode}")
        print(f"concurrently      {', '.join(f'{n:,} {kind}' for kind, n in sorted(done.items()))}")
        wrong = compared(client, there, "after enrich")
        start = time.perf_counter()
        subprocess.run([*command, "enrich", INDEX, *fields], env=environment, check=True)
        print(f"once more         {time.perf_counter() - start:,.0f} s")
        wrong += compared(client, there, "after both")
        wrong += lacking(client)
        start = time.perf_counter()
        subprocess.run([*command, "enrich", INDEX, "--undo"], env=environment, check=True)
        print(f"undo              {time.perf_counter() - start:,.0f} s")
        expected, found = hashed(there.items()), hashed(sources(client))
        print(
            f"sources           {'equal' if expected == found else 'NOT EQUAL'}: {found[:16]} of {len(there):,} documents"
        )
    clear(client, arguments.engine)
    sys.exit(bool(wrong or running.returncode or expected != found))


def read(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def row(record: dict[str, Any], number: int) -> dict[str, Any]:
    """A document as its owner writes it, with numbers that must come back as they are."""
    return {
        "headline": record["title"],
        "body": record["text"],
        "views": number,
        "price": number / 7,
        "tags": [f"t{number % 5}", "all"],
    }


def made(client: Elasticsearch, records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A new index, and its documents: id ► source."""
    client.options(ignore_status=404).indices.delete(index=INDEX)
    client.indices.create(
        index=INDEX, settings={"number_of_shards": 2, "number_of_replicas": 0}, mappings=MAPPING
    )
    there = {record["id"]: row(record, number) for number, record in enumerate(records)}
    bulk(client, ({"_index": INDEX, "_id": id_, "_source": source} for id_, source in there.items()))
    client.indices.refresh(index=INDEX)
    return there


def disturb(
    client: Elasticsearch,
    there: dict[str, dict[str, Any]],
    spare: list[dict[str, Any]],
    running: subprocess.Popen[bytes],
    rate: float,
) -> Counter[str]:
    """Write like an unrelated client until the run is over; `there` holds the expected documents."""
    chance = random.Random(0)
    done: Counter[str] = Counter()
    ids = list(there)
    while running.poll() is None:
        time.sleep(1 / rate)
        kind, id_ = chance.choice(KINDS), chance.choice(ids)
        if id_ not in there:
            continue
        if kind == "number":
            change = {"views": there[id_]["views"] + 1_000_000}
        elif kind == "text":
            change = {"body": f"{there[id_]['body']} This sentence number {sum(done.values())} is new."}
        elif kind == "delete":
            client.delete(index=INDEX, id=id_)
            del there[id_]
            done[kind] += 1
            continue
        elif kind == "add" and spare:
            record = spare.pop()
            id_, there[record["id"]] = record["id"], row(record, sum(done.values()))
            client.index(index=INDEX, id=id_, document=there[id_])
            done[kind] += 1
            continue
        else:
            there[id_] = {**there[id_], "views": -1}
            client.index(index=INDEX, id=id_, document=there[id_])
            done["whole"] += 1
            continue
        client.update(index=INDEX, id=id_, doc=change)
        there[id_] = {**there[id_], **change}
        done[kind] += 1
    return done


def sources(client: Elasticsearch) -> Iterator[tuple[str, dict[str, Any]]]:
    client.indices.refresh(index=INDEX)
    for hit in scan(client, index=INDEX):
        yield hit["_id"], hit["_source"]


def compared(client: Elasticsearch, there: dict[str, dict[str, Any]], when: str) -> int:
    """How many documents are not what was written last, apart from our object."""
    found = {id_: source for id_, source in sources(client)}
    back = found.keys() - there.keys()
    lost = there.keys() - found.keys()
    other = [id_ for id_ in there.keys() & found.keys() if {**found[id_], OURS: 0} != {**there[id_], OURS: 0}]
    print(
        f"{when:<18}{len(found):,} documents: {len(back)} came back, {len(lost)} lost, {len(other)} updates lost"
    )
    return len(back) + len(lost) + len(other)


def lacking(client: Elasticsearch) -> int:
    """How many documents have not what they should have got."""
    without = [id_ for id_, source in sources(client) if not source.get(OURS, {}).get("keyphrases")]
    print(f"without keyphrases {len(without)}")
    return len(without)


def hashed(rows: Any) -> str:
    """One hash of all documents, their fields by name."""
    lines = sorted(json.dumps([id_, source], sort_keys=True) for id_, source in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def clear(client: Elasticsearch, engine: str) -> None:
    found = [*client.indices.get(index="bench-*", features="aliases")]
    if found:
        client.indices.delete(index=found)


if __name__ == "__main__":
    main()
