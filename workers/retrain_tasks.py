"""Retrains by workers: a chain of messages, each for some minutes' work.

What there is to do stands in the catalog: a run of kind "retrain" that no process owns. A message names it. Whoever
gets one works on it under the retrain's lock until its time is up, and sends the next. A worker that is killed leaves
checkpoints and no message: a maintaining worker notices that nobody has the lock, and sends one again.
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

SLICE = 300.0  # seconds of training or mining before the next message gets its turn
LINE_EVERY = 60.0  # seconds between two log lines
PAUSABLE = ("train", "mine")  # stages that lose nothing when they are stopped

logger = get_logger(__name__)


def enqueue(settings: Settings, options: RetrainOptions) -> RetrainReport:
    """Begin a retrain that workers do, where there is something to do, and do not wait.

    Raises:
        SettingsError, BrokerUnavailable: They cannot be reached.
    """
    from trainer.retrain.opening import open_retrainer

    if not settings.broker:
        raise SettingsError(
            "There is no broker to tell workers of it.", hint="Set INDEXER_BROKER, or leave out --workers."
        )
    sender = Sender(settings)
    sender.check()
    with open_retrainer(settings) as retrainer:
        report = retrainer.begin(options)
    if report.verdict == "paused":
        report.notes += [
            f"{file} must be there, under the same path, where workers are." for file in options.files
        ]
        sender.ask_to_train(report.run)
    return report


def give_up(catalog: Catalog, collection: str) -> list[str]:
    """End the retrain that is with workers, where none is at it; what it has done so far is kept for the next one.

    Returns:
        The run that was ended, if any.

    Raises:
        CatalogError: A worker has a slice of it in hand.
    """
    with catalog.lock(retraining(collection), "indexer retrain --give-up"):
        runs = catalog.open_runs(collection, retrains=True)
        for run in runs:
            catalog.finish_run(run.id, "interrupted", run.counts, "Given up by hand.")
    return [run.id for run in runs]


def begin(settings: Settings, sender: Sender, collection: str) -> None:
    """Begin a retrain where a collection has drifted: what the schedule asks for."""
    from trainer.retrain.opening import open_retrainer
    from trainer.retrain.report import RetrainOptions

    options = RetrainOptions(if_drifted=True, budget=seconds_of(settings.retrain_budget) or 0.0)
    try:
        with open_retrainer(settings.model_copy(update={"collection": collection})) as retrainer:
            report = retrainer.begin(options)
    except IndexerError as error:
        logger.error("retrain_not_begun", collection=collection, reason=str(error))
        return
    logger.info("retrain_looked", collection=collection, verdict=report.verdict, reason=report.reason)
    if report.verdict == "paused":
        sender.ask_to_train(report.run)


def work(settings: Settings, catalog: Catalog, sender: Sender, id: str, stopping: Callable[[], bool]) -> None:
    """Do a slice of a retrain, if it still has to be done, and see to the next one.

    Args:
        id: Of its run.
        stopping: Whether this process is to end: then the slice ends early.
    """
    from trainer.retrain.opening import open_retrainer

    run = catalog.run(id)
    if run.state != "running":
        return
    try:
        with open_retrainer(_as_recorded(settings, run), progress=Slice(stopping)) as retrainer:
            report = retrainer.resume(id)
    except IndexerError as error:  # somebody else is at it, or it has failed, or something is away
        if isinstance(error, CatalogError) and "holder" not in error.facts:
            retry_until_available(lambda: _forgive(catalog, id))
        level = (
            logger.debug if isinstance(error, CatalogError) and "holder" in error.facts else logger.warning
        )
        level("retrain_slice_failed", run=id, reason=str(error))
        return
    logger.info("retrain_slice_done", run=id, verdict=report.verdict, reason=report.reason)
    if report.verdict == "paused" and not sender.depth("train"):
        sender.ask_to_train(id)


def _forgive(catalog: Catalog, id: str) -> None:
    """Take back the death that a slice counts before it begins: its worker lives, and the catalog was away at its end."""
    run = catalog.run(id)
    if run.state == "running":
        catalog.detach_run(id, {name: said for name, said in run.counts.items() if name != "deaths"})


def _as_recorded(settings: Settings, run: Run) -> Settings:
    """What belongs to the run comes with it; where things are, this machine knows."""
    limits = {f"gate_{name}": value for name, value in run.options["limits"].items()}
    told = {name: run.options[name] for name in ("tagger", "keyphrases", "absent_keyphrases")}
    return settings.model_copy(update={"collection": run.collection, **told, **limits})


def sweep(catalog: Catalog, sender: Sender) -> None:
    """Send again what was lost: a retrain that nobody works on, and for which there is no message."""
    for run in catalog.open_runs(retrains=True):
        if catalog.lock_holder(retraining(run.collection)) is None and sender.depth("train") == 0:
            logger.info("retrain_sent_again", run=run.id)
            sender.ask_to_train(run.id)


class Slice:
    """Implements `indexer.protocols.Progress`: ends a slice where nothing is lost, once its time is up.

    The time begins with the first thing that may be stopped: what has to be done again in each slice does not count.
    """

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping
        self._until: float | None = None
        self._next_line = 0.0
        self._last = False  # it goes to the end: what is done now would have to be done again

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        name, _, more = stage.partition(": ")
        now = time.monotonic()
        if now >= self._next_line:
            self._next_line = now + LINE_EVERY
            logger.info("retrain", stage=name, more=more, done=done, of=total)
        self._last |= name == "assign"
        if name not in PAUSABLE or self._last:
            return
        self._until = self._until or now + SLICE
        if now >= self._until or self._stopping():
            raise Paused(f"Workers are at it: {name}, {done:,} of {total or 0:,}.")
