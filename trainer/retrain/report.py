"""What is asked of a retrain, and what it says in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from indexer.pipeline.drift_check import Drift
from trainer.retrain.gate import Report

if TYPE_CHECKING:
    from trainer.retrain.candidates import Method

Verdict = Literal[
    "swapped", "nothing", "refused", "accepted", "paused"
]  # accepted: a dry run would have swapped


@dataclass(frozen=True)
class RetrainOptions:
    """What is wanted.

    Attributes:
        budget: Seconds for the trainings together; 0 = as long as they take.
        dry_run: Stop before the next generation is built.
        force: Train though nothing has changed, and take over whatever the gate says.
        if_drifted: Train only where the collection has drifted, or has grown by very much.
        gold: Labelled examples that decide too.
        candidate: A bundle that is there: judge it, and train nothing. Its name or its folder.
    """

    method: Method = "both"
    budget: float = 0.0
    dry_run: bool = False
    force: bool = False
    seed: int = 0
    if_drifted: bool = False
    gold: Path | None = None
    candidate: str = ""

    @property
    def files(self) -> list[str]:
        """What is read from the disk of whoever does it."""
        folder = [self.candidate] if Path(self.candidate).is_absolute() else []
        return [*([str(self.gold.absolute())] if self.gold else []), *folder]

    def as_json(self) -> dict[str, Any]:
        """Plain data, for the catalog."""
        return {**vars(self), "gold": str(self.gold.absolute()) if self.gold else ""}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """The reverse of `as_json`; what else is said is ignored."""
        given = {one.name: said[one.name] for one in fields(cls)}
        return cls(**{**given, "gold": Path(given["gold"]) if given["gold"] else None})


@dataclass
class RetrainReport:
    """What a retrain did."""

    verdict: Verdict = "nothing"
    run: str = ""
    reason: str = ""  # one sentence
    resumed: bool = False  # it went on with one that was killed, or is one more slice
    bundle: str = ""  # that is live now
    judged: dict[str, Report] = field(default_factory=dict)  # candidate ► what the gate said
    drift: Drift | None = None  # where it was asked for
    notes: list[str] = field(default_factory=list)  # what was left out, and what did not go on
    generation: int = 0  # that is live now; 0 when none was made
    fit: str = ""  # of its topics: the run that made it
    replaced: int = 0
    replaced_fit: str = ""  # what a way back needs
    seconds: float = 0.0

    def counts(self) -> dict[str, Any]:
        """Plain data, for the catalog and for programs."""
        return {
            **vars(self),
            "judged": {name: report.as_json() for name, report in self.judged.items()},
            "drift": asdict(self.drift) if self.drift else None,
            "seconds": round(self.seconds, 1),
        }
