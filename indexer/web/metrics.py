"""Figures for Prometheus: what the processes of this server have counted, and how the collection stands now.

The second is read at each scrape, and is the same in every process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from indexer.collection import Collection
from indexer.pipeline.drift_check import Drift

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where several processes count; prometheus_client has the name
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

REQUESTS = Counter("indexer_requests", "Requests that were answered.", ["route", "status"])
REQUEST_SECONDS = Histogram(
    "indexer_request_seconds",
    "Time that answers took.",
    ["route"],
    buckets=(0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5),
)


class CollectionFigures(Collector):
    """Looks at a collection when Prometheus does."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def collect(self) -> Iterator[GaugeMetricFamily]:
        status = self._collection.status()
        name = status.collection
        yield _gauge(
            "documents_in_state",
            "Documents by what has been done with them.",
            "state",
            name,
            status.documents,
        )
        yield _gauge("dead_letters", "What could not be processed, by stage.", "stage", name, status.dead)
        queues = {queue: depth for queue, depth in status.work.queues.items() if depth is not None}
        yield _gauge("queue_messages", "Messages that no worker has taken yet.", "queue", name, queues)
        batches = status.work.batches
        waiting = {str(step): number for step, number in batches.waiting.items()} | {
            "retrying": batches.delayed
        }
        yield _gauge("batches_waiting", "Batches of documents that no worker holds.", "step", name, waiting)
        yield _gauge("batches_held", "Batches of documents that a worker holds.", "step", name, batches.held)
        live = [g.number for g in self._collection.generations() if g.state == "live"]
        single = {
            "topics": ("Topics.", status.topics),
            "without_topic": ("Mined documents that have no topic.", status.without_topic),
            "bytes": ("Size of the collection.", status.engine.bytes),
            "generation": ("Number of the live generation.", live[0] if live else 0),
            "drift_new_documents": (
                "Documents that are new since topics were fitted or judged.",
                status.drift.new,
            ),
            "worth_a_retrain": ("1 when the collection has drifted far enough.", int(status.worth_a_retrain)),
        }
        for metric, (about, value) in single.items():
            yield _gauge(metric, about, "", name, {"": value})
        signs = "How unlike new documents are to old ones, beyond what old ones are to each other."
        yield _gauge("drift", signs, "sign", name, _signs(status.drift))


def _signs(drift: Drift) -> dict[str, float]:
    return {name: sign.more for name, sign in vars(drift.signs).items()} if drift.signs else {}


def _gauge(
    metric: str, about: str, label: str, collection: str, values: Mapping[Any, float]
) -> GaugeMetricFamily:
    """One figure, by the values of a label; or alone, without a label."""
    family = GaugeMetricFamily(
        f"indexer_{metric}", about, labels=["collection", label] if label else ["collection"]
    )
    for value, number in values.items():
        family.add_metric([collection, str(value)] if label else [collection], number)
    return family


def exposed(collection: Collection) -> bytes:
    """Everything, in Prometheus' text format."""
    counted, now = REGISTRY, CollectorRegistry()
    if SHARED_FOLDER in os.environ:
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    now.register(CollectionFigures(collection))
    return generate_latest(counted) + generate_latest(now)
