"""Our bulk path against the client's `helpers.streaming_bulk`: the same ready-made rows, in turns.

    python -m benchmarks.bulk --engine http://localhost:9200 --data articles.jsonl.gz --documents 10000

Rows are documents as the engine writes them, with a vector of random direction. Each way makes them into requests of the
same number of bytes and of rows at most, and fills a separate index, recreated each time, with its alias. Prints rows
a second of each round and the ratio of the medians: above 1, ours is the faster one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from elasticsearch import Elasticsearch
from elasticsearch.helpers import streaming_bulk

from benchmarks.corpus import SHIPPED, write_sample
from indexer.engines.elastic.bulk import CHUNK_ACTIONS, CHUNK_BYTES, Action, send
from indexer.engines.elastic.cluster import Cluster, connect
from indexer.engines.elastic.rows import DIGITS, Row, of_document
from indexer.readers import read
from indexer.records import Document
from mappings import load_mapping

INDEX, ALIAS = "bench-bulk-000001", "bench-bulk"
DIMS = 384


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", required=True, help="URL; the index bench-bulk is made and removed")
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rows = ready_made(arguments.data, arguments.documents)
    cluster = connect(arguments.engine)
    ways: dict[str, Callable[[], None]] = {
        "ours": lambda: ours(cluster, rows),
        "streaming_bulk": lambda: theirs(cluster.client, rows),
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(arguments.rounds + 1):
        for name in [*ways] if number % 2 else [*reversed(ways)]:
            seconds = filled(cluster.client, ways[name], len(rows))
            if number:  # the first round warms the server up
                speeds[name].append(len(rows) / seconds)
                print(f"{name:<16}{speeds[name][-1]:8,.0f} rows/s", flush=True)
    print(f"ratio           {median(speeds['ours']) / median(speeds['streaming_bulk']):8.3f}")


def ready_made(data: Path, number: int) -> list[Row]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "sample.jsonl"
        write_sample(data, number, file)
        documents = [found for found in read([file]) if isinstance(found, Document)]
    vectors = np.random.default_rng(0).normal(size=(len(documents), DIMS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        {**of_document(document), "vector": np.round(vector, DIGITS).tolist()}
        for document, vector in zip(documents, vectors, strict=True)
    ]


def filled(client: Elasticsearch, fill: Callable[[], None], number: int) -> float:
    """Seconds of filling an empty index; every row must be there afterwards."""
    client.indices.delete(index=INDEX, ignore_unavailable=True)
    client.indices.create(
        index=INDEX,
        aliases={ALIAS: {"is_write_index": True}},
        **load_mapping("documents", DIMS, language="plain"),
    )
    start = time.perf_counter()
    fill()
    seconds = time.perf_counter() - start
    client.indices.refresh(index=INDEX)
    there = client.count(index=INDEX)["count"]
    client.indices.delete(index=INDEX)
    if there != number:
        raise SystemExit(f"{there:,} of {number:,} rows are there.")
    return seconds


def ours(cluster: Cluster, rows: Sequence[Row]) -> None:
    if failures := send(cluster, (Action("index", ALIAS, row["id"], row) for row in rows)):
        raise SystemExit(f"{len(failures)} rows were refused: {failures[0].reason}")


def theirs(client: Elasticsearch, rows: Sequence[Row]) -> None:
    actions = ({"_index": ALIAS, "_id": row["id"], "_source": row} for row in rows)
    for _ in streaming_bulk(client, actions, chunk_size=CHUNK_ACTIONS, max_chunk_bytes=CHUNK_BYTES):
        pass


if __name__ == "__main__":
    main()
