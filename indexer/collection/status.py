"""The state of a collection: generations, counts, work of the workers, dead letters, problems."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indexer.catalog import Catalog, SavedSearch
from indexer.catalog.database import look
from indexer.catalog.entries import DeadLetter, Run, Work
from indexer.catalog.locks import retraining, watching
from indexer.collection.base import OpenCollection
from indexer.engines.base import EngineInfo
from indexer.errors import CatalogError, IndexerError, SearchError
from indexer.pipeline.drift_check import Drift, latest
from indexer.runs.bundle_files import open_live

if TYPE_CHECKING:
    from indexer.engines.base import Engine, HealthProblem
    from indexer.engines.generations import Generation
    from indexer.settings import Settings


class StatusMethods(OpenCollection):
    """A collection to maintain."""

    def generations(self) -> list[Generation]:
        """Return the complete sets of rows, each mined with one encoder: live, kept or unfinished."""
        from indexer.engines.registry import open_generations

        with closing(open_generations(self.settings)) as generations:
            return generations.all()

    def status(self) -> Status:
        """Return counts, sizes, drift, dead letters and the last runs."""
        info = self.engine.info()
        return Status(**_engine_part(info), **_catalog_part(self.settings, self.catalog))

    def problems(self) -> tuple[str, ...]:
        """Describe what keeps the engine from writing, such as a full disk."""
        return described(self.engine)

    def work(self) -> WorkStatus:
        """Return the work of the workers: batches, queues, open runs and retrains."""
        return _work(self.settings, self.catalog)

    def unattended(self) -> tuple[str, ...]:
        """Return queues with work that no worker serves. Asking the workers takes a second."""
        from workers.messages import Sender

        before = self.work()
        if not before.idle_queues or before.broker_is_away:
            return ()
        attended = Sender(self.settings).attended()
        still = self.work().idle_queues  # a worker that has just taken a task does not answer
        return tuple(queue for queue in still if queue in before.idle_queues and queue not in attended)

    def dead_letters(self, limit: int | None = None) -> list[DeadLetter]:
        """Return what could not be processed, and why."""
        return self.catalog.dead(self.name, limit=limit)


def partial_status(settings: Settings, reason: IndexerError) -> tuple[PartialStatus, tuple[str, ...]]:
    """Read the status from the servers that answer, and describe those that do not.

    Args:
        reason: Why not all of it could be read. A server that did not answer is not asked again.

    Raises:
        NotFound: There is no such collection.
        SearchError: The engine does not answer, and there is no catalog.
    """
    parts: dict[str, Any] = {"collection": settings.collection, "bundle": settings.bundle}
    problems: list[str] = []
    has_catalog = False
    try:
        has_catalog = bool(look(settings.database))
    except CatalogError as error:
        problems.append(f"{error} {error.hint}")
    try:
        if reason.facts.get("silent"):
            raise reason
        live, engine = open_live(settings, create=False)
        with closing(engine):
            parts["bundle"] = live.bundle
            found = described(engine)
            problems += found
            try:
                parts |= _engine_part(engine.info())
            except SearchError:
                if not found:
                    raise
    except CatalogError as error:  # the encoder is to be fetched from there
        problems.append(f"{error} {error.hint}")
    except SearchError as error:
        if not has_catalog:
            raise
        problems.append(f"{error} {error.hint}")
    if has_catalog:
        with Catalog.open(settings.database) as catalog:
            parts |= _catalog_part(settings, catalog)
    return PartialStatus(**parts), tuple(problems)


def described(engine: Engine) -> tuple[str, ...]:
    """Return what keeps an engine from writing or reading, as sentences."""
    found: list[HealthProblem] = []
    with suppress(SearchError):  # the user may lack the privilege to ask
        found = list(engine.problems())
    return tuple(f"{problem.found.rstrip('.')}. {problem.hint}" for problem in found if problem.fatal)


def _engine_part(info: EngineInfo) -> dict[str, Any]:
    return {"engine": info, "topics": info.topics, "without_topic": info.without_topic}


def _catalog_part(settings: Settings, catalog: Catalog) -> dict[str, Any]:
    name = settings.collection
    drift = latest(catalog, name)
    bundles = [run.counts["bundle"] for run in catalog.runs(name) if run.counts.get("bundle")]
    return {
        "collection": name,
        "documents": dict(catalog.count(name)),
        "dead": dict(catalog.dead_counts(name)),
        "bundle": str(bundles[0]) if bundles else settings.bundle,
        "last_runs": tuple(catalog.runs(name, 5)),
        "lock": _holder(catalog, name),
        "retraining": _holder(catalog, retraining(name)),
        "watching": _holder(catalog, watching(name)),
        "work": _work(settings, catalog),
        "drift": drift,
        "drifted": drift.beyond(settings.drift),
        "saved_searches": tuple(catalog.saved_searches(name)),
    }


def _holder(catalog: Catalog, lock: str) -> str:
    holder = catalog.lock_holder(lock)
    return f"{holder.owner} (pid {holder.pid} on {holder.host})" if holder else ""


def _work(settings: Settings, catalog: Catalog) -> WorkStatus:
    name = settings.collection
    runs = catalog.open_runs(name)
    retrains = catalog.open_runs(name, retrains=True)
    batches = catalog.work(name)
    finishing = any(catalog.is_complete(run.id) for run in runs)
    finisher = _holder(catalog, name) if finishing else ""
    idle: list[str] = [
        state for state, waiting in batches.waiting.items() if waiting and not batches.held[state]
    ]
    idle += ["maintain"] if finishing and not finisher else []
    idle += ["train"] if retrains and not _holder(catalog, retraining(name)) else []
    queues: dict[str, int | None] = {}
    if settings.broker:
        from workers.messages import Sender

        queues |= Sender(settings).depths()
    return WorkStatus(
        batches=batches,
        queues=queues,
        left=catalog.count(name)["stored"],
        mined=sum(run.counts.get("mined", 0) for run in runs),
        runs=tuple(runs),
        retrains=tuple(retrains),
        finishing=finishing,
        finisher=finisher,
        idle_queues=tuple(idle),
    )


@dataclass(frozen=True)
class WorkStatus:
    """The work of the workers at this moment.

    Attributes:
        batches: Batches in progress.
        queues: Messages that no worker has taken, by queue; None if the broker does not answer. Empty without a broker.
        left: Documents that are stored and not mined.
        mined: Documents mined by the open runs.
        runs: Open runs.
        retrains: Open retrains of workers.
        finishing: A run has mined everything, and its keyphrases, topics and phrase rows remain.
        finisher: The process that computes them; empty if there is none.
        idle_queues: Queues with work that is not in progress.
    """

    batches: Work
    queues: Mapping[str, int | None]
    left: int
    mined: int
    runs: tuple[Run, ...]
    retrains: tuple[Run, ...]
    finishing: bool
    finisher: str
    idle_queues: tuple[str, ...]

    @property
    def broker_is_away(self) -> bool:
        return None in self.queues.values()

    @property
    def idle(self) -> bool:
        """Whether there is no work, and no run waits for its end."""
        return not (self.batches.documents or self.runs or self.retrains)


@dataclass(frozen=True)
class PartialStatus:
    """State of a collection; fields of a server that is away are None or empty."""

    collection: str
    bundle: str
    engine: EngineInfo | None = None
    documents: Mapping[str, int] = field(default_factory=dict)  # state ► documents
    without_topic: int | None = None
    dead: Mapping[str, int] = field(default_factory=dict)  # stage ► dead letters
    topics: int | None = None
    last_runs: tuple[Run, ...] = ()
    lock: str = ""  # the process that is writing, or ""
    retraining: str = ""  # the process that retrains or rolls back, or ""
    watching: str = ""  # the process that follows a user's index, or ""
    work: WorkStatus | None = None
    drift: Drift | None = None
    saved_searches: tuple[SavedSearch, ...] = ()
    drifted: tuple[str, ...] = ()  # the signs of drift that are over their limits, in words

    @property
    def worth_a_retrain(self) -> bool:
        """Whether enough new documents differ from the old."""
        return bool(self.drifted)


@dataclass(frozen=True, kw_only=True)
class Status(PartialStatus):
    """State of a collection, with all servers."""

    engine: EngineInfo
    without_topic: int
    topics: int
    work: WorkStatus
    drift: Drift
