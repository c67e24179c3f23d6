"""Back up a home into one file while it is in use, and restore it.

In it: collections of the embedded engine with all finished generations, the catalog where it is SQLite, encoders, and
what was posted and waits. Not in it: what is made again when it is missing (graphs of encoders, caches, training that
is under way), and what is on a server (Elasticsearch, PostgreSQL).

The catalog is copied before the engine. What was written between the two is in the engine and not in the catalog, so a
restore compares them, and the next run mines what is left; no document is lost.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from indexer.engines.local.copying import copied, copy_sqlite
from indexer.errors import UPGRADE, InputError, NotFound, SettingsError
from indexer.protocols import Progress, no_progress

FORMAT = 1  # what this version writes; it reads up to the same
CARD = "backup.json"  # the last entry: with checksums of the others
CATALOG = "catalog.sqlite"
COLLECTIONS = "collections"
# What is made again when it is missing, and what belongs to this machine.
LEFT_OUT = {"onnx", "vectors", "maps", "training", "retrain", "backends.json", CATALOG, COLLECTIONS}
UNPACKED = ".restore"  # in the new home, until all of it is there
READ = 1 << 20


@dataclass(frozen=True)
class Backup:
    """What a backup file holds.

    Attributes:
        created: ISO date and time.
        collections: Names.
        files: Name in the home ► SHA-256.
        bytes: Of all files.
        seconds: That it took to write.
    """

    created: str
    collections: tuple[str, ...]
    files: dict[str, str]
    bytes: int
    seconds: float


class _Hashed:
    """A file that is read once; its checksum is known afterwards."""

    def __init__(self, file: BinaryIO, progress: Progress, done: int) -> None:
        self._file = file
        self._progress = progress
        self._digest = hashlib.sha256()
        self.done = done  # bytes, with those of earlier files

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._digest.update(data)
        self.done += len(data)
        self._progress("back up", self.done, None)
        return data

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def back_up(home: Path, file: Path, *, progress: Progress = no_progress) -> Backup:
    """Write everything of a home into one tar file; other processes may read and write.

    Args:
        file: Compressed when its name ends in ``.gz`` or ``.xz``. An existing one is replaced when all is written.

    Raises:
        NotFound: There is nothing to back up.
        SettingsError: The file would lie in the home.
    """
    start = time.perf_counter()
    if file.absolute().is_relative_to(home.absolute()):
        raise SettingsError(
            f"{file} lies in the home that is backed up.", hint="Choose a place outside of it."
        )
    collections = _collections(home)
    if not collections and not (home / CATALOG).exists():
        raise NotFound(
            f"There is nothing to back up in {home}.", hint="Make a collection: indexer index SOURCE"
        )
    part = file.with_name(f".{file.name}.part")
    checksums: dict[str, str] = {}
    done = 0
    try:
        with (
            TemporaryDirectory(prefix=".backup-", dir=file.absolute().parent) as scratch,
            tarfile.open(part, _mode("w", file)) as archive,
        ):
            for name, opened, size in _contents(home, collections, Path(scratch)):
                hashed = _Hashed(opened, progress, done)
                archive.addfile(_entry(name, size), hashed)
                checksums[name], done = hashed.sha256, hashed.done
            seconds = time.perf_counter() - start
            created = datetime.now(UTC).isoformat(timespec="seconds")
            backup = Backup(created, tuple(collections), checksums, done, round(seconds, 2))
            card = json.dumps({"format": FORMAT, **asdict(backup)}, indent=1).encode()
            archive.addfile(_entry(CARD, len(card)), io.BytesIO(card))
        _sync(part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return backup


def _mode(what: str, file: Path) -> Any:
    return f"{what}:{file.suffix[1:]}" if file.suffix in (".gz", ".xz") else what


def _collections(home: Path) -> list[str]:
    folder = home / COLLECTIONS
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _contents(home: Path, collections: list[str], scratch: Path) -> Iterator[tuple[str, BinaryIO, int]]:
    """Names of all files with the files, open for reading, and their sizes."""
    if (home / CATALOG).exists():
        copy_sqlite(home / CATALOG, scratch / CATALOG)
        with (scratch / CATALOG).open("rb") as opened:
            yield CATALOG, opened, os.fstat(opened.fileno()).st_size
    for collection in collections:
        within = scratch / collection
        within.mkdir()
        with copied(home / COLLECTIONS / collection, within) as files:
            for name, file, size in files:
                yield f"{COLLECTIONS}/{collection}/{name}", file, size
        shutil.rmtree(within)
    for path in sorted(home.rglob("*")):
        inside = path.relative_to(home)
        if inside.parts[0] in LEFT_OUT or inside.name.startswith(f"{CATALOG}-") or path.is_symlink():
            continue
        with suppress(FileNotFoundError):  # an upload that is stored by now
            if path.is_file():
                with path.open("rb") as opened:
                    yield inside.as_posix(), opened, os.fstat(opened.fileno()).st_size


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    entry.mtime = int(time.time())
    return entry


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def restore(file: Path, home: Path, *, progress: Progress = no_progress) -> Backup:
    """Unpack a backup into an empty home, which is complete or absent afterwards.

    Raises:
        InputError: It is not a backup, is damaged, or a newer version wrote it.
        SettingsError: The home is not empty.
    """
    if (
        home.exists()
        and any(path.name != UNPACKED for path in home.iterdir())
        and not (home / UNPACKED).exists()
    ):
        raise SettingsError(
            f"{home} is not empty.", hint="Move it away, or restore into another: --home PATH"
        )
    unpacked = home / UNPACKED
    if home.exists():
        for path in home.iterdir():  # of a restore that was stopped
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    unpacked.mkdir(parents=True)
    try:
        backup = _unpack(file, unpacked, progress)
    except BaseException:
        shutil.rmtree(unpacked)
        raise
    for path in sorted(unpacked.iterdir(), key=lambda path: path.name == CATALOG):  # the catalog last
        path.rename(home / path.name)
    unpacked.rmdir()
    return backup


def _unpack(file: Path, folder: Path, progress: Progress) -> Backup:
    found: dict[str, str] = {}
    card, done = b"", 0
    try:
        with tarfile.open(file, _mode("r", file)) as archive:
            for entry in archive:
                opened = archive.extractfile(entry)
                if opened is None:
                    raise InputError(f"{file}: '{entry.name}' is not a file.", hint=_HINT)
                if entry.name == CARD:
                    card = opened.read()
                    continue
                hashed = _Hashed(opened, progress, done)  # type: ignore[arg-type]
                _write(folder, entry.name, hashed)
                found[entry.name], done = hashed.sha256, hashed.done
    except (tarfile.TarError, EOFError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(":")
        raise InputError(f"{file} is not a backup, or is damaged: {reason}.", hint=_HINT) from error
    return _checked(file, card, found)


_HINT = "Take another backup."


def _write(folder: Path, name: str, source: _Hashed) -> None:
    target = (folder / name).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ValueError(f"'{name}' is outside of the home")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        shutil.copyfileobj(source, file, READ)
        file.flush()
        os.fsync(file.fileno())


def _checked(file: Path, card: bytes, found: dict[str, str]) -> Backup:
    """Return what the card says, after comparing it with the files."""
    if not card:
        raise InputError(f"{file} is not complete: {CARD} is missing.", hint=_HINT)
    try:
        about = json.loads(card)
        if about.pop("format") > FORMAT:
            raise InputError(f"{file} was written by a newer version.", hint=UPGRADE)
        backup = Backup(**{**about, "collections": tuple(about["collections"])})
        wrong = sorted(name for name, sha256 in backup.files.items() if found.get(name) != sha256)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: {CARD} cannot be read ({error}).", hint=_HINT) from error
    if wrong:
        raise InputError(f"{file} is damaged: {', '.join(wrong[:3])}.", hint=_HINT)
    return backup
