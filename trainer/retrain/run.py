"""One retrain from beginning to end: check, adapt, judge, build, switch. Each step is idempotent.

Its files are in ``retrain/COLLECTION`` of the home: the probe, which stays, and for each state of the collection a folder
with the snapshot and the gate's reports. A killed retrain finds them, the checkpoints of its trainings and the unfinished
generation, and resumes; when the collection has changed since, it starts over. Workers retrain in slices: a slice ends
like a kill, at a point where no work is lost.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from indexer.catalog import Catalog
from indexer.catalog.entries import BundleEntry, Run, RunState
from indexer.catalog.generations import ledger_of
from indexer.catalog.locks import Lock, retraining
from indexer.engines.base import Engine
from indexer.engines.generations import Generations
from indexer.errors import TRAINING, CatalogError, IndexerError, QueryError, TrainingError, require
from indexer.export.formatting import count
from indexer.log import get_logger
from indexer.pipeline.drift_check import measure
from indexer.pipeline.next_generation import NextGeneration, as_in, building, complete
from indexer.pipeline.steps import MiningOptions
from indexer.protocols import Encoder, Paused, Progress, no_progress
from indexer.records import leaves
from indexer.runs.bundle_files import packed
from indexer.runs.index import check_live
from indexer.settings import Settings
from indexer.topics.fits import live_fit
from indexer.topics.language_model import LanguageModel
from models.bundle import Bundle
from models.ranker import read_ranker
from models.registry import Registry
from trainer.base.options import FEW_STEPS
from trainer.retrain import ground_truth
from trainer.retrain.gate import Report
from trainer.retrain.judge import Judge
from trainer.retrain.prune import is_candidate, prune, prune_encoders
from trainer.retrain.report import RetrainOptions, RetrainReport
from trainer.retrain.snapshot import fingerprint, sampled, write_snapshot

SNAPSHOT_DOCUMENTS = 20_000
MAX_CRASHES = 3  # of workers in a row, after which a retrain fails
MAX_WAIT_S = 3_600.0  # for other processes to finish indexing before the switch
POLL_INTERVAL_S = 2.0
PAST = 100  # retrains that are searched for the last one
NO_RANKER = (
    "Keyphrases are chosen without a ranker now: that of {live} was trained on the vectors of its encoder. Train one on "
    "the new encoder: indexer train simckp."
)
UNCHANGED = "The collection has not changed since the last retrain"
REFUSED = ", which was refused. With a longer --budget or another --method it is tried again."
CONDITIONS = ("force", "if_drifted")  # decide when to retrain, and not how

logger = get_logger(__name__)


class Retrainer:
    """Retrains one collection.

    Args:
        engine: The live generation, for reading.
        encoder: Returns the encoder of a bundle.
        taggers: Processes that tag while the next generation is mined.
    """

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        generations: Generations,
        catalog: Catalog,
        encoder: Callable[[str], Encoder],
        *,
        taggers: int = 1,
        progress: Progress = no_progress,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._generations = generations
        self._catalog = catalog
        self._encoder = encoder
        self._taggers = taggers
        self._progress = progress
        self._name = settings.collection
        self._folder = settings.home / "retrain" / settings.collection
        self._registry = Registry(settings.home)

    def run(self, options: RetrainOptions) -> RetrainReport:
        """Adapt the encoder to the collection, and switch to it if it is better.

        Raises:
            CatalogError: Another retrain is running.
            PackageMissing: The extra `train` is not installed.
        """
        _check_installed(options)
        with self._retraining() as lock:
            report, request = self._checked(options)
            if not report.reason:
                self._start(report, request, lock)
                self._work(report, options, request)
        return report

    def begin(self, options: RetrainOptions) -> RetrainReport:
        """Check whether a retrain is needed, and record it for workers: they call `resume` until it is done."""
        with self._retraining():
            report, request = self._checked(options)
            if not report.reason:
                report.run = self._catalog.start_run(self._name, "retrain", request, detached=True)
                report.verdict, report.reason = "paused", "indexer history shows its progress."
        return report

    def resume(self, id: str) -> RetrainReport:
        """Work on a run that was recorded for workers. Ends early when the progress raises `Paused`.

        Raises:
            CatalogError: Another process works on it.
            TrainingError: It has crashed `MAX_CRASHES` workers.
        """
        with self._catalog.lock(retraining(self._name), "indexer worker"), self._engine.retrying():
            self._tidy()
            run = self._catalog.run(id)
            _check_installed(RetrainOptions.from_json(run.options))
            report = RetrainReport(run=id, resumed=bool(run.counts), seconds=run.counts.get("seconds", 0.0))
            if run.state == "running":
                self._count_crashes(run)
                self._work(report, RetrainOptions.from_json(run.options), run.options, by_workers=True)
        return report

    def _count_crashes(self, run: Run) -> None:
        """Count one more crash; a slice that ends in order removes it, because reports have no "deaths"."""
        crashes = run.counts.get("deaths", 0)
        if crashes >= MAX_CRASHES:
            reason = f"It has crashed its worker {crashes} times."
            self._catalog.finish_run(run.id, "failed", run.counts, reason)
            raise TrainingError(reason, hint="Perhaps there is too little memory.")
        self._catalog.detach_run(run.id, {**run.counts, "deaths": crashes + 1})

    @contextmanager
    def _retraining(self) -> Iterator[Lock]:
        """Hold the lock on retrains of this collection."""
        with building(self._catalog, self._name, "indexer retrain") as lock, self._engine.retrying():
            self._tidy()
            yield lock

    def _tidy(self) -> None:
        """Complete the switch of a killed process in the catalog.

        Raises:
            Superseded: The engine was opened before another generation became live.
        """
        check_live(self._engine)
        self._catalog.interrupted_runs(self._name)
        live = next(one.number for one in self._generations.all() if one.state == "live")
        if next(self._catalog.ids(ledger_of(self._name, live)), None) is not None:
            with self._alone():
                complete(self._generations, self._catalog, self._name)

    # -- whether a retrain is needed ---------------------------------------------------------------------------

    def _checked(self, options: RetrainOptions) -> tuple[RetrainReport, dict[str, Any]]:
        """Return a report, with a reason where no retrain is needed, and the request, with a fingerprint of the texts."""
        report = RetrainReport(bundle=self._settings.bundle)
        labels = ground_truth.fingerprint(options.ground_truth) if options.ground_truth else ""
        request = {
            **options.as_json(),
            "state": fingerprint(self._catalog, self._name, labels),
            "limits": asdict(self._settings.gate),
            "tagger": self._settings.tagger,
            "keyphrases": self._settings.keyphrases,
            "absent_keyphrases": self._settings.absent_keyphrases,
        }
        if options.candidate and self._registry.get(options.candidate).fingerprint == self._live.fingerprint:
            raise QueryError(f"'{options.candidate}' is already the encoder of '{self._name}'.")
        if options.force or options.candidate:
            return report, request
        if last := self._done_before(request):
            report.reason = UNCHANGED + (REFUSED if last.counts.get("verdict") == "refused" else ".")
        elif options.if_drifted:
            report.drift = measure(self._engine, self._catalog, self._name)
            if not report.drift.beyond(self._settings.drift):
                report.reason = f"Not enough has drifted: {report.drift}."
                report.run = self._catalog.start_run(self._name, "retrain", request)
                self._catalog.finish_run(report.run, "finished", report.counts())
        return report, request

    @property
    def _live(self) -> Bundle:
        return self._registry.get(self._settings.bundle)

    def _done_before(self, request: Mapping[str, Any]) -> Run | None:
        """The last retrain that ended, if it had the same request for the same documents."""
        past = self._catalog.runs(self._name, PAST, kinds=("retrain",))
        last = next((r for r in past if r.state == "finished" and not r.options.get("candidate")), None)
        if last is None or _unconditional(last.options) != _unconditional(request):
            return None
        return last if last.counts.get("verdict") != "nothing" or request["if_drifted"] else None

    def _start(self, report: RetrainReport, request: Mapping[str, Any], lock: Lock) -> None:
        """Record a new run, or resume a killed one."""
        past = self._catalog.runs(self._name, PAST, kinds=("retrain",))
        last = next((run for run in past if not run.was_idle), None)
        if last and last.state == "interrupted" and _current(last.options) == request:
            report.run, report.resumed, report.seconds = last.id, True, last.counts.get("seconds", 0.0)
            self._catalog.resume_run(last.id, lock)
            begun = f"{last.started_at:%Y-%m-%d %H:%M} UTC"
            self._progress(f"note: Resumes the retrain of {begun}, which was stopped.", 0, None)
        else:
            report.run = self._catalog.start_run(self._name, "retrain", request, lock=lock)

    # -- the steps --------------------------------------------------------------------------------------------

    def _work(
        self,
        report: RetrainReport,
        options: RetrainOptions,
        request: Mapping[str, Any],
        *,
        by_workers: bool = False,
    ) -> None:
        folder = self._folder / request["state"][:12]
        self._forget_other_states(folder)
        with self._recorded(report, by_workers):
            if self._has_switched(report):
                return
            bundle = self._chosen(report, options, folder)
            if bundle is None:
                report.verdict = "refused"
                report.reason = report.judged[next(reversed(report.judged))].summary
            elif options.dry_run:
                report.verdict = "accepted"
                report.reason = f"{self._registry.address(bundle)} would be switched to."
            else:
                self._succeed(report, bundle)
        if report.verdict in ("swapped", "refused"):  # a dry run may be followed by a real one
            self._forget(folder)
        if report.verdict in ("refused", "accepted"):  # those of this run may be used later
            prune_encoders(
                self._generations, self._catalog, self._registry, self._name, but=report.judged.keys()
            )

    def _has_switched(self, report: RetrainReport) -> bool:
        """Whether this run was stopped after the switch; then complete the report."""
        known = self._catalog.generations(self._name)
        live = known.get(self._generations.live())
        if live is None or live.run != report.run:
            return False
        report.verdict, report.bundle, report.generation = "swapped", self._settings.bundle, live.number
        report.fit, report.replaced, report.replaced_fit = live.fit, live.replaced, known[live.replaced].fit
        report.reason = f"{report.bundle} is live as generation {live.number}."
        return True

    def _forget_other_states(self, folder: Path) -> None:
        """Remove the files of retrains of other states of the collection: they cannot be resumed."""
        for other in self._folder.glob("*/"):
            if other != folder:
                self._forget(other)

    def _forget(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for training in (self._settings.home / "training").glob(f"{self._name}-{folder.name}-*"):
            shutil.rmtree(training)

    @contextmanager
    def _recorded(self, report: RetrainReport, by_workers: bool) -> Iterator[None]:
        """Record in the catalog how the run ended, or that workers will resume it."""
        start = time.perf_counter() - report.seconds
        try:
            yield
        except Paused as pause:
            report.verdict, report.reason = "paused", str(pause)
        except TrainingError as error:  # too little data, or the loss has diverged: no encoder to judge
            report.verdict, report.reason = "refused", f"{error} {error.hint}".strip()
        except BaseException as error:
            report.seconds = time.perf_counter() - start
            again = isinstance(error, IndexerError) and (error.retryable or _is_away(error))
            if by_workers and (again or not isinstance(error, Exception)):
                self._catalog.detach_run(report.run, report.counts())
            else:
                kind: RunState = "failed" if isinstance(error, Exception) else "interrupted"
                self._catalog.finish_run(report.run, kind, report.counts(), _why(error))
            raise
        report.seconds = time.perf_counter() - start
        if report.verdict == "paused":
            self._catalog.detach_run(report.run, report.counts())
        else:
            self._catalog.finish_run(report.run, "finished", report.counts())
            logger.info(
                "retrained", verdict=report.verdict, seconds=round(report.seconds), reason=report.reason
            )

    def _chosen(self, report: RetrainReport, options: RetrainOptions, folder: Path) -> Bundle | None:
        """The accepted candidate that finds most masked phrases; None when none is accepted."""
        live = self._live
        report.bundle = self._registry.address(live)
        judge = Judge(
            self._settings,
            self._engine,
            self._catalog,
            live,
            self._encoder,
            ground_truth=options.ground_truth,
            folder=self._folder,
            progress=self._progress,
        )
        if judge.ground_truth:
            report.notes = list(judge.ground_truth.problems)
        found: dict[str, Bundle] = {}
        for bundle in self._candidates(options, live, judge, folder):
            name = self._registry.address(bundle)
            found[name] = bundle
            report.judged[name] = judge.judge(bundle, kept=folder)
            report.notes += _too_short(bundle, options)
            self._remember(name, bundle, live, report.judged[name])
        best = _best(report.judged, force=options.force)
        return found[best] if best else None

    def _candidates(
        self, options: RetrainOptions, live: Bundle, judge: Judge, folder: Path
    ) -> Iterator[Bundle]:
        if options.candidate:
            yield self._registry.get(options.candidate)
            return
        from trainer.retrain.candidates import (  # torch, which takes seconds to load
            MINED,
            Adaptation,
            candidates,
        )

        snapshot = folder / "documents.jsonl"
        ids = sampled(self._catalog, self._name, SNAPSHOT_DOCUMENTS, without=judge.held_back())
        write_snapshot(self._engine, ids, snapshot)
        adaptation = Adaptation(
            name=f"{self._name}-{folder.name}",
            method=options.method,
            budget=options.budget,
            clusters=max(2, len(leaves(self._engine.topics()))),
            seed=options.seed,
            tagger=self._settings.tagger,
            threads=self._settings.threads,
        )
        yield from candidates(live, snapshot, adaptation, home=self._settings.home, progress=self._progress)
        shutil.rmtree(folder / MINED, ignore_errors=True)

    def _remember(self, name: str, bundle: Bundle, live: Bundle, judged: Report) -> None:
        parent = self._registry.address(live)
        entry = BundleEntry(name, bundle.fingerprint, str(bundle.folder), parent, judged.as_json())
        self._catalog.save_bundle(self._name, entry)
        figures = {check.name: round(check.new, 4) for check in judged.checks}
        logger.info("judged", bundle=name, accepted=judged.accepted, **figures)

    def _succeed(self, report: RetrainReport, bundle: Bundle) -> None:
        """Build the next generation and switch to it."""
        live, name = self._live, self._registry.address(bundle)
        report.replaced = next(one.number for one in self._generations.all() if one.state == "live")
        recipe = MiningOptions(
            name,
            bundle.dims,
            lambda: self._encoder(name),
            self._settings.tagger,
            self._taggers,
            self._settings.keyphrases,
            lambda: read_ranker(bundle),
            self._settings.absent_keyphrases,
            language_model=LanguageModel.of(self._settings),
        )
        with closing(
            NextGeneration(self._generations, self._catalog, self._name, report.run, recipe, self._progress)
        ) as following:
            named = following.build(as_in(live_fit(self._catalog, self._name)))
            if named is None:
                raise IndexerError("The next generation has no phrases to fit topics to.")
            if is_candidate(name, self._name):
                self._catalog.keep_bundle_files(self._name, name, packed(bundle))
            with self._alone():
                before = live_fit(self._catalog, self._name)
                report.replaced_fit = before.run if before else ""
                named = following.take_over(named)
                prune(self._generations, self._catalog, self._registry, self._settings)
            report.generation, report.fit = following.number, named.run
        report.verdict, report.bundle = "swapped", name
        if read_ranker(live) and not read_ranker(bundle):
            report.notes.append(NO_RANKER.format(live=self._registry.address(live)))
        gains = f" ({found})" if (found := report.judged[name].gains) else ""
        report.reason = f"{name} is live as generation {report.generation}{gains}."

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the collection while no worker indexes: their results belong to the live generation.

        Raises:
            CatalogError: Another process has held it for longer than `MAX_WAIT_S`.
        """
        until = time.monotonic() + MAX_WAIT_S
        with ExitStack() as held:
            while True:
                try:
                    held.enter_context(self._catalog.lock(self._name, "indexer retrain"))
                    self._refuse_workers()
                    break
                except CatalogError as error:
                    held.close()
                    if "holder" not in error.facts or time.monotonic() > until:
                        raise
                    self._progress("wait", 0, None)
                    time.sleep(POLL_INTERVAL_S)
            yield

    def _refuse_workers(self) -> None:
        if runs := self._catalog.open_runs(self._name):
            raise CatalogError(
                f"Workers are indexing into collection '{self._name}'.",
                hint="The new generation is kept: run indexer retrain again when they have finished. "
                "Where no worker is left: indexer index SOURCE --no-workers",
                holder=runs[0].id,
            )


