"""Methods that report the state of a collection: generations, counts, work of the workers, dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indexer.catalog.entries import DeadLetter, Run, Work
from indexer.catalog.locks import retraining, watching
from indexer.collection.base import OpenCollection
from indexer.engines.base import EngineInfo
from indexer.pipeline.drift_check import Drift, latest

if TYPE_CHECKING:
    from indexer.engines.generations import Generation


class StatusMethods(OpenCollection):
    """A collection whose state can be read."""

    def generations(self) -> list[Generation]:
        """Complete sets of rows, each mined with one encoder: the live one, those that are kept, an unfinished one."""
        from indexer.engines.registry import open_generations

        with closing(open_generations(self.settings)) as generations:
            return generations.all()

    def status(self) -> Status:
        """Counts, sizes, drift, dead letters and the last runs."""
        info = self.engine.info()
        drift = latest(self.catalog, self.name)
        bundles = [
            run.counts.get("bundle") for run in self.catalog.runs(self.name) if run.counts.get("bundle")
        ]
        return Status(
            collection=self.name,
            engine=info,
            documents={state: number for state, number in self.catalog.count(self.name).items()},
            without_topic=info.without_topic,
            dead={stage: number for stage, number in self.catalog.dead_counts(self.name).items()},
            topics=info.topics,
            bundle=str(bundles[0]) if bundles else self.settings.bundle,
            last_runs=tuple(self.catalog.runs(self.name, 5)),
            lock=self._holder(self.name),
            retraining=self._holder(retraining(self.name)),
            watching=self._holder(watching(self.name)),
            work=self.work(),
            drift=drift,
            drifted=drift.beyond(self.settings.drift),
        )

    def _holder(self, lock: str) -> str:
        holder = self.catalog.lock_holder(lock)
        return f"{holder.owner} (pid {holder.pid} on {holder.host})" if holder else ""

    def work(self) -> WorkStatus:
        """The work of the workers: batches, queues, active runs and retrains."""
        runs = self.catalog.open_runs(self.name)
        retrains = self.catalog.open_runs(self.name, retrains=True)
        batches = self.catalog.work(self.name)
        finishing = any(self.catalog.is_through(run.id) for run in runs)
        finisher = self._holder(self.name) if finishing else ""
        idle: list[str] = [
            state for state, waiting in batches.waiting.items() if waiting and not batches.held[state]
        ]
        idle += ["maintain"] if finishing and not finisher else []
        idle += ["train"] if retrains and not self._holder(retraining(self.name)) else []
        queues: dict[str, int | None] = {}
        if self.settings.broker:
            from workers.messages import Sender

            queues |= Sender(self.settings).depths()
        return WorkStatus(
            batches=batches,
            queues=queues,
            left=self.catalog.count(self.name)["stored"],
            mined=sum(run.counts.get("mined", 0) for run in runs),
            runs=tuple(runs),
            retrains=tuple(retrains),
            finishing=finishing,
            finisher=finisher,
            idle_queues=tuple(idle),
        )

    def unattended(self) -> tuple[str, ...]:
        """Queues with work that no worker answers for. Pings the workers, which takes a second."""
        from workers.messages import Sender

        before = self.work()
        if not before.idle_queues or None in before.queues.values():
            return ()
        attended = Sender(self.settings).attended()
        still = self.work().idle_queues  # a worker that has taken a message since did not answer
        return tuple(queue for queue in still if queue in before.idle_queues and queue not in attended)

    def dead_letters(self, limit: int | None = None) -> list[DeadLetter]:
        """Documents and records that could not be processed, with the reasons."""
        return self.catalog.dead(self.name, limit=limit)


@dataclass(frozen=True)
class WorkStatus:
    """The work of the workers at this moment.

    Attributes:
        batches: On their way.
        queues: Messages that no worker has taken, by queue; None where the broker does not answer. Empty without one.
        left: Documents that are stored and not mined.
        mined: By the runs that are not finished.
        runs: Those.
        retrains: That workers do.
        finishing: Everything of a run is mined; keyphrases, topics and phrase rows are left.
        finisher: The process that does that now; empty without one.
        idle_queues: Queues with work that no worker is doing.
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
    def idle(self) -> bool:
        """Whether there is no batch and no unfinished run."""
        return not (self.batches.documents or self.runs or self.retrains)


@dataclass(frozen=True)
class Status:
    """State of the collection."""

    collection: str
    engine: EngineInfo
    documents: Mapping[str, int]  # state ► documents
    without_topic: int
    dead: Mapping[str, int]  # stage ► dead letters
    topics: int
    bundle: str
    last_runs: tuple[Run, ...]
    lock: str  # process that is writing now, or ""
    retraining: str  # process that retrains or rolls back now, or ""
    watching: str  # process that watches a user's index now, or ""
    work: WorkStatus
    drift: Drift
    drifted: tuple[str, ...]  # signs beyond their limits, in words

    @property
    def worth_a_retrain(self) -> bool:
        """Whether there is enough that is new and unlike the old."""
        return bool(self.drifted)
