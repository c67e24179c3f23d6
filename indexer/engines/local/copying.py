"""A copy of a collection of one moment, while other processes write."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from indexer import read_only
from indexer.engines.local.connections import translated
from indexer.engines.local.engine import FILE
from indexer.engines.local.generations import ABOUT, FOLDER, LIVE, UNFINISHED
from indexer.errors import EngineUnavailable

TRIES = 5  # a compaction may remove a vector file between two steps

Copied = Iterator[tuple[str, BinaryIO, int]]  # name in the folder, an open file, how many of its bytes count


@contextmanager
def copied(folder: Path, scratch: Path) -> Iterator[Copied]:
    """Open the files of all finished generations of the collection in `folder`, as they were at one moment.

    Args:
        scratch: An empty folder with room for the SQLite files.
    """
    with translated(folder / FILE), ExitStack() as opened:
        yield _files(folder, scratch, opened)


def _files(folder: Path, scratch: Path, opened: ExitStack) -> Copied:
    pointer = folder / FOLDER / LIVE
    if pointer.exists():
        yield _opened(pointer, f"{FOLDER}/{LIVE}", opened)
    others = folder / FOLDER
    generations = [folder, *(sorted(others.iterdir()) if others.is_dir() else ())]
    for generation in generations:
        if (generation / FILE).exists() and not (generation / UNFINISHED).exists():
            yield from _generation(folder, generation, scratch, opened)


def _generation(folder: Path, generation: Path, scratch: Path, opened: ExitStack) -> Copied:
    inside = generation.relative_to(folder)
    for attempt in range(TRIES):
        tables = scratch / f"{generation.name}-{attempt}.sqlite"
        copy_sqlite(generation / FILE, tables)
        try:
            vectors = [
                (str(inside / name), opened.enter_context((generation / name).open("rb")), size)
                for name, size in _vector_files(tables)
            ]
            break
        except FileNotFoundError as error:
            if attempt == TRIES - 1:
                raise EngineUnavailable(f"{error.filename} is not there.", hint="indexer doctor") from error
    yield _opened(tables, str(inside / FILE), opened)
    yield from vectors
    if (generation / ABOUT).exists():
        yield _opened(generation / ABOUT, str(inside / ABOUT), opened)


def _vector_files(tables: Path) -> list[tuple[str, int]]:
    """Names of the vector files that a copy of the tables refers to, with how many bytes of each count."""
    with closing(read_only.connect(tables, sqlite3.Connection)) as connection:
        (dims,) = connection.execute("SELECT value FROM state WHERE key = 'dims'").fetchone()
        found = connection.execute("SELECT name, rows FROM vector_files WHERE rows > 0").fetchall()
    return [(name, rows * dims * 2) for name, rows in found]


def _opened(path: Path, name: str, opened: ExitStack) -> tuple[str, BinaryIO, int]:
    file = opened.enter_context(path.open("rb"))
    return name, file, os.fstat(file.fileno()).st_size


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy a SQLite file as it is at this moment; it may be in use."""
    with closing(read_only.connect(source, sqlite3.Connection)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))
