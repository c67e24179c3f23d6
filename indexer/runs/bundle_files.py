"""Bundles that retrains have made: packed into the catalog where they take over, fetched from it on other machines."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from zipfile import ZipFile

from indexer.catalog import Catalog
from indexer.engines.base import Engine
from indexer.engines.registry import live_bundle, open_engine
from indexer.settings import Settings
from models.bundle import Bundle
from models.registry import Registry


def packed(bundle: Bundle) -> bytes:
    """The files of a bundle, without those of its base model."""
    files = BytesIO()
    with ZipFile(files, "w") as archive:
        for path in sorted(bundle.folder.iterdir()):
            archive.write(path, path.name)
    return files.getvalue()


def fetch(settings: Settings, name: str) -> None:
    """Put a bundle into the home, where it is missing and the catalog has it."""
    registry = Registry(settings.home)
    if Path(name).is_absolute() or name in registry.list():
        return
    with Catalog.open(settings.database) as catalog:
        files = catalog.bundle_files(name)
    if files is None:
        return
    registry.folder.mkdir(parents=True, exist_ok=True)
    part = Path(mkdtemp(prefix=".", dir=registry.folder))
    try:
        with ZipFile(BytesIO(files)) as archive:
            archive.extractall(part)
        part.chmod(0o755)
        part.rename(registry.folder / name)
    except OSError:
        shutil.rmtree(part)
        if name not in registry.list():  # otherwise another process was faster
            raise


def open_live(settings: Settings, *, create: bool) -> tuple[Settings, Engine]:
    """Open the live generation; the returned settings name its encoder. A new collection takes that of the settings.

    Raises:
        NotFound: There is no such collection, and `create` is False.
    """
    if bundle := live_bundle(settings):
        settings = settings.model_copy(update={"bundle": bundle})
        fetch(settings, bundle)
    return settings, open_engine(settings, Registry(settings.home).get(settings.bundle).dims, create=create)
