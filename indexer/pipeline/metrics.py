"""What is counted and timed where it happens, for Prometheus; `indexer.web.metrics` and workers show it."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from indexer.catalog.entries import Stage

DOCUMENTS = Counter("indexer_documents", "Documents that a stage is through with.", ["stage", "result"])
BATCH_DOCUMENTS = Histogram(
    "indexer_batch_documents", "Documents that were encoded together.", buckets=(1, 2, 4, 8, 16, 32, 64)
)
ENCODE_SECONDS = Histogram(
    "indexer_encode_seconds",
    "Time that encoding a batch took.",
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100),
)
SEARCH_SECONDS = Histogram(
    "indexer_search_seconds",
    "Time that a search took.",
    ["mode"],
    buckets=(0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
)


def through(stage: Stage, done: int, failed: int = 0) -> None:
    """Count documents that a stage is through with."""
    DOCUMENTS.labels(stage, "done").inc(done)
    DOCUMENTS.labels(stage, "failed").inc(failed)