def _is_away(error: IndexerError) -> bool:
    """Whether the catalog cannot be reached, as opposed to a lock that another process holds."""
    return isinstance(error, CatalogError) and "holder" not in error.facts


def _why(error: BaseException) -> str:
    return (
        "Stopped by the user." if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__
    )


def _too_short(bundle: Bundle, options: RetrainOptions) -> list[str]:
    """A note where the budget ended before the encoder had learned much."""
    steps = 0 if options.candidate else int(bundle.scores.get("steps", FEW_STEPS))
    if not 0 < steps < FEW_STEPS:
        return []
    return [
        f"{bundle.name}: the budget was enough for {count(steps, 'step')}. A longer one allows more training."
    ]


def _current(request: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded request in the names of this version; 0.1.0 called the file of labelled examples "gold"."""
    return {"ground_truth" if name == "gold" else name: value for name, value in request.items()}


def _unconditional(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request without its conditions."""
    return {name: value for name, value in _current(request).items() if name not in CONDITIONS}


def _best(judged: Mapping[str, Report], *, force: bool) -> str | None:
    """The accepted candidate that finds most masked phrases; one that could not be measured is never accepted."""
    accepted = [name for name, report in judged.items() if report.checks and (force or report.accepted)]
    return max(accepted, key=lambda name: judged[name].context, default=None)


def _check_installed(options: RetrainOptions) -> None:
    """A named candidate is trained already; judging it needs no torch."""
    if not options.candidate:
        require(*TRAINING, extra="train", purpose="A retrain")
