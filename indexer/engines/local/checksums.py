"""Checksums of the vector files: what a disk, a copy or a person changed is found, and the documents are mined again.

One CRC-32 for each block of rows, written in the transaction that appends them. Rows of 0.1.0 have none until their
block grows or their file is compacted.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from indexer.engines.base import Damage
from indexer.engines.local.facets import column
from indexer.engines.local.schema import KINDS

BLOCK = 4_096  # rows of one checksum: 3 MB of 384 numbers
REPAIR = "Have it mined again: indexer doctor --repair. Or move the home away and put back a backup: indexer restore FILE"
SAMPLE = 64  # blocks of a file that a quick check reads

# The rows that count, as numbers of blocks. What lies in dead rows does no harm.
_LIVING = {
    "documents": f"SELECT DISTINCT slot / {BLOCK} FROM mined",
    "mentions": f"SELECT DISTINCT first / {BLOCK} FROM mined WHERE first IS NOT NULL "
    f"UNION SELECT (first + mentions - 1) / {BLOCK} FROM mined WHERE first IS NOT NULL",
    "phrases": f"SELECT DISTINCT slot / {BLOCK} FROM phrases",
}
_DOCUMENTS = "SELECT id FROM mined JOIN documents USING (doc) WHERE "
_WRITTEN_IN = {  # ids of what has rows in a block, whose first and last row are bound
    "documents": f"{_DOCUMENTS} slot BETWEEN ?1 AND ?2",
    "mentions": f"{_DOCUMENTS} first <= ?2 AND first + mentions > ?1",
    "phrases": "SELECT id FROM phrases JOIN names USING (code) WHERE slot BETWEEN ?1 AND ?2",
}


@dataclass(frozen=True)
class DamagedBlocks:
    """The blocks of one file with living rows that are not what was written."""

    kind: str
    path: Path
    blocks: tuple[int, ...]

    def ids(self, connection: sqlite3.Connection) -> set[str]:
        """Return the documents, or phrases, that have vectors in these blocks."""
        found: set[str] = set()
        for block in self.blocks:
            bounds = (block * BLOCK, (block + 1) * BLOCK - 1)
            found.update(id_ for (id_,) in connection.execute(_WRITTEN_IN[self.kind], bounds))
        return found


def exist(connection: sqlite3.Connection) -> bool:
    """Return whether the tables have checksums: those of an earlier version have none until they are written."""
    query = "SELECT count(*) FROM sqlite_master WHERE name = 'vector_checksums'"
    return bool(connection.execute(query).fetchone()[0])


def note(
    connection: sqlite3.Connection, kind: str, start: int, rows: memoryview, row_bytes: int,
    earlier: Callable[[int, int], bytes],
) -> None:  # fmt: skip
    """Record the checksums of rows that are appended.

    Args:
        start: Number of the first row.
        rows: Their bytes.
        earlier: Returns the bytes of the rows from one number to another, for a block that has no checksum yet.
    """
    at, count = 0, len(rows) // row_bytes
    while at < count:
        block, within = divmod(start + at, BLOCK)
        taken = min(BLOCK - within, count - at)
        known = zlib.crc32(b"")
        if within:
            query = "SELECT crc FROM vector_checksums WHERE kind = ? AND block = ?"
            found = connection.execute(query, (kind, block)).fetchone()
            known = found[0] if found else zlib.crc32(earlier(block * BLOCK, start + at))
        crc = zlib.crc32(rows[at * row_bytes : (at + taken) * row_bytes], known)
        connection.execute("INSERT OR REPLACE INTO vector_checksums VALUES (?, ?, ?)", (kind, block, crc))
        at += taken


def damaged(
    connection: sqlite3.Connection, folder: Path, row_bytes: int, *, deep: bool
) -> Iterator[DamagedBlocks]:
    """Compare living rows with their checksums: all of them, or some blocks of each file and its end."""
    checksums = exist(connection)
    for kind in KINDS:
        name, rows = connection.execute(
            "SELECT name, rows FROM vector_files WHERE kind = ?", (kind,)
        ).fetchone()
        blocks = column(connection.execute(_LIVING[kind]))
        if not deep and len(blocks) > SAMPLE:
            blocks = blocks[np.linspace(0, len(blocks) - 1, SAMPLE).astype(int)]
        query = "SELECT block, crc FROM vector_checksums WHERE kind = ?"
        known = dict(connection.execute(query, (kind,))) if checksums else {}
        wrong = tuple(
            block
            for block, data in _read(folder / name, sorted(blocks.tolist()), rows, row_bytes)
            if len(data) < _rows_in(block, rows) * row_bytes or known.get(block, zlib.crc32(data)) != zlib.crc32(data)
        )  # fmt: skip
        if wrong:
            yield DamagedBlocks(kind, folder / name, wrong)


def _rows_in(block: int, rows: int) -> int:
    return min(BLOCK, rows - block * BLOCK)


def _read(path: Path, blocks: list[int], rows: int, row_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Blocks with their bytes, fewer where the file ends early; none where it is not there."""
    if not path.exists():
        yield from ((block, b"") for block in blocks)
        return
    with path.open("rb", buffering=0) as file:
        for block in blocks:
            file.seek(block * BLOCK * row_bytes)
            data = bytearray()
            while part := file.read(_rows_in(block, rows) * row_bytes - len(data)):
                data += part
            yield block, bytes(data)


def described(damage: list[DamagedBlocks], connection: sqlite3.Connection) -> Damage:
    """Return what is damaged, for a person and for the repair."""
    documents: set[str] = set()
    phrases: set[str] = set()
    found = []
    for one in damage:
        ids = one.ids(connection)
        (phrases if one.kind == "phrases" else documents).update(ids)
        found.append(f"{one.path}: the vectors of {len(ids):,} {_NOUNS[one.kind]} are not what was written")
    return Damage(tuple(sorted(documents)), tuple(sorted(phrases)), tuple(found))


_NOUNS = {"documents": "documents", "mentions": "documents' mentions", "phrases": "phrases"}


def set_aside(connection: sqlite3.Connection, damage: list[DamagedBlocks], row_bytes: int) -> None:
    """Let the next rows of damaged files begin in a block of their own, and have damaged phrases made again.

    The damaged rows are dead as soon as their documents are mined again, and compaction drops them.
    """
    for one in damage:
        (rows,) = connection.execute("SELECT rows FROM vector_files WHERE kind = ?", (one.kind,)).fetchone()
        rows = -(-rows // BLOCK) * BLOCK
        handle = os.open(one.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            os.ftruncate(handle, max(rows * row_bytes, os.fstat(handle).st_size))
            os.fsync(handle)
        finally:
            os.close(handle)
        connection.execute("UPDATE vector_files SET rows = ? WHERE kind = ?", (rows, one.kind))
        if one.kind == "phrases":
            bounds = [(block * BLOCK, (block + 1) * BLOCK - 1) for block in one.blocks]
            chosen = "FROM phrases WHERE slot BETWEEN ? AND ?"
            connection.executemany(f"INSERT OR IGNORE INTO changed_phrases SELECT code {chosen}", bounds)
            connection.executemany(f"DELETE {chosen}", bounds)
