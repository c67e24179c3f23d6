"""Checksums of the files in a folder, kept beside them: a change by a disk or a copy is seen when they are read."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from models.bundle import Bundle, sampled

FILE = "checksums.json"
CHECKED = (".safetensors", ".json")  # of a model in a package


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Write the checksums of these files into their folder."""
    found = {
        name: {"sampled": sampled(folder / name).hex(), "sha256": _sha256(folder / name)} for name in names
    }
    (folder / FILE).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def changed_files(folder: Path, *, deep: bool = False) -> list[str]:
    """Return the names of files that are not what was written, or are gone; none without checksums.

    Args:
        deep: Read them whole; otherwise their length, their ends and 64 places between, which takes a few milliseconds.
    """
    card = folder / FILE
    if not card.is_file():
        return []
    try:
        known = json.loads(card.read_bytes())
        return [name for name, sums in known.items() if not _is_same(folder / name, sums, deep=deep)]
    except (ValueError, AttributeError, KeyError, TypeError):
        return [FILE]


def damaged_files(bundle: Bundle) -> list[str]:
    """Return the files of an encoder that are not what was installed; reads all of them.

    The base model's package has checksums of its own. The adapter is part of the fingerprint, which the catalog has.
    """
    if bundle.is_int8:
        return [str(bundle.base_folder / name) for name in changed_files(bundle.base_folder, deep=True)]
    package = bundle.base.get("package")
    return sorted(_changed_in_package(package)) if package else []


def _changed_in_package(package: str) -> Iterator[str]:
    for entry in metadata.files(package) or ():
        if entry.hash and entry.hash.mode == "sha256" and entry.suffix in CHECKED:
            path = Path(str(entry.locate()))
            with suppress(FileNotFoundError):
                digest = hashlib.sha256(path.read_bytes()).digest()
                if base64.urlsafe_b64encode(digest).decode().rstrip("=") == entry.hash.value:
                    continue
            yield str(path)


def _is_same(path: Path, sums: dict[str, str], *, deep: bool) -> bool:
    if not path.is_file():
        return False
    return _sha256(path) == sums["sha256"] if deep else sampled(path).hex() == sums["sampled"]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
