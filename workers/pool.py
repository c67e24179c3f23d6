"""The workers as `indexer index` uses them: it enqueues documents, and waits until they are mined."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from time import sleep

from indexer.catalog import Catalog
from indexer.errors import InputError
from indexer.log import get_logger
from indexer.pipeline.run import MAX_PROBLEMS, RunReport
from indexer.pipeline.steps import CHUNK, shown
from indexer.protocols import Progress
from indexer.settings import Settings
from workers.messages import Sender, feed, messages
from workers.retry import retry_until_available

POLL_INTERVAL_S = 0.25
SWEEP_INTERVAL_S = 5.0
NO_WORKER_S = 20.0  # seconds without a busy worker, after which a warning is logged

logger = get_logger(__name__)


class CeleryWorkerPool:
    """The workers of one collection.

    Raises:
        BrokerUnavailable: They cannot be reached.
    """

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._sender = Sender(settings)
        self._sender.check()
        self._first: set[str] = set()

    def begin(self, report: RunReport, first: Sequence[str]) -> None:
        """Send the first batches, without waiting for the next maintenance.

        Args:
            first: Documents to be mined before the others.
        """
        self._first = set(first)
        made = self._catalog.create_batches_of(report.run, first, CHUNK)
        self._sender.send(self._catalog, messages("prepare", self._settings.collection, made))
        self._feed(report.run)
        report.left_to_workers = self._stored()

    def wait(
        self, report: RunReport, progress: Progress, after_first: Callable[[], None] | None = None
    ) -> None:
        """Feed the workers until every document of the run is done, and add their counts to the report.

        When this process dies, a maintenance worker finishes the run.

        Args:
            after_first: Called when the first documents are mined; the workers continue with the others.
        """
        pending = retry_until_available(self._stored)
        swept = last_seen = time.monotonic()
        warned = False
        while True:
            retry_until_available(lambda: self._feed(report.run))
            if after_first and self._first and not retry_until_available(self._waits_for_first):
                self._first = set()
                retry_until_available(after_first)  # a fit that was saved is found again
            if time.monotonic() - swept > SWEEP_INTERVAL_S:
                retry_until_available(lambda: self._sender.sweep(self._catalog))
                swept = time.monotonic()
            counts = retry_until_available(lambda: self._catalog.run(report.run)).counts
            done = counts.get("mined", 0) + counts.get("failed", 0) - report.failed
            if retry_until_available(lambda: self._catalog.is_complete(report.run)):
                break
            if any(
                retry_until_available(lambda: self._catalog.work(self._settings.collection)).held.values()
            ):
                last_seen = time.monotonic()
            alone = time.monotonic() - last_seen > NO_WORKER_S
            if alone and not warned:
                logger.warning("no_worker", seconds=NO_WORKER_S, hint="Start one: indexer worker")
                warned = True
            progress("mine: no worker is busy" if alone else "mine", done, pending)
            sleep(POLL_INTERVAL_S)
        self._complete(report)

    def _feed(self, run: str) -> None:
        settings = self._settings
        feed(self._catalog, self._sender, run, settings.collection, settings.batches_ahead)

    def _waits_for_first(self) -> bool:
        return not self._first.isdisjoint(self._catalog.batched_ids(self._settings.collection))

    def _stored(self) -> int:
        return self._catalog.count(self._settings.collection)["stored"]

    def _complete(self, report: RunReport) -> None:
        """Add the workers' counts and failures to the report."""
        run = retry_until_available(lambda: self._catalog.run(report.run))
        report.left_to_workers = 0
        report.mined = run.counts.get("mined", 0)
        report.bundle = run.counts.get("bundle", "")
        report.failed = run.counts.get("failed", 0)
        failures = [
            failure
            for failure in retry_until_available(lambda: self._catalog.dead(self._settings.collection))
            if failure.last_at >= run.started_at and failure.stage in ("prepare", "encode", "write")
        ]
        room = max(0, MAX_PROBLEMS - len(report.problems))
        report.problems += [shown(InputError(failure.reason)) for failure in failures[:room]]
