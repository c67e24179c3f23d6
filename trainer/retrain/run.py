"""One retrain from beginning to end: look, adapt, judge, build, take over. Each step may be done twice.

What is written down on the way lies in ``retrain/COLLECTION`` of the home: the probe, which stays, and for each state
of the collection a folder with the snapshot. A retrain that was killed finds them, the checkpoints of its trainings and
the unfinished generation, and goes on; when the collection has changed meanwhile, it begins anew.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from indexer.analysis.finders import Asked
from indexer.catalog.entries import BundleEntry, RunState
from indexer.catalog.repository import Catalog
from indexer.encoding import Encoder
from indexer.engines.base import Engine
from indexer.engines.generations import Generations
from indexer.errors import CatalogError, IndexerError
from indexer.finish import live_fit
from indexer.progress import Progress, no_progress
from indexer.settings import Settings
from indexer.succession import Recipe, Succession, complete
from models.bundle import Bundle
from models.registry import Registry
from models.tokens import WordPieces
from trainer.retrain.adapt import Adaptation, Method, candidates
from trainer.retrain.gate import DEFAULTS, Limits, Report, judge
from trainer.retrain.measure import Measured, measure
from trainer.retrain.probe import Probe, load_probe, make_probe, save_probe
from trainer.retrain.prune import prune
from trainer.retrain.snapshot import documents_of, fingerprint, sampled, write_snapshot

PROBE_DOCUMENTS = 400
PROBE_SHARE = 4  # one document in so many at most: the others are to be learned from
SNAPSHOT_DOCUMENTS = 20_000
LONGEST_WAIT = 3_600.0  # seconds for others to finish indexing before the switch
LOOK_EVERY = 2.0  # seconds
ASKED = ("method", "budget", "seed", "dry_run")  # the same of the same documents is not done twice
Verdict = Literal["swapped", "nothing", "refused", "accepted"]  # accepted: a dry run would have swapped


@dataclass(frozen=True)
class RetrainOptions:
    """What is wanted.

    Attributes:
        budget: Seconds for the trainings together; 0 = as long as they take.
        dry_run: Stop before the next generation is built.
        force: Train though nothing has changed, and take over whatever the gate says.
    """

    method: Method = "both"
    budget: float = 0.0
    dry_run: bool = False
    force: bool = False
    seed: int = 0


@dataclass
class RetrainReport:
    """What a retrain did."""

    verdict: Verdict = "nothing"
    run: str = ""
    reason: str = ""  # one sentence
    bundle: str = ""  # that is live now
    judged: dict[str, Report] = field(default_factory=dict)  # candidate ► what the gate said
    generation: int = 0  # that is live now; 0 when none was made
    fit: str = ""  # of its topics: the run that made it
    replaced: int = 0
    replaced_fit: str = ""  # what a way back needs
    seconds: float = 0.0

    def counts(self) -> dict[str, Any]:
        """Plain data, for the catalog and for programs."""
        judged = {name: report.as_json() for name, report in self.judged.items()}
        return {**vars(self), "judged": judged, "seconds": round(self.seconds, 1)}


class Retrainer:
    """Retrains one collection.

    Args:
        engine: The live generation, for reading.
        encoder: Gives the encoder of a bundle.
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
        limits: Limits = DEFAULTS,
        progress: Progress = no_progress,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._generations = generations
        self._catalog = catalog
        self._encoder = encoder
        self._taggers = taggers
        self._limits = limits
        self._progress = progress
        self._name = settings.collection
        self._folder = settings.home / "retrain" / settings.collection
        self._registry = Registry(settings.home)

    def run(self, options: RetrainOptions) -> RetrainReport:
        """Adapt the encoder to the collection; let it take over if it is better.

        Raises:
            CatalogError: Another retrain is under way.
            NotEnoughData: The collection is too small to judge an encoder by.
        """
        start = time.perf_counter()
        report = RetrainReport()
        retraining = self._catalog.lock(f"{self._name}@retrain", "indexer retrain")
        with retraining as lock, self._engine.patient():
            self._tidy()
            state = fingerprint(self._catalog, self._name)
            asked = {name: getattr(options, name) for name in ASKED} | {"state": state}
            if not options.force and self._done_before(asked):
                report.reason = "The collection has not changed since the last retrain."
                report.bundle = self._settings.bundle
                return report
            report.run = self._catalog.start_run(self._name, "retrain", asked, lock=lock)
            with self._recorded(report, start):
                self._retrain(report, options, self._folder / state[:12])
        return report

    def _tidy(self) -> None:
        """Finish what a killed process left between the switch and the catalog."""
        with self._catalog.lock(self._name, "indexer retrain"):
            complete(self._generations, self._catalog, self._name)
            self._catalog.interrupted_runs(self._name)

    def _done_before(self, asked: dict[str, Any]) -> bool:
        """Whether the last retrain that ended was asked the same of the same documents."""
        past = (run for run in self._catalog.runs(self._name, 100) if run.kind == "retrain")
        last = next((run for run in past if run.state == "finished"), None)
        return last is not None and dict(last.options) == asked

    @contextmanager
    def _recorded(self, report: RetrainReport, start: float) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            kind: RunState = "failed" if isinstance(error, Exception) else "interrupted"
            self._catalog.finish_run(report.run, kind, report.counts(), str(error) or type(error).__name__)
            raise
        report.seconds = time.perf_counter() - start
        self._catalog.finish_run(report.run, "finished", report.counts())

    def _retrain(self, report: RetrainReport, options: RetrainOptions, folder: Path) -> None:
        live = self._registry.get(self._settings.bundle)
        report.bundle = live.name
        probe = self._probe()
        snapshot = folder / "documents.jsonl"
        kept = {document.id for document in probe.documents}
        ids = sampled(self._catalog, self._name, SNAPSHOT_DOCUMENTS, without=kept)
        write_snapshot(self._engine, ids, snapshot)
        old = self._measured(live, probe)
        found: dict[str, tuple[Bundle, Measured]] = {}
        try:
            for bundle in candidates(
                live,
                snapshot,
                self._adaptation(options, folder.name),
                home=self._settings.home,
                progress=self._progress,
            ):
                new = self._measured(bundle, probe)
                found[bundle.name] = bundle, new
                report.judged[bundle.name] = judge(old, new, self._limits)
                self._remember(bundle, live, report.judged[bundle.name])
        finally:
            shutil.rmtree(self._settings.home / "training" / "mined", ignore_errors=True)
        name = _best(found, report.judged, force=options.force)
        if name is None:
            report.verdict = "refused"
            report.reason = " ".join(report.judged[next(reversed(found))].reasons)
        elif options.dry_run:
            report.verdict = "accepted"
            report.reason = f"{name} would take over."
            return  # what was trained is there when it is asked for in earnest
        else:
            self._succeed(report, found[name][0])
        shutil.rmtree(folder, ignore_errors=True)

    def _probe(self) -> Probe:
        """The frozen probe of the collection; made the first time."""
        file = self._folder / "probe.json.gz"
        if file.exists():
            return load_probe(file)
        there = sum(self._catalog.count(self._name).values())
        ids = sampled(self._catalog, self._name, min(PROBE_DOCUMENTS, there // PROBE_SHARE))
        self._progress("probe", 0, None)
        probe = make_probe(list(documents_of(self._engine, ids)), self._settings.tagger)
        save_probe(probe, file)
        return probe

    def _measured(self, bundle: Bundle, probe: Probe) -> Measured:
        self._progress("judge", 0, None)
        mask = WordPieces(bundle.base_folder / "tokenizer.json").mask_token
        return measure(self._encoder(bundle.name), probe, topics=len(self._engine.topics()), mask=mask)

    def _adaptation(self, options: RetrainOptions, state: str) -> Adaptation:
        return Adaptation(
            name=f"{self._name}-{state}",
            method=options.method,
            budget=options.budget,
            clusters=max(2, len(self._engine.topics())),
            seed=options.seed,
            tagger=self._settings.tagger,
            threads=self._settings.threads,
        )

    def _remember(self, bundle: Bundle, live: Bundle, judged: Report) -> None:
        entry = BundleEntry(bundle.name, bundle.fingerprint, str(bundle.folder), live.name, judged.as_json())
        self._catalog.save_bundle(self._name, entry)

    def _succeed(self, report: RetrainReport, bundle: Bundle) -> None:
        """Build the next generation and let it take over."""
        before = live_fit(self._catalog, self._name)
        report.replaced_fit = before.run if before else ""
        report.replaced = next(one.number for one in self._generations.all() if one.state == "live")
        recipe = Recipe(
            bundle.name,
            lambda: self._encoder(bundle.name),
            self._settings.tagger,
            self._taggers,
            self._settings.keyphrases,
        )
        with closing(
            Succession(self._generations, self._catalog, self._name, report.run, recipe, self._progress)
        ) as following:
            asked = Asked(before.finder, before.asked or len(set(before.ids))) if before else Asked()
            named = following.build(asked)
            if named is None:
                raise IndexerError("The next generation has no phrases to make topics of.")
            with self._alone():
                following.take_over(named)
                prune(self._generations, self._catalog, self._registry, self._settings)
            report.generation, report.fit = following.number, named.run
        report.verdict, report.bundle = "swapped", bundle.name
        report.reason = f"{bundle.name} has taken over as generation {report.generation}."

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The lock of the collection, once nobody indexes: what workers still mine belongs to the live generation.

        Raises:
            CatalogError: Somebody has gone on for longer than we wait.
        """
        until = time.monotonic() + LONGEST_WAIT
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
                    time.sleep(LOOK_EVERY)
            yield

    def _refuse_workers(self) -> None:
        if runs := self._catalog.open_runs(self._name):
            raise CatalogError(
                f"Workers are indexing into collection '{self._name}'.",
                hint="What was built is kept: run indexer retrain again when they are through.",
                holder=runs[0].id,
            )


def _best(found: dict[str, tuple[Bundle, Measured]], judged: dict[str, Report], *, force: bool) -> str | None:
    """The candidate that may take over and finds most masked phrases; None when none may."""
    may = [name for name in found if force or judged[name].accepted]
    return max(may, key=lambda name: float(found[name][1].context.mean()), default=None)
