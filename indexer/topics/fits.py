"""Fits of topics as the catalog keeps them: arrays, and the permanent ids of their topics."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.catalog import Catalog
from indexer.catalog.entries import Fit, LineageEntry
from indexer.topics.models.base import TopicFit
from indexer.topics.models.registry import DEFAULT

OUTDATED = "outdated"  # said of a fit whose texts are gone


@dataclass(frozen=True)
class NamedFit:
    """A fit with the permanent ids of its topics, in the order of its centroids."""

    run: str
    fit: TopicFit
    ids: tuple[str, ...]
    asked: int | None  # how many topics were asked for
    lineage: tuple[LineageEntry, ...] = ()
    finder: str = DEFAULT
    fitted: str = ""  # the run whose documents the arrays were fitted to, where it is another one
    outdated: bool = False  # nearly all texts have become others since


def live_fit(catalog: Catalog, collection: str) -> NamedFit | None:
    """The fit that assigns topics now, or None."""
    found = catalog.live_fit(collection)
    return _named(found) if found else None


def saved_fit(catalog: Catalog, collection: str, run: str) -> NamedFit:
    """The fit that a run made, live or not.

    Raises:
        NotFound: There is none.
    """
    return _named(catalog.fit(collection, run))


def _named(found: Fit) -> NamedFit:
    lineage = tuple(LineageEntry(**values) for values in found.info.get("lineage", ()))
    fitted = TopicFit.from_arrays(found.arrays)
    ids, finder = tuple(found.info["ids"]), found.info.get("finder", DEFAULT)
    asked = found.info.get("asked")
    run, outdated = str(found.info.get("fitted", "")), bool(found.info.get(OUTDATED))
    return NamedFit(found.run, fitted, ids, asked, lineage, finder, run, outdated)
