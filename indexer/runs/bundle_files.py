"""Open the live generation with its encoder; bundles of retrains are stored in the catalog for other machines."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from zipfile import ZipFile

from indexer.catalog import Catalog
from indexer.common import dotted_path
from indexer.engines.base import Engine
from indexer.engines.registry import live_bundle, open_engine
from indexer.errors import BundleIncompatible
from indexer.protocols import Encoder
from indexer.settings import Settings
from models.bundle import Bundle
from models.load import encoder_dims
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


def open_live(settings: Settings, *, create: bool, encoder: Encoder | None = None) -> tuple[Settings, Engine]:
    """Open the live generation; the returned settings name its encoder. A new collection takes that of the settings.

    Raises:
        NotFound: There is no such collection, and `create` is False.
        BundleIncompatible: The live generation was not mined with the given encoder.
    """
    given = name_of_encoder(encoder, settings) if encoder is not None else ""
    if bundle := live_bundle(settings) or given:
        settings = settings.model_copy(update={"bundle": bundle})
    if encoder is not None and bundle != given:
        raise BundleIncompatible(
            f"Collection '{settings.collection}' was mined with the encoder '{bundle}', not with '{given}'.",
            hint="Open it without an encoder, or give the new encoder to a new collection.",
        )
    if encoder is not None:
        return settings, open_engine(settings, encoder.dims, create=create)
    if bundle:
        fetch(settings, bundle)
    return settings, open_engine(settings, encoder_dims(settings.bundle, settings.home), create=create)


def name_of_encoder(encoder: Encoder, settings: Settings) -> str:
    """The bundle that an encoder was loaded from, or the dotted path of its class."""
    bundle = encoder.bundle.split("@")[0]
    return bundle if bundle in Registry(settings.home).list() else dotted_path(type(encoder))
