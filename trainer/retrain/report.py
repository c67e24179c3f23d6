"""Options and report of a retrain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from indexer.pipeline.drift_check import Drift
from trainer.retrain.gate import Report

if TYPE_CHECKING:
    from trainer.retrain.candidates import Method

# accepted: a run that is not dry would have swapped
Verdict = Literal["swapped", "nothing", "refused", "accepted", "paused"]


@dataclass(frozen=True)
class RetrainOptions:
    """Options of a retrain.

    Attributes:
        budget: Seconds for the trainings together; 0 = no limit.
        dry_run: Stop before the next generation is built.
        force: Train although nothing has changed, and switch even if the gate refuses.
        if_drifted: Train only where the collection has drifted, or has grown very much.
        ground_truth: File of labelled examples that decide too.
        candidate: Name or folder of an existing bundle to judge, without any training.
    """

    method: Method = "both"
    budget: float = 0.0
    dry_run: bool = False
    force: bool = False
    seed: int = 0
    if_drifted: bool = False
    ground_truth: Path | None = None
    candidate: str = ""

    @property
    def files(self) -> list[str]:
        """Files and folders that the process which retrains reads."""
        folder = [self.candidate] if Path(self.candidate).is_absolute() else []
        return [*([str(self.ground_truth.absolute())] if self.ground_truth else []), *folder]

    def as_json(self) -> dict[str, Any]:
        """Plain data, for the catalog."""
        return {**vars(self), "ground_truth": str(self.ground_truth.absolute()) if self.ground_truth else ""}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """The reverse of `as_json`; other keys are ignored."""
        record = {"ground_truth": record.get("gold", ""), **record}  # its name in version 0.1.0
        given = {one.name: record[one.name] for one in fields(cls)}
        return cls(
            **{**given, "ground_truth": Path(given["ground_truth"]) if given["ground_truth"] else None}
        )


@dataclass
class RetrainReport:
    """Result of a retrain."""

    verdict: Verdict = "nothing"
    run: str = ""
    reason: str = ""  # one sentence
    resumed: bool = False  # a killed run, or a further slice
    bundle: str = ""  # that is live now
    judged: dict[str, Report] = field(default_factory=dict)  # candidate ► result of the gate
    drift: Drift | None = None  # where it was measured
    notes: list[str] = field(default_factory=list)  # what was left out
    generation: int = 0  # that is live now; 0 when none was built
    fit: str = ""  # of its topics: the run that fitted them
    replaced: int = 0
    replaced_fit: str = ""  # for a rollback
    seconds: float = 0.0

    def counts(self) -> dict[str, Any]:
        """Plain data, for the catalog and for programs."""
        return {
            **vars(self),
            "judged": {name: report.as_json() for name, report in self.judged.items()},
            "drift": asdict(self.drift) if self.drift else None,
            "seconds": round(self.seconds, 1),
        }
