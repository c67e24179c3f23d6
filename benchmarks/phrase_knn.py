"""Nearest phrases in Elasticsearch against exact search, on the phrase vectors of a collection.

    python -m benchmarks.phrase_knn --engine http://localhost:9200 --home .indexer

Takes the phrase rows of a collection, of the embedded engine unless `--source` names a server, puts them into one index
for each way of searching, and asks with phrases of the collection, drawn with a fixed seed and moved a little, so that no
query is a row. Recall@10 counts a row as right when its exact score is not below the tenth best one: equal scores count
as equal. Latency is of single searches of 8 clients at once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from indexer.collection import Collection
from indexer.common import batches
from indexer.engines.base import Engine

INDEX = "bench-knn"
K = 10
CLIENTS = 8
TIE = 1e-5  # cosines nearer than this are equal: the server keeps 7 digits
NOISE = 0.25  # length of what is added to a unit vector

# name ► type of index, and how many times as many rows are scored again in full precision (0: none)
WAYS = {
    "int8_hnsw": ("int8_hnsw", 2.0),
    "int8_hnsw, not scored again": ("int8_hnsw", 0.0),
    "int8_flat": ("int8_flat", 2.0),
    "int4_hnsw": ("int4_hnsw", 3.0),
    "bbq_hnsw": ("bbq_hnsw", 3.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--engine", required=True, help="URL of an Elasticsearch; indices bench-knn-* are made and removed"
    )
    parser.add_argument("--source", default="local", help="engine that the collection is in")
    parser.add_argument("--home", type=Path, required=True, help="home of the collection")
    parser.add_argument("--collection", default="main")
    parser.add_argument("--most", type=int, default=10**9, help="phrases to take at most")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--candidates", type=int, default=200, help="rows that a graph search looks at")
    arguments = parser.parse_args()
    opened = {"home": arguments.home, "engine": arguments.source, "collection": arguments.collection}
    with Collection.open(create=False, **opened) as collection:
        vectors = phrase_vectors(collection.engine, arguments.most)
    queries = moved(vectors, arguments.queries)
    least = tenth_best(vectors, queries)
    print(f"{len(vectors):,} phrases of {vectors.shape[1]} numbers, {len(queries)} queries, k {K}, "
          f"{arguments.candidates} candidates, {CLIENTS} clients")  # fmt: skip
    print(f"{'way':<30}{'recall@10':>10}{'p50 ms':>9}{'p99 ms':>9}{'MB':>8}{'load s':>8}")
    client = Elasticsearch(arguments.engine, request_timeout=120)
    made = ""
    for name, (kind, oversample) in WAYS.items():
        if kind != made:
            if made:
                client.indices.delete(index=f"{INDEX}-{made}")
            seconds = load(client, f"{INDEX}-{kind}", kind, vectors)
            made = kind
        found, times = searched(client, f"{INDEX}-{kind}", queries, arguments.candidates, oversample)
        recall = np.mean(
            [
                right(vectors, query, rows, bound)
                for query, rows, bound in zip(queries, found, least, strict=True)
            ]
        )
        stats = client.indices.stats(index=f"{INDEX}-{kind}", metric="store")
        size = stats["_all"]["total"]["store"]["size_in_bytes"] / 1e6
        p50, p99 = np.percentile(times, [50, 99]) * 1000
        print(f"{name:<30}{recall:>10.4f}{p50:>9.1f}{p99:>9.1f}{size:>8.1f}{seconds:>8.1f}", flush=True)
    client.indices.delete(index=f"{INDEX}-{made}")


def phrase_vectors(engine: Engine, most: int) -> np.ndarray:
    """float32 [phrases, dims], each of length 1."""
    ids = islice(engine.phrase_ids(), most)
    found = [row.vector for some in batches(ids, 1_000) for row in engine.phrases(some)]
    return np.stack(found).astype(np.float32)


def moved(vectors: np.ndarray, number: int) -> np.ndarray:
    """Queries: rows with a little noise."""
    chance = np.random.default_rng(0)
    rows = vectors[chance.choice(len(vectors), number, replace=False)]
    noise = chance.normal(size=rows.shape)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    rows = rows + noise
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def tenth_best(vectors: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The exact cosine of the tenth nearest row of each query."""
    scores = np.concatenate(
        [np.partition(some @ vectors.T, -K, axis=1)[:, -K] for some in np.array_split(queries, 20)]
    )
    return np.asarray(scores)


def right(vectors: np.ndarray, query: np.ndarray, rows: list[int], bound: float) -> float:
    return float(np.sum(vectors[rows] @ query >= bound - TIE)) / K


def load(client: Elasticsearch, index: str, kind: str, vectors: np.ndarray) -> float:
    client.options(ignore_status=404).indices.delete(index=index)
    options: dict[str, Any] = {"type": kind} | (
        {"m": 16, "ef_construction": 100} if kind.endswith("hnsw") else {}
    )
    vector = {
        "type": "dense_vector",
        "dims": vectors.shape[1],
        "similarity": "cosine",
        "index_options": options,
    }
    client.indices.create(
        index=index,
        settings={"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"},
        mappings={"dynamic": "strict", "properties": {"vector": vector}},
    )
    start = time.perf_counter()

    def rows() -> Iterator[dict[str, Any]]:
        for number, vector in enumerate(vectors):
            yield {"_index": index, "_id": str(number), "vector": np.round(vector.astype(float), 7).tolist()}

    bulk(client, rows(), chunk_size=500)
    client.indices.refresh(index=index)
    return time.perf_counter() - start


def searched(
    client: Elasticsearch, index: str, queries: np.ndarray, candidates: int, oversample: float
) -> tuple[list[list[int]], list[float]]:
    """Rows found for each query, and seconds of each search."""

    def one(query: np.ndarray) -> tuple[list[int], float]:
        knn: dict[str, Any] = {
            "field": "vector",
            "query_vector": query.tolist(),
            "k": K,
            "num_candidates": candidates,
        }
        if oversample:
            knn["rescore_vector"] = {"oversample": oversample}
        start = time.perf_counter()
        answer = client.search(index=index, knn=knn, size=K, source=False, track_total_hits=False)
        return [int(hit["_id"]) for hit in answer["hits"]["hits"]], time.perf_counter() - start

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one, queries[:100]))  # to warm up
        answers = list(pool.map(one, queries))
    return [rows for rows, _ in answers], [seconds for _, seconds in answers]


if __name__ == "__main__":
    main()
