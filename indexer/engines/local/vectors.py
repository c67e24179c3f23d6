"""Vectors in append-only files of float16 rows, and exact search over them.

SQLite records which rows count. A row is written and synced before the transaction that refers to it commits, so a
process killed at any moment leaves at most rows without a reference.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numkong
import numpy as np
from numpy.typing import NDArray

from indexer.common import unit
from indexer.engines.local import checksums
from indexer.engines.local.byte_copy import ByteCopy, ByteRows, Half
from indexer.errors import EngineUnavailable
from indexer.records import Vector

_BINARY = getattr(os, "O_BINARY", 0)  # Windows

Slots = NDArray[np.int64]

BLOCK = 65_536  # rows scored at once by one thread
THREADS = min(4, os.cpu_count() or 1)
MAX_SIZE = 65_504.0  # of float16
COPIED = 8_192  # rows copied at once by compaction
GATHER_BELOW = 8  # fetch the allowed rows alone when they are less than 1 in 8

# A scanned score differs from the exact one by less than this: the query is rounded to float16 (at most 2^-11
# of a sum that is at most 1), and the rounded rows are not quite of unit length (the same again).
SCAN_ERROR = 1e-3


class VectorFile:
    """One file of float16 rows [rows, dims], read through a memory map.

    The file stays open for reading, so that a running search keeps its rows when another process compacts the
    collection.
    """

    def __init__(self, path: Path, dims: int) -> None:
        self.path = path
        self.row_bytes = dims * 2
        self._dims = dims
        self.bytes = ByteCopy()
        self._map: Half | None = None
        self._handle: int | None = None

    def open(self) -> int:
        """Open the file. Raises FileNotFoundError when it does not exist (any more)."""
        if self._handle is None:
            self._handle = os.open(self.path, os.O_RDONLY | _BINARY)
            weakref.finalize(self, os.close, self._handle)
        return self._handle

    def write(self, start: int, rows: Half) -> None:
        """Write `rows` from row number `start`, and sync them to the disk."""
        with _opened(self.path, os.O_WRONLY | os.O_CREAT) as handle:
            os.lseek(handle, start * self.row_bytes, os.SEEK_SET)
            _write_all(handle, rows)
            os.fsync(handle)
        if start == 0:
            _sync_folder(self.path.parent)

    def read(self, first: int, end: int) -> bytes:
        """Return the bytes of rows `first` to `end`."""
        return self.rows(end)[first:].tobytes()

    def rows(self, count: int) -> Half:
        """Return the first `count` rows as a memory map."""
        if count == 0:
            return np.empty((0, self._dims), np.float16)
        if self._map is None or len(self._map) < count:
            size = os.fstat(self.open()).st_size // self.row_bytes
            if size < count:
                raise missing(self.path, f"has {size} rows where {count} were written")
            mapped = mmap.mmap(self.open(), size * self.row_bytes, access=mmap.ACCESS_READ)
            self._map = np.frombuffer(mapped, np.float16).reshape(size, self._dims)
        return self._map[:count]


class Vectors:
    """The vector files of one collection: `documents`, `mentions` and `phrases`."""

    def __init__(self, folder: Path, dims: int) -> None:
        self.folder = folder
        self.dims = dims
        self.row_bytes = dims * 2
        self._files: dict[str, VectorFile] = {}

    def hold(self, connection: sqlite3.Connection) -> None:
        """Open the files of this snapshot, so that their later removal does no harm.

        Raises FileNotFoundError when they are removed already; a new snapshot then has others.
        """
        named = dict(connection.execute("SELECT name, rows FROM vector_files"))
        for name, rows in named.items():
            if rows:
                self._file(name).open()
        while len(self._files) > 3 * len(named):  # of snapshots that have ended
            self._files.pop(next(name for name in list(self._files) if name not in named), None)

    def append(self, connection: sqlite3.Connection, kind: str, vectors: NDArray[np.float32]) -> int:
        """Append `vectors` [n, dims] in a transaction; returns the slot of the first."""
        name, rows = _located(connection, kind)
        if len(vectors):
            self._append(connection, kind, self._file(name), rows, to_half(vectors))
            connection.execute("UPDATE vector_files SET rows = ? WHERE kind = ?", (rows + len(vectors), kind))
        return rows

    def _append(
        self, connection: sqlite3.Connection, kind: str, file: VectorFile, start: int, rows: Half
    ) -> None:
        file.write(start, rows)
        checksums.note(connection, kind, start, _bytes(rows), file.row_bytes, file.read)

    def rows(self, connection: sqlite3.Connection, kind: str) -> Half:
        """Return all rows of a kind in this snapshot, including dead ones: float16 [rows, dims]."""
        name, rows = _located(connection, kind)
        return self._file(name).rows(rows)

    def nearest(
        self, connection: sqlite3.Connection, kind: str, query: Vector, count: int, **options: Any
    ) -> tuple[Slots, NDArray[np.float32]]:
        """Return the rows of a kind in this snapshot nearest to `query`; see `nearest`."""
        name, number = _located(connection, kind)
        file = self._file(name)
        rows = file.rows(number)
        return nearest(rows, query, count, copy=file.bytes.of(rows), **options)

    def rewrite(self, connection: sqlite3.Connection, kind: str, slots: Slots) -> None:
        """Keep only these rows, in this order, in a new file; the old one stays until `remove_unused`.

        Raises:
            EngineUnavailable: A row is not what was written; its new checksum would hide that.
        """
        name, rows = _located(connection, kind)
        for damage in checksums.damaged(connection, self.folder, self.row_bytes, deep=True):
            if damage.kind == kind:
                raise EngineUnavailable(f"{damage.path} is damaged.", hint=checksums.REPAIR)
        number = int(name.removesuffix(".f16").rpartition("-")[2]) + 1
        new = f"{kind}-{number}.f16"
        old = self._file(name).rows(rows)
        self._files.pop(new, None)
        # A killed compaction may have left the file, and another process may have it open: create a new one.
        (self.folder / new).unlink(missing_ok=True)
        with _opened(self.folder / new, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as handle:
            connection.execute("DELETE FROM vector_checksums WHERE kind = ?", (kind,))
            for start in range(0, len(slots), COPIED):
                part = old[slots[start : start + COPIED]]
                _write_all(handle, part)
                checksums.note(connection, kind, start, _bytes(part), self.row_bytes, self._file(new).read)
            os.fsync(handle)
        _sync_folder(self.folder)
        connection.execute(
            "UPDATE vector_files SET name = ?, rows = ? WHERE kind = ?", (new, len(slots), kind)
        )

    def remove_unused(self, connection: sqlite3.Connection) -> None:
        """Delete files without a reference. Call it in a write transaction: no other process creates one then."""
        named = {name for (name,) in connection.execute("SELECT name FROM vector_files")}
        for path in self.folder.glob("*.f16"):
            if path.name not in named:
                with suppress(PermissionError):  # Windows: a process still reads it; deleted next time
                    path.unlink()

    def _file(self, name: str) -> VectorFile:
        return self._files.setdefault(name, VectorFile(self.folder / name, self.dims))

    def close(self) -> None:
        self._files.clear()


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags | _BINARY, 0o666)
    try:
        yield handle
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that new file names survive a power cut. Windows has no such call, and needs none."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _bytes(rows: Half) -> memoryview:
    return np.ascontiguousarray(rows).view(np.uint8).data.cast("B")


def _write_all(handle: int, rows: Half) -> None:
    data = _bytes(rows)
    while data:
        data = data[os.write(handle, data) :]


def missing(path: Path, what: str) -> EngineUnavailable:
    return EngineUnavailable(f"{path} {what}: the file was removed or cut.", hint=checksums.REPAIR)


def _located(connection: sqlite3.Connection, kind: str) -> tuple[str, int]:
    name, rows = connection.execute("SELECT name, rows FROM vector_files WHERE kind = ?", (kind,)).fetchone()
    return name, rows


def bad_vector(vector: Vector, dims: int) -> str:
    """Return the reason that a vector cannot be stored; empty when it can."""
    if vector.shape != (dims,):
        return f"a vector has {vector.size} numbers, the collection has {dims}"
    return "" if storable(vector) else "a vector has NaN, infinity or far too large numbers in it"


def storable(vectors: NDArray[np.float32]) -> bool:
    """Return whether all numbers are finite in float16 too."""
    return bool(vectors.min() > -MAX_SIZE and vectors.max() < MAX_SIZE)  # NaN fails both comparisons


def to_half(vectors: NDArray[np.float32]) -> Half:
    """Round to float16 [n, dims]; numkong does it ten times as fast as numpy."""
    return np.asarray(numkong.astype(np.ascontiguousarray(vectors, np.float32), "float16"))


def from_half(rows: Half) -> NDArray[np.float32]:
    """Return stored rows [n, dims] as float32, scaled to unit length again; a zero row stays zero."""
    return unit(np.asarray(numkong.astype(np.ascontiguousarray(rows), "float32")))


def nearest(
    rows: Half,
    query: Vector,
    count: int,
    *,
    copy: ByteRows | None = None,
    allowed: Slots | None = None,
    alive: Callable[[Slots], Iterable[int]] | None = None,
) -> tuple[Slots, NDArray[np.float32]]:
    """Return the rows nearest to `query` by cosine, exactly: every row is scored.

    Args:
        rows: float16 [n, dims], of about unit length.
        query: float32 [dims], of unit length.
        count: Number of rows, at least 1.
        copy: Of the first rows, to scan instead of them.
        allowed: Slots that may be returned; all when None.
        alive: Returns those of some slots that are not dead. Not needed with `allowed`.

    Returns:
        Slots and cosines, best first. May be longer than `count`: ties with the last one are included, so that the
        caller can order ties by id.
    """
    if allowed is not None and len(allowed) * GATHER_BELOW < len(rows):
        slots = allowed
        scores = np.concatenate(
            [_scored(rows[part], query) for part in np.split(slots, range(BLOCK, len(slots), BLOCK))]
        )
        error = SCAN_ERROR
    else:
        scores, error = _scanned(rows, copy, query)
        slots = np.arange(len(rows)) if allowed is None else allowed
        scores = scores if allowed is None else scores[allowed]
    depth = count + 32
    while True:
        if depth >= len(slots):
            chosen, floor = slots, -np.inf
        else:
            cut = float(np.partition(scores, -depth)[-depth])
            if np.isnan(cut):  # of damaged rows, which sort last; `indexer doctor` finds them
                scores = np.nan_to_num(scores, nan=-2.0)
                continue
            chosen, floor = slots[scores >= cut - 2 * error], cut - error
        if alive is not None:
            chosen = np.fromiter(alive(chosen), np.int64)
        exact = np.nan_to_num(_exact(rows, chosen, query), nan=-2.0)
        # Other rows score below `floor`: with enough rows at or above it, none of them is missing.
        if int((exact >= floor).sum()) >= count or floor == -np.inf:
            break
        depth *= 4
    if len(chosen) > count:
        kept = exact >= np.partition(exact, -count)[-count]
        chosen, exact = chosen[kept], exact[kept]
    order = np.argsort(-exact, kind="stable")
    return chosen[order], exact[order]


def _scanned(rows: Half, copy: ByteRows | None, query: Vector) -> tuple[NDArray[np.float32], float]:
    """Return the scores of all rows, float32 [n], and the largest error of one."""
    if copy is None:
        return _scored(rows, query), SCAN_ERROR
    scores, error = copy.scores(query)
    return np.concatenate([scores, _scored(rows[len(scores) :], query)]), max(error, SCAN_ERROR)


def _scored(rows: Half, query: Vector) -> NDArray[np.float32]:
    """Return the scalar products of all rows with the query, with an error below `SCAN_ERROR`: float32 [n]."""
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
    """Return the cosines of some rows with the query: float32 [len(slots)], the same for equal rows.

    In float64, because a float32 product adds up in another order at the end of a block, and equal rows would
    not tie.
    """
    exactly = query.astype(np.float64)
    parts = [from_half(rows[part]) @ exactly for part in np.split(slots, range(BLOCK, len(slots), BLOCK))]
    return np.asarray(np.concatenate(parts), dtype=np.float32)
