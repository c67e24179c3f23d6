"""The gate: may a new encoder take over? Old beside new on the same probe; better in one thing, too bad in none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from indexer.encoding import Floats
from trainer.retrain.measure import Measured, Rows

SURE = 0.05  # a gain must be there in all but so many of the resampled probes
RESAMPLES = 1_000
Verdict = Literal["better", "kept", "worse"]


@dataclass(frozen=True)
class Limits:
    """How much a new encoder may cost, each in the unit of its figure, and what it must gain.

    Attributes:
        gain: In one of the two figures that tell better from worse; less is not worth another space.
        silhouette, npmi, context, siblings, gold: How much lower it may be. Topics waver by so much from start to start.
        without_topic, likeness: How much higher.
        neighbours, search: Share of the nearest ten that must stay: below it, saved searches answer something else.
        churn: Share of the documents that may change their topic.
        speed: Times the old one.
    """

    silhouette: float = 0.03
    npmi: float = 0.05
    gain: float = 0.005
    context: float = 0.01
    siblings: float = 0.01
    neighbours: float = 0.3
    churn: float = 0.4
    without_topic: float = 0.05
    search: float = 0.3
    likeness: float = 0.2
    speed: float = 0.8
    gold: float = 0.01


DEFAULTS = Limits()


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes:
        old: None where the old encoder is what the new one is compared with.
        limit: What is asked of the new value, as one reads it: "0.61 or more".
        may_gain: Whether being better in it is a reason to take over.
    """

    name: str
    old: float | None
    new: float
    limit: str
    verdict: Verdict
    may_gain: bool = False


@dataclass(frozen=True)
class Report:
    """What the gate says.

    Attributes:
        reasons: Why the new encoder may not take over, a sentence each; empty when it may.
    """

    checks: tuple[Check, ...]
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        return not self.reasons

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


def judge(
    old: Measured,
    new: Measured,
    limits: Limits = DEFAULTS,
    gold: Mapping[str, tuple[float, float]] | None = None,
) -> Report:
    """Compare two encoders on one probe.

    Args:
        gold: Figures on examples that people have labelled: name ► (old, new), higher is better.
    """
    checks = [
        *(
            _least(name, a, b, limits.gold, better=b > a + limits.gold)
            for name, (a, b) in (gold or {}).items()
        ),
        _paired("masked phrase found in another text", old.context, new.context, limits.context, limits.gain),
        _paired(
            "phrases named side by side are near", old.siblings, new.siblings, limits.siblings, limits.gain
        ),
        _least("silhouette of topics", old.silhouette, new.silhouette, limits.silhouette),
        _least("NPMI of topics", _mean(old.npmi), _mean(new.npmi), limits.npmi),
        _most("share without a topic", old.without_topic, new.without_topic, limits.without_topic),
        _most("likeness of random phrases", old.likeness, new.likeness, limits.likeness),
        _share("neighbours kept, documents", overlap(old.documents, new.documents), limits.neighbours),
        _share("neighbours kept, phrases", overlap(old.mentions, new.mentions), limits.neighbours),
        _share("hits kept", overlap(old.answers, new.answers), limits.search),
        _share("documents in the same topic", same_topic(old.topic, new.topic), 1 - limits.churn),
        _share("speed", speed(old.seconds, new.seconds), limits.speed),
    ]
    reasons = [f"{c.name}: {c.new:.3f}, must be {c.limit}." for c in checks if c.verdict == "worse"]
    if not reasons and not any(check.verdict == "better" for check in checks):
        reasons = [_no_gain(checks)]
    return Report(tuple(checks), tuple(reasons))


def _no_gain(checks: Sequence[Check]) -> str:
    shown = [f"{c.name}: {c.old:.3f} before, {c.new:.3f} now" for c in checks if c.may_gain]
    return f"Nothing is surely better ({'; '.join(shown)})."


def _paired(name: str, old: Floats, new: Floats, loss: float, gain: float) -> Check:
    better = _mean(new) >= _mean(old) + gain and _surely_positive(new - old)
    return _least(name, _mean(old), _mean(new), loss, better=better, may_gain=True)


def _least(
    name: str, old: float, new: float, loss: float, *, better: bool = False, may_gain: bool = False
) -> Check:
    ok = new >= old - loss  # False for NaN
    verdict: Verdict = "better" if better and ok else _kept(ok)
    return Check(name, old, new, f"{old - loss:.3f} or more", verdict, may_gain)


def _most(name: str, old: float, new: float, more: float) -> Check:
    return Check(name, old, new, f"{old + more:.3f} or less", _kept(new <= old + more))


def _share(name: str, new: float, least: float) -> Check:
    return Check(name, None, new, f"{least:.3f} or more", _kept(new >= least))


def _kept(ok: bool) -> Verdict:
    return "kept" if ok else "worse"


def _mean(values: Floats) -> float:
    """Without what could not be measured."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def _surely_positive(differences: Floats) -> bool:
    """Whether the mean of paired differences stays above 0 when the pairs are drawn anew."""
    if not len(differences):
        return False
    draw = np.random.default_rng(0)
    means = [
        differences[draw.integers(0, len(differences), len(differences))].mean() for _ in range(RESAMPLES)
    ]
    return float(np.quantile(means, SURE)) > 0


def speed(old: Floats, new: Floats) -> float:
    """How many times as fast the new encoder is: the median over chunks, so that a busy moment does not count."""
    return float(np.median(old / new))


def overlap(old: Rows, new: Rows) -> float:
    """Mean share of each row's entries that the same row of the other has too; 1 without rows."""
    if not old.size:
        return 1.0
    return float(
        np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(old.tolist(), new.tolist(), strict=True)])
    )


def same_topic(old: Rows, new: Rows) -> float:
    """Share of the texts whose new topic is the one that continues their old one, in the best of all ways.

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
