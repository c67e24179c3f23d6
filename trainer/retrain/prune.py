"""Removes, at the end of a retrain, generations that are not kept and encoders that no generation uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from indexer.catalog import Catalog
from indexer.engines.generations import Generation, Generations
from indexer.errors import SearchError
from indexer.log import get_logger
from indexer.pipeline.next_generation import remove_generation
from indexer.settings import Settings
from models.registry import Registry

logger = get_logger(__name__)


def prune(generations: Generations, catalog: Catalog, registry: Registry, settings: Settings) -> None:
    """Remove older generations and encoders. The caller holds the lock of the collection.

    Generations that an engine cannot remove now are removed after the next retrain.
    """
    name = settings.collection
    try:
        for one in superfluous(generations.all(), _way_back(generations, catalog, name), settings):
            remove_generation(generations, catalog, name, one.number)
            logger.info("generation_removed", number=one.number, bundle=one.bundle)
    except SearchError as error:
        logger.warning("not_pruned", reason=str(error))
        return
    prune_encoders(generations, catalog, registry, name)


def prune_encoders(
    generations: Generations,
    catalog: Catalog,
    registry: Registry,
    collection: str,
    but: Set[str] = frozenset(),
) -> None:
    """Remove encoders that retrains of this collection have made, and that no generation of any collection needs.

    Args:
        but: Names of encoders that stay.
    """
    try:
        used = {one.bundle for one in generations.all()}
    except SearchError as error:
        logger.warning("not_pruned", reason=str(error))
        return
    for bundle in _unused(catalog, registry, collection, used | but):
        catalog.keep_bundle_files(collection, bundle, None)
        if bundle in registry.list():
            registry.remove(bundle)
        logger.info("bundle_removed", name=bundle)


def superfluous(known: Sequence[Generation], way_back: int, settings: Settings) -> list[Generation]:
    """Generations that were live and are not kept, oldest first.

    The newest are kept, within the number and the disk space of the settings; `way_back` is always kept.
    """
    kept = [one for one in known if one.number == way_back]
    others = sorted(
        (one for one in known if one.state == "kept" and one not in kept), key=lambda one: -one.number
    )
    room = settings.keep_gigabytes * 1e9 or float("inf")
    for one in others:
        fits = sum(other.bytes for other in [*kept, one]) <= room
        if len(kept) + 1 >= settings.keep_generations or not fits:  # the live one counts too
            break
        kept.append(one)
    return sorted((one for one in others if one not in kept), key=lambda one: one.number)


def _way_back(generations: Generations, catalog: Catalog, collection: str) -> int:
    live = catalog.generations(collection).get(generations.live())
    return live.replaced if live else 0


def _unused(catalog: Catalog, registry: Registry, collection: str, used: set[str]) -> Iterator[str]:
    """Encoders that retrains of this collection have made, and that are not used."""
    elsewhere = {bundle.rpartition("@")[0] for bundle in catalog.bundles_used()}
    for name in sorted({*registry.list(), *catalog.bundles_with_files(collection)}):
        if is_candidate(name, collection) and name not in used | elsewhere:
            yield name


def is_candidate(bundle: str, collection: str) -> bool:
    """Whether a retrain of this collection gave the bundle its name; see `trainer.retrain.candidates`."""
    return bool(re.fullmatch(rf"{re.escape(collection)}-[0-9a-f]{{12}}-[0-9a-f]{{6}}-(pairs|ccl)", bundle))
