"""Looking after everything: lost messages, runs that go on without their command, and what ends a run."""

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
from workers import retrain_tasks
from workers.messages import Sender, feed
from workers.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indexer.protocols import Encoder

EVERY = 5.0  # seconds between two looks

logger = get_logger(__name__)


def maintain(resources: Resources, sender: Sender) -> None:
    """Send what was lost, cut what has room, finish what is through. Doing it twice, or two at once, does no harm."""
    catalog = resources.catalog
    sender.sweep(catalog)
    retrain_tasks.sweep(catalog, sender)
    for run in catalog.open_runs():
        feed(catalog, sender, run.id, run.collection, resources.settings.batches_ahead)
        if catalog.is_through(run.id):
            _finish(resources, run)


def _finish(resources: Resources, run: Run) -> None:
    """Do what ends a run, unless its command is there to do that itself."""
    catalog = resources.catalog
    try:
        with catalog.lock(run.collection, "indexer worker"):
            if catalog.run(run.id).state == "running":  # nobody was faster
                _finish_alone(resources, catalog.run(run.id))
    except CatalogError as error:
        if "holder" not in error.facts:
            raise


def _finish_alone(resources: Resources, run: Run) -> None:
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
                _no_encoder,
                keyphrases=options["keyphrases"],
                ranker=lambda: resources.ranker(options["bundle"]),
                absent=options.get("absent_keyphrases", 0),
            ),
        )
        report = RunReport(run=run.id)
        with threadpool_limits(1, user_api="blas"):
            pipeline.finish(report, options["topics"], refit=options["refit"])
    except IndexerError as error:  # the next look tries again
        logger.warning("run_not_finished", run=run.id, reason=str(error))
        return
    except Exception as error:
        catalog.finish_run(run.id, "failed", run.counts, f"{type(error).__name__}: {error}")
        raise
    catalog.finish_run(run.id, "finished", {**run.counts, "topics": report.topics})
    logger.info("run_finished", run=run.id, seconds=round(time.perf_counter() - start, 2))


def _no_encoder() -> Encoder:
    raise AssertionError("Finishing a run encodes nothing.")


@contextmanager
def ticking(sender: Sender, every: float = EVERY) -> Iterator[None]:
    """Ask for `maintain` again and again, in a thread. It is the schedule: no other process is needed for it."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(every):
            try:
                sender.ask_to_maintain(every)
            except Exception:  # without this thread lost messages would stay lost, and nobody would see why
                logger.exception("not_asked_to_maintain")

    thread = threading.Thread(target=tick, name="schedule", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
