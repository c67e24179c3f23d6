"""Generations of the embedded engine: one folder each, and a file that names the live one.

    collections/main/                          generation 1
    collections/main/generations/000002/       generation 2
    collections/main/generations/live          number of the live one; absent, it is 1

The file is replaced atomically: a process that dies at any moment leaves the live generation unchanged.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from indexer import read_only
from indexer.engines.generations import Generation, State, is_live, no_generation, unfinished
from indexer.engines.local.connections import RESTORE, translated
from indexer.engines.local.engine import FILE, LocalEngine
from indexer.errors import EngineUnavailable, MappingMismatch
from indexer.log import get_logger

FOLDER = "generations"
LIVE = "live"
UNFINISHED = "unfinished"  # a file in the folder of a generation that has never been live
ABOUT = "generation.json"

logger = get_logger(__name__)


def live_folder(root: Path) -> Path:
    """Return the folder of the live generation of a collection."""
    return _folder(root, _live(root))


def record_bundle(folder: Path, bundle: str) -> None:
    """Record the bundle that a new generation is mined with."""
    about = {"bundle": bundle, "created": datetime.now(UTC).isoformat(timespec="seconds")}
    (folder / ABOUT).write_text(json.dumps(about) + "\n", encoding="utf-8")


def _live(root: Path) -> int:
    pointer = root / FOLDER / LIVE
    with translated(pointer):
        if not pointer.exists():
            return 1
        named = pointer.read_text(encoding="ascii", errors="replace").strip()
    if not named.isdecimal():
        raise EngineUnavailable(f"{pointer} is damaged: it names no generation.", hint=RESTORE)
    return int(named)


def _folder(root: Path, number: int) -> Path:
    return root if number == 1 else root / FOLDER / f"{number:06d}"


@dataclass(frozen=True)
class LocalGenerations:
    """The generations of the collection in one folder.

    Args:
        language: Of generations that are made.
    """

    root: Path
    language: str = "english"

    def all(self) -> list[Generation]:
        with self._translated():
            return [self._described(number) for number in self._numbers()]

    def live(self) -> int:
        with self._translated():
            return _live(self.root) if self._numbers() else 0

    def make(self, dims: int, *, bundle: str) -> LocalEngine:
        with self._translated():
            numbers = self._numbers()
            for number in numbers:
                if self._state(number) == "unfinished":
                    raise unfinished(self.root.name, number)
            number = max(numbers, default=0) + 1
            folder = _folder(self.root, number)
            try:
                folder.mkdir(parents=True, exist_ok=number == 1)
            except FileExistsError as error:
                raise unfinished(self.root.name, number) from error
            (folder / UNFINISHED).touch()
            record_bundle(folder, bundle)
        return LocalEngine(folder, dims, language=self.language)

    def open(self, number: int) -> LocalEngine:
        return self._engine(number, read_only=self._state(number) == "kept")

    def amend(self, number: int) -> LocalEngine:
        return self._engine(number, read_only=False)

    def _engine(self, number: int, *, read_only: bool) -> LocalEngine:
        with self._translated():
            self._check(number)
            state = self._complete(number)
        language = str(state.get("language", "english"))
        folder = _folder(self.root, number)
        return LocalEngine(folder, int(state["dims"]), language=language, read_only=read_only)

    def switch(self, number: int) -> None:
        with self._translated():
            self._check(number)
            self._complete(number)
            pointer = self.root / FOLDER / LIVE
            pointer.parent.mkdir(exist_ok=True)
            fresh = pointer.with_suffix(".new")
            with fresh.open("w", encoding="utf-8") as file:
                file.write(f"{number}\n")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(pointer)
            (_folder(self.root, number) / UNFINISHED).unlink(missing_ok=True)

    def remove(self, number: int) -> None:
        with self._translated():
            self._check(number)
            if number == _live(self.root):
                raise is_live(self.root.name, number)
            folder = _folder(self.root, number)
            (folder / FILE).unlink(
                missing_ok=True
            )  # first: without it the generation does not exist, or is unfinished
            if number > 1:
                shutil.rmtree(folder)
                return
            for path in folder.iterdir():
                if path.is_file():
                    path.unlink()

    def close(self) -> None:
        pass

    # -- state ---------------------------------------------------------------------------------------

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with translated(self.root / FILE):
            yield

    def _numbers(self) -> list[int]:
        first = [1] if (self.root / FILE).exists() or (self.root / UNFINISHED).exists() else []
        others = (self.root / FOLDER).iterdir() if (self.root / FOLDER).is_dir() else ()
        return first + sorted(int(folder.name) for folder in others if folder.name.isdecimal())

    def _check(self, number: int) -> None:
        numbers = self._numbers()
        if number not in numbers:
            raise no_generation(self.root.name, number, numbers)

    def _complete(self, number: int) -> dict[str, Any]:
        """Return the state of a generation; an error when its run was interrupted before it had tables."""
        state = _stored(_folder(self.root, number))
        if "dims" not in state:
            raise MappingMismatch(
                f"Generation {number} of '{self.root.name}' has no rows: its run was interrupted.",
                hint=f"Remove it: indexer generations remove {number}",
            )
        return state

    def _state(self, number: int) -> State:
        folder = _folder(self.root, number)
        if not (folder / FILE).exists():
            return "unfinished"
        if number == _live(self.root):
            return "live"
        return "unfinished" if (folder / UNFINISHED).exists() else "kept"

    def _described(self, number: int) -> Generation:
        folder = _folder(self.root, number)
        bundle, created = _recorded(folder)
        state = _stored(folder)
        return Generation(
            number=number,
            state=self._state(number),
            bundle=bundle,
            dims=int(state.get("dims", 0)),
            documents=int(state.get("documents", 0)),
            bytes=sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
            created=created,
        )


def _recorded(folder: Path) -> tuple[str, datetime]:
    """Return bundle and time of a generation: what a person reads. A damaged record is like none."""
    try:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        return about["bundle"], datetime.fromisoformat(about["created"])
    except FileNotFoundError:
        pass
    except (ValueError, KeyError, TypeError) as error:
        logger.warning("record_of_generation_damaged", file=str(folder / ABOUT), reason=str(error))
    return "", datetime.fromtimestamp(folder.stat().st_ctime, UTC)


def _stored(folder: Path) -> dict[str, Any]:
    """Return the state that a collection has stored; empty when it was not created. Opens no vectors."""
    file = folder / FILE
    if not file.exists():
        return {}
    with closing(read_only.connect(file, sqlite3.Connection)) as connection:
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            return {}
        state = dict(connection.execute("SELECT key, value FROM state"))
        (state["documents"],) = connection.execute("SELECT count(*) FROM documents").fetchone()
    return state
