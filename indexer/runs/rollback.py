"""The way back: an earlier generation becomes the live one again, with everything that happened since it was live.

    bring up     later changes of documents, into the earlier generation, which searches do not see yet
    switch       searches see it: all of it by words and facets, by meaning the documents with vectors
    turn         the catalog follows: documents, fit, topics and their lineage
    mine         vectors, keyphrases and topics of later documents, with the earlier encoder and fit

Killed before the switch, the live generation is what it was. After it, `complete` tells the catalog, and what is not
mined is mined by the next `rollback` or `index`. Forward to a later generation is the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from indexer.catalog import Catalog
from indexer.catalog.entries import RunState
from indexer.catalog.locks import retraining
from indexer.engines.generations import Generation, Generations
from indexer.errors import CatalogError, NotFound
from indexer.pipeline.next_generation import bring_up, carry_over_labels, complete
from indexer.pipeline.run import Pipeline, RunReport
from indexer.pipeline.steps import MiningOptions
from indexer.protocols import Progress, no_progress
from indexer.runs.index import undisturbed
from indexer.settings import Settings

OWNER = "indexer rollback"
KINDS = ("retrain", "rollback")  # runs that may make another generation the live one


@dataclass
class RollbackReport:
    """What a rollback did."""

    verdict: Literal["rolled back", "resumed", "nothing"] = (
        "nothing"  # resumed: an earlier one had been stopped
    )
    run: str = ""
    reason: str = ""  # one sentence
    bundle: str = ""  # that is live now
    generation: int = 0  # that is live now
    fit: str = ""  # of its topics: the run that made it
    replaced: int = 0  # the generation that was live; 0 when nothing was switched
    written: int = 0  # documents that came or changed since it was live
    removed: int = 0
    switched_after: float = 0.0  # seconds until searches saw it
    mined: int = 0
    failed: int = 0
    seconds: float = 0.0

    def counts(self) -> dict[str, Any]:
        """Plain data, for the catalog and for programs."""
        return {
            **vars(self),
            "switched_after": round(self.switched_after, 2),
            "seconds": round(self.seconds, 1),
        }


Switched = Callable[[RollbackReport], None]


def ignore(report: RollbackReport) -> None:
    """Do nothing about the switch."""


class Rollback:
    """Goes to another generation of one collection.

    Args:
        check_bundle: Raises when there is no such bundle.
        mining: Returns how documents are mined with a bundle.
        switched: Called when searches see the other generation; what is left then is mining.
    """

    def __init__(
        self,
        settings: Settings,
        generations: Generations,
        catalog: Catalog,
        check_bundle: Callable[[str], object],
        mining: Callable[[str], MiningOptions],
        *,
        progress: Progress = no_progress,
        switched: Switched = ignore,
    ) -> None:
        self._settings = settings
        self._generations = generations
        self._catalog = catalog
        self._check_bundle = check_bundle
        self._mining = mining
        self._progress = progress
        self._switched = switched
        self._name = settings.collection

    def run(self, to: int | None = None) -> RollbackReport:
        """Make another generation the live one, and mine what it has no vectors for.

        Args:
            to: Its number. None means the one that the live one replaced, or the end of a rollback that was killed.

        Raises:
            NotFound: There is no such generation, or none to go back to.
            CatalogError: A retrain is under way, or workers are mining.
        """
        start = time.perf_counter()
        report = RollbackReport()
        name = self._name
        with self._catalog.lock(retraining(name), OWNER) as lock, self._catalog.lock(name, OWNER):
            complete(self._generations, self._catalog, name)
            self._catalog.interrupted_runs(name)
            self._check_no_other_work()
            live = self._generations.live()
            target = self._target(to, live)
            report.generation, report.bundle = target.number, target.bundle
            if target.number == live and not self._left():
                report.reason = f"Generation {live} is live, and complete."
                return report
            wanted = {"from": live, "to": target.number}
            report.run = self._catalog.start_run(name, "rollback", wanted, lock=lock)
            with self._recorded(report, start):
                if target.number != live:
                    self._switch(report, live, target.number, start)
                    self._switched(report)
                self._mine(report)
        return report

    def _check_no_other_work(self) -> None:
        """Workers hold no lock. A retrain of this machine does; one that runs all the same is theirs."""
        retrains = [
            run for run in self._catalog.runs(self._name, 1, kinds=("retrain",)) if run.state == "running"
        ]
        for run in [*self._catalog.open_runs(self._name), *retrains]:
            raise CatalogError(
                f"Workers are at the run {run.id} ({run.kind}) of collection '{self._name}'.",
                hint="Wait until it is done: indexer status --watch. Where no worker is left: "
                + (
                    "indexer retrain --give-up"
                    if run.kind == "retrain"
                    else "indexer index SOURCE --no-workers"
                ),
            )

    def _target(self, to: int | None, live: int) -> Generation:
        number = to or self._begun(live) or self._replaced(live)
        found = {one.number: one for one in self._generations.all() if one.state != "unfinished"}
        if number not in found or (number != live and number not in self._catalog.generations(self._name)):
            can = [str(n) for n in sorted(found) if n != live]
            raise NotFound(
                f"There is no generation {number} of '{self._name}' to go to." if number
                else f"Generation {live} of '{self._name}' replaced none: there is no way back from it.",
                hint=f"Name one of these: indexer rollback --to NUMBER ({', '.join(can)})"
                if can
                else "There is no other generation. A retrain that takes over makes one.",
            )  # fmt: skip
        self._check_bundle(found[number].bundle)
        return found[number]

    def _begun(self, live: int) -> int:
        """The live generation when a rollback to it was not ended; otherwise 0: one rollback goes back once."""
        last = self._catalog.runs(self._name, 1, kinds=KINDS)
        killed = bool(last) and last[0].kind == "rollback" and last[0].state != "finished"
        return live if killed and last[0].options["to"] == live else 0

    def _replaced(self, live: int) -> int:
        known = self._catalog.generations(self._name)
        return known[live].replaced if live in known else 0

    def _left(self) -> int:
        """Documents that are not done."""
        count = self._catalog.count(self._name)
        return count["stored"] + count["mined"]

    def _switch(self, report: RollbackReport, live: int, to: int, start: float) -> None:
        name = self._name
        with (
            closing(self._generations.open(live)) as leaving,
            closing(self._generations.amend(to)) as coming,
            leaving.retrying(),
            coming.retrying(),
        ):
            changed = bring_up(leaving, coming, self._catalog, name, to, self._progress)
            report.written, report.removed = changed
            carry_over_labels(self._catalog, name, coming)
        report.fit = self._catalog.generations(name)[to].fit
        self._catalog.check_locks()
        self._catalog.plan_switch(name, live, to, fit=report.fit, run=report.run)
        self._generations.switch(to)
        report.switched_after = time.perf_counter() - start
        complete(self._generations, self._catalog, name)
        report.verdict, report.replaced = "rolled back", live
        report.reason = (
            f"Generation {to} ({report.bundle}) is live again; since it was, {report.written} documents came or "
            f"changed and {report.removed} went."
        )

    def _mine(self, report: RollbackReport) -> None:
        with closing(self._generations.open(report.generation)) as engine, engine.retrying(), undisturbed():
            options = self._mining(report.bundle)
            pipeline = Pipeline(engine, self._catalog, self._name, options, self._progress)
            done = RunReport(run=report.run)
            pipeline.mine(done)
            pipeline.finish(done)
        report.mined, report.failed = done.mined, done.failed
        if not report.replaced:
            report.verdict = "resumed"
            report.reason = (
                f"Generation {report.generation} is live; {done.mined} documents were left to mine."
            )

    @contextmanager
    def _recorded(self, report: RollbackReport, start: float) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            state: RunState = "failed" if isinstance(error, Exception) else "interrupted"
            self._catalog.finish_run(report.run, state, report.counts(), str(error) or type(error).__name__)
            raise
        report.seconds = time.perf_counter() - start
        self._catalog.finish_run(report.run, "finished", report.counts())
