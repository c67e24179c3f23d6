"""The embedded engine: one SQLite file and three files of vectors in one folder."""

from __future__ import annotations

from functools import partial

from indexer.engines.local.engine import LocalEngine
from indexer.engines.local.generations import LocalGenerations, live_folder, record_bundle
from indexer.errors import NotFound
from indexer.read_only import may_write
from indexer.settings import Settings

__all__ = ["LocalEngine", "exists", "open_engine", "open_generations"]


def open_engine(settings: Settings, dims: int, *, create: bool) -> LocalEngine:
    new = not exists(settings)
    if new and not create:
        raise NotFound(
            f"There is no collection '{settings.collection}' in {settings.home}.",
            hint="Make one: indexer index SOURCE. Or name another folder: --home PATH",
        )
    settings.make_home()
    live = partial(live_folder, settings.collection_folder)
    folder = live()
    locked = folder.is_dir() and not may_write(folder)
    engine = LocalEngine(folder, dims, language=settings.language, read_only=locked, live=live)
    if new:
        record_bundle(folder, settings.bundle)
    return engine


def open_generations(settings: Settings) -> LocalGenerations:
    return LocalGenerations(settings.collection_folder, language=settings.language)


def exists(settings: Settings) -> bool:
    return settings.collection_folder.exists()
