"""Has a collection drifted since its topics were fitted, or since a retrain last looked at it?

Measured at the end of a run, on a sample that does not grow with the collection, and kept with the fit in the catalog:
`indexer status` reads it there. A fit that goes back to an earlier one has its own figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from typing import Any

from indexer.catalog import Catalog
from indexer.catalog.entries import Fit, Run
from indexer.common import shuffled
from indexer.engines.base import Engine
from indexer.limits import DriftLimits
from indexer.topics.drift import Seen, Sign, Signs, compare, enough

REFERENCE = 400  # documents that others are compared with
EACH = 200  # new ones, and as many old ones
GROWN = 1.1  # times as many new documents since it was measured last; fewer change little
PAST = 100  # retrains that are looked through for the last one that judged
TO_JUDGE_BY = 200  # documents that a retrain needs, or it is refused; see `trainer.retrain.probe`
KEPT_AS = "drift"  # in what is said of a fit

NAMES = {
    "beyond_topics": "phrases beyond topics",
    "topic_shares": "shares of topics",
    "new_vocabulary": "new vocabulary",
}


@dataclass(frozen=True)
class Drift:
    """What came, and how unlike it is.

    Attributes:
        since: The run after which a document is new: the one that fitted the topics, or the last retrain that judged.
        new: Documents that came or changed since.
        old: The others.
        signs: None where there are too few of either to say.
    """

    since: str
    new: int
    old: int
    signs: Signs | None = None

    def beyond(self, limits: DriftLimits) -> tuple[str, ...]:
        """Why a retrain is worth it, in words: what is beyond its limit. Empty: it is not.

        There must be enough new, and it is unlike the old or very much; never where too few can be compared.
        """
        if self.new <= limits.fewest * self.old or not self.old:
            return ()
        if not self.signs and self.new + self.old < TO_JUDGE_BY:
            return ()
        signs = vars(self.signs).items() if self.signs else ()
        unlike = [NAMES[name] for name, sign in signs if sign.more > getattr(limits, name)]
        much = ["how many are new"] if self.new > limits.growth * self.old else []
        return (*unlike, *much)

    def __str__(self) -> str:
        if not self.signs:
            return f"{self.new:,} new and {self.old:,} old documents; too few to compare"
        signs = ", ".join(_shown(name, sign) for name, sign in vars(self.signs).items())
        return f"{self.new:,} new and {self.old:,} old documents: {signs}"


def _shown(name: str, sign: Sign) -> str:
    return f"{NAMES[name]} {100 * sign.new:.0f} % (old ones {100 * sign.old:.0f} %)"


def measure(engine: Engine, catalog: Catalog, collection: str) -> Drift:
    """Compare new documents with old ones, now, and keep it."""
    found = _counted(catalog, collection)
    if enough(found.new, found.old):
        new = nsmallest(EACH, catalog.ids(collection, state="done", after=found.since), key=shuffled)
        old = nsmallest(
            EACH + REFERENCE, catalog.ids(collection, state="done", until=found.since), key=shuffled
        )
        beside, reference = old[: len(new)], old[len(new) :]
        signs = compare(*(_seen(engine, ids) for ids in (reference, beside, new)))
        found = Drift(found.since, found.new, found.old, signs)
    if fit := _live(catalog, collection):
        catalog.add_to_fit(collection, fit.run, {KEPT_AS: asdict(found)})
    return found


def latest(catalog: Catalog, collection: str) -> Drift:
    """What was measured last; only counted where nothing was measured for these topics, and since the last retrain."""
    return _last(catalog, collection) or _counted(catalog, collection)


def keep_up(engine: Engine, catalog: Catalog, collection: str) -> None:
    """Measure where enough came since it was measured last."""
    last, now = _last(catalog, collection), _counted(catalog, collection)
    if now.new > (GROWN * last.new if last else 0):
        measure(engine, catalog, collection)


def _last(catalog: Catalog, collection: str) -> Drift | None:
    fit = _live(catalog, collection)
    said = fit.info.get(KEPT_AS) if fit else None
    if not said or said["since"] != _since(catalog, collection):
        return None
    return Drift(**{**said, "signs": _signs(said["signs"])})


def _signs(said: Mapping[str, Any] | None) -> Signs | None:
    return Signs(**{name: Sign(**values) for name, values in said.items()}) if said else None


def _counted(catalog: Catalog, collection: str) -> Drift:
    since = _since(catalog, collection)
    sizes = catalog.count_by_run(collection)
    new = sum(number for run, number in sizes.items() if run > since)
    return Drift(since, new, sum(sizes.values()) - new)


def _since(catalog: Catalog, collection: str) -> str:
    fit = _live(catalog, collection)
    fitted = str(fit.info.get("fitted") or fit.run) if fit else ""
    judged = (run.id for run in catalog.runs(collection, PAST, kinds=("retrain",)) if _has_judged(run))
    return max(fitted, next(judged, ""))


def _live(catalog: Catalog, collection: str) -> Fit | None:
    return next((fit for fit in catalog.fits(collection) if fit.live), None)


def _has_judged(run: Run) -> bool:
    """Whether a retrain has trained on what there was; one that was given a bundle has not."""
    return run.counts.get("verdict") in ("swapped", "refused") and not run.options.get("candidate")


def _seen(engine: Engine, ids: Sequence[str]) -> list[Seen]:
    phrases: dict[str, list[tuple[str, str | None]]] = {}
    for row in engine.mentions(ids):
        phrases.setdefault(row.document_id, []).append((row.phrase, row.topic))
    return [
        Seen(stored.topics[0].topic_id if stored.topics else None, tuple(phrases.get(stored.document.id, ())))
        for stored in engine.documents(ids)
    ]
