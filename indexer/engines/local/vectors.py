"""Vectors in append-only files of float16 rows, and exact search over them.

SQLite says which rows count. A row is written, and on the disk, before the transaction that names it
commits, so a process killed at any moment leaves at most rows that nobody names.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numkong
import numpy as np
from numpy.typing import NDArray

from indexer.errors import EngineUnavailable
from indexer.records import Vector

Half = NDArray[np.float16]
Slots = NDArray[np.int64]

BLOCK = 65_536  # rows scored at once by one thread
THREADS = min(4, os.cpu_count() or 1)
GATHER_BELOW = 8  # fetch the allowed rows alone when they are less than 1 in 8

# A scanned score differs from the exact one by less than this: the query is rounded to float16 (at most 2^-11
# of a sum that is at most 1), and the rounded rows are not quite of unit length (the same again).
SCAN_ERROR = 1e-3


class VectorFile:
    """One file of float16 rows [rows, dims], read through a memory map."""

    def __init__(self, path: Path, dims: int) -> None:
        self.path = path
        self.dims = dims
        self._map: Half | None = None

    def write(self, start: int, rows: Half) -> None:
        """Put `rows` at row number `start`, and on the disk."""
        data = rows.view(np.uint8).data.cast("B")
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            os.lseek(handle, start * self.dims * 2, os.SEEK_SET)
            while data:
                data = data[os.write(handle, data) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def rows(self, count: int) -> Half:
        """The first `count` rows. Nothing is read before it is touched."""
        if count == 0:
            return np.empty((0, self.dims), np.float16)
        if self._map is None or len(self._map) < count:
            try:
                size = self.path.stat().st_size // (self.dims * 2)
            except FileNotFoundError:
                size = 0
            if size < count:
                raise EngineUnavailable(
                    f"{self.path} has {size} rows, {count} were written: the file was removed or cut.",
                    hint=f"Put back a copy of {self.path.parent}, or move it away and index again.",
                )
            self._map = np.memmap(self.path, dtype=np.float16, mode="r", shape=(size, self.dims))
        return np.asarray(self._map)[:count]


class Vectors:
    """The vector files of one collection: `documents`, `mentions` and `phrases`."""

    def __init__(self, folder: Path, dims: int) -> None:
        self.folder = folder
        self.dims = dims
        self._files: dict[str, VectorFile] = {}

    def append(self, connection: sqlite3.Connection, kind: str, vectors: NDArray[np.float32]) -> int:
        """Write `vectors` [n, dims] behind the others, in a transaction; returns the slot of the first."""
        name, rows = _located(connection, kind)
        if len(vectors):
            self._file(name).write(rows, to_half(vectors))
            connection.execute("UPDATE vector_files SET rows = ? WHERE kind = ?", (rows + len(vectors), kind))
        return rows

    def rows(self, connection: sqlite3.Connection, kind: str) -> Half:
        """All rows of a kind in this snapshot, dead ones too: float16 [rows, dims]."""
        name, rows = _located(connection, kind)
        return self._file(name).rows(rows)

    def _file(self, name: str) -> VectorFile:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = VectorFile(self.folder / name, self.dims)
        return file

    def close(self) -> None:
        self._files.clear()


def _located(connection: sqlite3.Connection, kind: str) -> tuple[str, int]:
    name, rows = connection.execute("SELECT name, rows FROM vector_files WHERE kind = ?", (kind,)).fetchone()
    return name, rows


def to_half(vectors: NDArray[np.float32]) -> Half:
    """Round to float16 [n, dims]; numkong does it ten times as fast as numpy."""
    return np.asarray(numkong.astype(np.ascontiguousarray(vectors, np.float32), "float16"))


def unit(rows: Half) -> NDArray[np.float32]:
    """Stored rows [n, dims] as float32 of unit length again; a zero row stays zero."""
    vectors = np.asarray(numkong.astype(np.ascontiguousarray(rows), "float32"))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)


def nearest(
    rows: Half,
    query: Vector,
    want: int,
    *,
    allowed: Slots | None = None,
    alive: Callable[[Slots], Iterable[int]] | None = None,
) -> tuple[Slots, NDArray[np.float32]]:
    """The rows nearest to `query` by cosine, exactly: every row is scored.

    Args:
        rows: float16 [n, dims], of about unit length.
        query: float32 [dims], of unit length.
        want: How many rows are wanted, at least 1.
        allowed: Slots that may be returned; all when None.
        alive: Tells which of some slots still count. Not needed with `allowed`.

    Returns:
        Slots and cosines, best first. May be longer than `want`: whatever ties with the last one is there
        too, so that the caller can order ties by id.
    """
    if allowed is not None and len(allowed) * GATHER_BELOW < len(rows):
        slots = allowed
        scores = np.concatenate(
            [_scored(rows[part], query) for part in np.split(slots, range(BLOCK, len(slots), BLOCK))]
        )
    else:
        scores = _scored(rows, query)
        slots = np.arange(len(rows)) if allowed is None else allowed
        scores = scores if allowed is None else scores[allowed]
    reach = want + 32
    while True:
        if reach >= len(slots):
            chosen, floor = slots, -np.inf
        else:
            cut = float(np.partition(scores, -reach)[-reach])
            chosen, floor = slots[scores >= cut - 2 * SCAN_ERROR], cut - SCAN_ERROR
        if alive is not None:
            chosen = np.fromiter(alive(chosen), np.int64)
        exact = _exact(rows, chosen, query)
        # Rows left out score below `floor`: with enough rows at or above it, none of them can be missing.
        if int((exact >= floor).sum()) >= want or floor == -np.inf:
            break
        reach *= 4
    if len(chosen) > want:
        kept = exact >= np.partition(exact, -want)[-want]
        chosen, exact = chosen[kept], exact[kept]
    order = np.argsort(-exact, kind="stable")
    return chosen[order], exact[order]


def _scored(rows: Half, query: Vector) -> NDArray[np.float32]:
    """Scalar products of all rows with the query, rounded a little (`SCAN_ERROR`): float32 [n]."""
    scores = np.empty((len(rows), 1), np.float32)
    if len(rows) == 0:
        return scores[:, 0]
    half = query.astype(np.float16)[None, :]

    def part(start: int) -> None:
        block = rows[start : start + BLOCK]
        numkong.cdist(block, half, metric="dot", out=scores[start : start + BLOCK], out_dtype="float32")

    starts = range(0, len(rows), BLOCK)
    if len(starts) == 1:
        part(0)
    else:
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(part, starts))
    return scores[:, 0]


def _exact(rows: Half, slots: Slots, query: Vector) -> NDArray[np.float32]:
    """Cosines of some rows with the query in float32: [len(slots)]."""
    parts = [unit(rows[part]) @ query for part in np.split(slots, range(BLOCK, len(slots), BLOCK))]
    return np.asarray(np.concatenate(parts), dtype=np.float32)
