"""Retrains by workers: a chain of messages, each for some minutes of work.

The catalog has the work: a run of kind "retrain" that no process owns. A message names it. The worker that receives it
works under the retrain's lock until the slice's time is up, and sends the next message. A killed worker leaves
checkpoints and no message: the maintenance worker finds that no process has the lock, and sends a message again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from indexer.catalog import Catalog
from indexer.catalog.entries import Run
from indexer.catalog.locks import retraining
from indexer.errors import CatalogError, IndexerError, SettingsError
from indexer.log import get_logger
from indexer.protocols import Paused
from indexer.settings import Settings, seconds_of
from workers.messages import Sender
from workers.retry import retry_until_available

if TYPE_CHECKING:
    from trainer.retrain.report import RetrainOptions, RetrainReport

SLICE = 300.0  # seconds of training or mining before other messages are handled
LOG_INTERVAL_S = 60.0  # seconds between two log lines
PAUSABLE = ("train", "mine")  # stages that can be stopped without losing work

logger = get_logger(__name__)


def enqueue(settings: Settings, options: RetrainOptions) -> RetrainReport:
    """Record a retrain for workers, where one is needed, and return without waiting.

    Raises:
        SettingsError, BrokerUnavailable: Workers cannot be reached.
    """
    from trainer.retrain.opening import open_retrainer

    if not settings.broker:
        raise SettingsError(
            "Workers need a broker, and none is configured.",
            hint="Set INDEXER_BROKER, or leave out --workers.",
        )
    sender = Sender(settings)
    sender.check()
    with open_retrainer(settings) as retrainer:
        report = retrainer.begin(options)
    if report.verdict == "paused":
        report.notes += [
            f"{file} must exist under the same path on the workers' machines." for file in options.files
        ]
        sender.send_train(report.run)
    return report


def cancel(catalog: Catalog, collection: str) -> list[str]:
    """End a retrain that was left to workers, while none works on it; its progress is kept for the next one.

    Returns:
        The id of the run that was ended, if any.

    Raises:
        CatalogError: A worker is busy with a slice.
    """
    with catalog.lock(retraining(collection), "indexer retrain --give-up"):
        runs = catalog.open_runs(collection, retrains=True)
        for run in runs:
            catalog.finish_run(run.id, "interrupted", run.counts, "Cancelled by the user.")
    return [run.id for run in runs]


def begin(settings: Settings, sender: Sender, collection: str) -> None:
    """Record a retrain where a collection has drifted; called by the schedule."""
    from trainer.retrain.opening import open_retrainer
    from trainer.retrain.report import RetrainOptions

    options = RetrainOptions(if_drifted=True, budget=seconds_of(settings.retrain_budget) or 0.0)
    try:
        with open_retrainer(settings.model_copy(update={"collection": collection})) as retrainer:
            report = retrainer.begin(options)
    except IndexerError as error:
        logger.error("retrain_not_started", collection=collection, reason=str(error))
        return
    logger.info("retrain_checked", collection=collection, verdict=report.verdict, reason=report.reason)
    if report.verdict == "paused":
        sender.send_train(report.run)


def work(settings: Settings, catalog: Catalog, sender: Sender, id: str, stopping: Callable[[], bool]) -> None:
    """Work on a slice of a retrain, if it is still due, and send the message for the next one.

    Args:
        id: Of its run.
        stopping: Returns whether this process must end: then the slice ends early.
    """
    from trainer.retrain.opening import open_retrainer

    run = catalog.run(id)
    if run.state != "running":
        return
    try:
        with open_retrainer(_as_recorded(settings, run), progress=Slice(stopping)) as retrainer:
            report = retrainer.resume(id)
    except IndexerError as error:  # another worker has it, it has failed, or a server is unreachable
        if isinstance(error, CatalogError) and "holder" not in error.facts:
            retry_until_available(lambda: _undo_crash_count(catalog, id))
        level = (
            logger.debug if isinstance(error, CatalogError) and "holder" in error.facts else logger.warning
        )
        level("retrain_slice_failed", run=id, reason=str(error))
        return
    logger.info("retrain_slice_done", run=id, verdict=report.verdict, reason=report.reason)
    if report.verdict == "paused" and not sender.depth("train"):
        sender.send_train(id)


def _undo_crash_count(catalog: Catalog, id: str) -> None:
    """Undo the crash that a slice counts before it starts: its worker lives, but the catalog was away at the end."""
    run = catalog.run(id)
    if run.state == "running":
        catalog.detach_run(id, {name: value for name, value in run.counts.items() if name != "deaths"})


def _as_recorded(settings: Settings, run: Run) -> Settings:
    """The settings of this machine with those that were recorded for the run."""
    limits = {f"gate_{name}": value for name, value in run.options["limits"].items()}
    recorded = {name: run.options[name] for name in ("tagger", "keyphrases", "absent_keyphrases")}
    return settings.model_copy(update={"collection": run.collection, **recorded, **limits})


def sweep(catalog: Catalog, sender: Sender) -> None:
    """Send lost messages again: for retrains without a worker and without a message."""
    for run in catalog.open_runs(retrains=True):
        if catalog.lock_holder(retraining(run.collection)) is None and sender.depth("train") == 0:
            logger.info("retrain_sent_again", run=run.id)
            sender.send_train(run.id)


class Slice:
    """Implements `indexer.protocols.Progress`: ends a slice where no work is lost, once its time is up.

    The time starts with the first stage that can be stopped: work that each slice repeats does not count.
    """

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping
        self._until: float | None = None
        self._next_line = 0.0
        self._last = False  # no further pause: work from here on would have to be repeated

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        name, _, more = stage.partition(": ")
        now = time.monotonic()
        if now >= self._next_line:
            self._next_line = now + LOG_INTERVAL_S
            logger.info("retrain", stage=name, more=more, done=done, of=total)
        self._last |= name == "assign"
        if name not in PAUSABLE or self._last:
            return
        self._until = self._until or now + SLICE
        if now >= self._until or self._stopping():
            raise Paused(f"Workers are busy: {name}, {done:,} of {total or 0:,}.")
