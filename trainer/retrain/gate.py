"""The gate: compares a new encoder with the old one on one probe; one check must gain, and none may lose too much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from indexer.common import Floats
from indexer.limits import GATE, GateLimits
from trainer.retrain.measure import Measured, Rows

SIGNIFICANCE = 0.05  # a gain must hold in all but this share of the bootstrap samples
RESAMPLES = 1_000
CONTEXT = "masked phrase found in another text"
LOST = 0.25  # of the masked phrases found before; below it, hardly anything is left of the training
FORGOTTEN = "It has forgotten its training, hardly a phrase is known by its context"
COLLAPSED = 0.97  # mean cosine of random phrases, above which all other figures follow from it
FLAT = "The space has collapsed, all phrases are similar"
Verdict = Literal["better", "kept", "worse"]


@dataclass(frozen=True)
class GateCheck:
    """One line of the report.

    Attributes:
        old: None where the value itself compares the new encoder with the old one.
        limit: Of the new value, as text: "0.61 or more".
        fault: Meaning of a value beyond the limit.
        may_gain: Whether a gain in it is a reason to accept the encoder.
    """

    name: str
    old: float | None
    new: float
    limit: str
    verdict: Verdict
    fault: str = ""
    may_gain: bool = False

    @property
    def reason(self) -> str:
        """The sentence of a refusal."""
        before = "" if self.old is None else f", before {self.old:.3f}"
        return f"{self.fault}: {self.new:.3f}{before}; it must be {self.limit}."


@dataclass(frozen=True)
class Report:
    """The result of the gate.

    Attributes:
        reasons: Why the new encoder is refused, a sentence each; empty when it is accepted.
    """

    checks: tuple[GateCheck, ...]
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        return not self.reasons

    @property
    def summary(self) -> str:
        """The first reason, and the number of others."""
        more = f" And {len(self.reasons) - 1} more." if len(self.reasons) > 1 else ""
        return f"{self.reasons[0]}{more}" if self.reasons else ""

    @property
    def gains(self) -> str:
        """Significant improvements, in numbers; empty when there is none."""
        return _formatted(check for check in self.checks if check.verdict == "better")

    @property
    def context(self) -> float:
        """How well masked phrases are found; it decides between two accepted encoders."""
        return next((check.new for check in self.checks if check.name == CONTEXT), 0.0)

    def as_json(self) -> dict[str, Any]:
        """Plain data, for the catalog and for programs."""
        return {
            "accepted": self.accepted,
            "reasons": list(self.reasons),
            "checks": [
                {**vars(check), "old": _rounded(check.old), "new": _rounded(check.new)}
                for check in self.checks
            ],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Report:
        """The reverse of `as_json`."""
        checks = (
            {**check, "new": np.nan if check["new"] is None else check["new"]} for check in record["checks"]
        )
        return cls(tuple(GateCheck(**check) for check in checks), tuple(record["reasons"]))


def judge(old: Measured, new: Measured, limits: GateLimits = GATE, *, speed: float = 1.0) -> Report:
    """Compare two encoders on one probe.

    Args:
        speed: Of the new encoder, relative to the old one.
    """
    forgotten = _mean(new.context) < LOST * _mean(old.context)
    checks = [
        *(_paired(name, "Labelled examples are answered worse", values, new.labelled[name],
                  limits.ground_truth, limits.gain)
          for name, values in old.labelled.items()),
        _paired(
            CONTEXT, FORGOTTEN if forgotten else "Phrases are known by their context less often",
            old.context, new.context, limits.context, limits.gain,
        ),
        _paired(
            "phrases named side by side are near", "Phrases of one kind have moved apart",
            old.siblings, new.siblings, limits.siblings, limits.gain,
        ),
        *(_paired(f"documents found, by {mode}", f"Searches by {mode} find their documents less often",
                  values, new.searches[mode], limits.found, limits.gain)
          for mode, values in old.searches.items()),
        _at_least(
            "silhouette of topics", "Topics are less distinct", old.silhouette, new.silhouette, limits.silhouette
        ),
        _at_least("NPMI of topics", "Topics are less coherent", _mean(old.npmi), _mean(new.npmi), limits.npmi),
        _at_most(
            "share without a topic", "More documents are left without a topic",
            old.without_topic, new.without_topic, limits.without_topic,
        ),
        _at_most(
            "similarity of random phrases", FLAT if new.similarity > COLLAPSED else "Random phrases are more similar",
            old.similarity, new.similarity, limits.similarity,
        ),
        _share(
            "neighbours kept, documents", "Documents have other neighbours than before",
            overlap(old.documents, new.documents), limits.neighbours,
        ),
        _share(
            "neighbours kept, phrases", "Phrases have other neighbours than before",
            overlap(old.mentions, new.mentions), limits.neighbours,
        ),
        _share("hits kept", "Queries find other documents than before", overlap(old.answers, new.answers), limits.search),
        _share(
            "documents in the same topic", "Too many documents change their topic",
            same_topic(old.topic, new.topic), 1 - limits.churn,
        ),
        _share("speed", "It is slower", speed, limits.speed),
    ]  # fmt: skip
    worse = sorted((c for c in checks if c.verdict == "worse"), key=lambda c: c.fault != FLAT)
    reasons = [check.reason for check in worse]
    if all(check.verdict == "kept" for check in checks if check.may_gain):
        reasons.append(_no_gain(checks))
    return Report(tuple(checks), tuple(reasons))


def _no_gain(checks: Sequence[GateCheck]) -> str:
    return f"No significant improvement ({_formatted(check for check in checks if check.may_gain)})."


def _formatted(checks: Iterable[GateCheck]) -> str:
    return "; ".join(f"{c.name}: {c.old:.3f} before, {c.new:.3f} now" for c in checks)


def _paired(name: str, fault: str, old: Floats, new: Floats, loss: float, gain: float) -> GateCheck:
    both = ~np.isnan(new - old)  # encoders with another window read other sentences
    before, after = _mean(old[both]), _mean(new[both])
    better = after >= before + gain and _significantly_positive(new[both] - old[both])
    return _at_least(name, fault, before, after, loss, better=better, may_gain=True)


def _at_least(
    name: str,
    fault: str,
    old: float,
    new: float,
    loss: float,
    *,
    better: bool = False,
    may_gain: bool = False,
) -> GateCheck:
    ok = new >= old - loss  # False for NaN
    verdict: Verdict = "better" if better and ok else _kept(ok)
    least = round(old - loss, 3) + 0.0  # no "-0.000"
    return GateCheck(name, old, new, f"{least:.3f} or more", verdict, fault, may_gain)


def _at_most(name: str, fault: str, old: float, new: float, more: float) -> GateCheck:
    return GateCheck(name, old, new, f"{old + more:.3f} or less", _kept(new <= old + more), fault)


def _share(name: str, fault: str, new: float, least: float) -> GateCheck:
    return GateCheck(name, None, new, f"{least:.3f} or more", _kept(new >= least), fault)


def _kept(ok: bool) -> Verdict:
    return "kept" if ok else "worse"


def _mean(values: Floats) -> float:
    """Mean of the values that could be measured."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def _significantly_positive(differences: Floats) -> bool:
    """Whether the mean of paired differences stays above 0 in bootstrap samples of the pairs."""
    if not len(differences):
        return False
    draw = np.random.default_rng(0)
    means = [
        differences[draw.integers(0, len(differences), len(differences))].mean() for _ in range(RESAMPLES)
    ]
    return float(np.quantile(means, SIGNIFICANCE)) > 0


def overlap(old: Rows, new: Rows) -> float:
    """Mean share of each row's entries that the same row of the other has too; 1 without rows."""
    if not old.size:
        return 1.0
    return float(
        np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(old.tolist(), new.tolist(), strict=True)])
    )


def same_topic(old: Rows, new: Rows) -> float:
    """Share of the texts whose new topic continues their old one, under the best assignment of topics.

    A text without a topic before and after counts as the same.
    """
    from scipy.optimize import linear_sum_assignment

    without = float(np.mean((old < 0) & (new < 0)))
    both = (old >= 0) & (new >= 0)
    if not both.any():
        return without
    together = np.zeros((old.max() + 1, new.max() + 1), np.intp)
    np.add.at(together, (old[both], new[both]), 1)
    return without + float(together[linear_sum_assignment(together, maximize=True)].sum() / len(old))


def _rounded(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else round(value, 4)
