"""Maintenance: sends lost messages again, creates batches, and finishes runs whose command has ended."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from indexer.catalog import Run
from indexer.errors import CatalogError, IndexerError
from indexer.log import get_logger
from indexer.pipeline.run import Pipeline, RunReport
from indexer.pipeline.steps import MiningOptions
from indexer.topics.language_model import LanguageModel
from indexer.topics.models.registry import TopicRequest
from workers import retrain_tasks
from workers.messages import Sender, feed
from workers.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Iterator


EVERY = 5.0  # seconds

logger = get_logger(__name__)


def maintain(resources: Resources, sender: Sender) -> None:
    """Send lost messages, create the next batches, finish runs without open batches. May run twice, also concurrently."""
    catalog = resources.catalog
    sender.sweep(catalog)
    retrain_tasks.sweep(catalog, sender)
    for run in catalog.open_runs():
        feed(catalog, sender, run.id, run.collection, resources.settings.batches_ahead)
        if catalog.is_complete(run.id):
            _finish(resources, run)


def _finish(resources: Resources, run: Run) -> None:
    """Finish a run, unless its command holds the lock and does that itself."""
    catalog = resources.catalog
    try:
        with catalog.lock(run.collection, "indexer worker"):
            if catalog.run(run.id).state == "running":  # no other process has finished it
                _finish_locked(resources, catalog.run(run.id))
    except CatalogError as error:
        if "holder" not in error.facts:
            raise


def _finish_locked(resources: Resources, run: Run) -> None:
    catalog, options = resources.catalog, run.options
    start = time.perf_counter()
    try:
        engine = resources.engine(run.collection, options["bundle"])
        pipeline = Pipeline(
            engine,
            catalog,
            run.collection,
            MiningOptions(
                options["bundle"],
                engine.dims,
                lambda: resources.encoder(options["bundle"]),
                keyphrases=options["keyphrases"],
                ranker=lambda: resources.ranker(options["bundle"]),
                absent=options.get("absent_keyphrases", 0),
                language_model=LanguageModel.of(resources.settings),
                duplicates=options.get("duplicates", True),
            ),
        )
        report = RunReport(run=run.id)
        with threadpool_limits(1, user_api="blas"):
            request = TopicRequest.read(options["topics"], options.get("levels"))
            pipeline.finish(report, request, refit=options["refit"])
    except IndexerError as error:  # the next maintenance tries again
        logger.warning("run_not_finished", run=run.id, reason=str(error))
        return
    except Exception as error:
        catalog.finish_run(run.id, "failed", run.counts, f"{type(error).__name__}: {error}")
        raise
    catalog.finish_run(run.id, "finished", {**run.counts, "topics": report.topics})
    logger.info("run_finished", run=run.id, seconds=round(time.perf_counter() - start, 2))


@contextmanager
def ticking(sender: Sender, every: float = EVERY) -> Iterator[None]:
    """Send `maintain` messages in a thread at an interval: no other process is needed for the schedule."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(every):
            try:
                sender.send_maintain(every)
            except Exception:  # without this thread lost messages would stay lost, without a trace
                logger.exception("maintain_not_sent")

    thread = threading.Thread(target=tick, name="schedule", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
