"""Vectors of mentions on the disk of the process that wrote them, so that the end of a run need not read them back.

A server takes .1 to .2 ms to write one vector as numbers, and a run reads each vector twice. Each process appends the
vectors that it sends to a file of its own; processes with the same home read the files of each other. A row names its
vector by a hash, so a vector that was replaced, or a damaged file, is never mistaken for the stored one: what the files
do not have is read from the server. The files may be removed at any time.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.log import get_logger

KEY_BYTES = 8
# Of all files, the oldest of which go first: the vectors of some million abstracts, and a share of the free disk.
LIMIT_BYTES, FREE_SHARE = 10_000_000_000, 0.25
MOST_FILES = 64
LONG_S, REST = (
    0.05,
    20,
)  # after a look that takes so many seconds, the next one waits for so many times as long
PARTS = 8  # a file that has this part of the limit is followed by another

Bytes = NDArray[np.int8]


def key_of(vector: bytes) -> str:
    """Return the hash that names a vector."""
    return blake2b(vector, digest_size=KEY_BYTES).hexdigest()


def allowed(folder: Path) -> int:
    """Return how many bytes the files in a folder may have."""
    there = next(path for path in (folder, *folder.parents) if path.is_dir())
    used = sum(path.stat().st_size for path in there.glob("*.vectors")) if there == folder else 0
    return min(LIMIT_BYTES, int(FREE_SHARE * (shutil.disk_usage(there).free + used)))


@dataclass(frozen=True)
class _View:
    """The files as they were when they were looked at.

    Attributes:
        files: File ► its records.
        keys: uint64 [n], ascending, of all files.
        places: int64 [n], where the record of each key is, counted through all files.
    """

    files: Mapping[Path, NDArray[np.void]]
    keys: NDArray[np.uint64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, files: Mapping[Path, NDArray[np.void]]) -> _View:
        """Sort the keys of these records."""
        keys = b"".join(records["key"].tobytes() for records in files.values())
        numbers = np.frombuffer(keys, ">u8").astype(np.uint64)
        order = np.argsort(numbers, kind="stable")
        return cls(files, numbers[order], order)

    def find(self, keys: Sequence[str | None]) -> list[Bytes | None]:
        """Return the vector of each key; None where it is not there, or damaged."""
        if not len(self.keys):
            return [None] * len(keys)
        numbers = np.array([int(key or "0", 16) for key in keys], np.uint64)
        at = np.minimum(np.searchsorted(self.keys, numbers), len(self.keys) - 1)
        same = (self.keys[at] == numbers).tolist()
        places = self.places[at].tolist()
        return [
            self._vector(place, key) if there and key else None
            for place, there, key in zip(places, same, keys, strict=True)
        ]

    def _vector(self, place: int, key: str) -> Bytes | None:
        for records in self.files.values():
            if place < len(records):
                vector: Bytes = np.array(records[place]["vector"])
                return vector if key_of(vector.tobytes()) == key else None
            place -= len(records)
        return None


class VectorCache:
    """Vectors of this machine, found by their hashes. A disk that cannot be used costs time, nothing else.

    Several threads may use one object, and several processes one folder.

    Args:
        folder: Of the files; created when something is written.
        dims: Length of the vectors.
        limit: Bytes of all files; None: what the disk allows.
    """

    def __init__(self, folder: Path, dims: int, *, limit: int | None = None) -> None:
        self.folder = folder
        self._limit = limit or allowed(folder)
        self._record = np.dtype([("key", f"V{KEY_BYTES}"), ("vector", np.int8, (dims,))])
        self._suffix = f"-{dims}.vectors"
        self._own = self._new_file()
        self._writing = threading.Lock()
        self._view = _View.of({})
        self._next_look = 0.0

    def add(self, vectors: Mapping[str, bytes]) -> None:
        """Append vectors to the file of this process, each under its key."""
        data = b"".join(bytes.fromhex(key) + vector for key, vector in vectors.items())
        try:
            with self._writing:
                self.folder.mkdir(parents=True, exist_ok=True)
                with self._own.open("ab") as file:
                    file.write(data)
                    if file.tell() > self._limit // PARTS:
                        self._own = self._new_file()
                self._tidy()
        except OSError as error:
            get_logger(__name__).warning("vectors_not_cached", reason=str(error))

    def find(self, keys: Sequence[str | None]) -> list[Bytes | None]:
        """Return the vector of each key; None where no file has it whole, or there is no key."""
        found = self._view.find(keys)
        if any(vector is None for vector in found) and self._look():
            return self._view.find(keys)
        return found

    def is_empty(self) -> bool:
        """Return whether no file has a vector."""
        return not len(self._view.keys) and not (self._look() and len(self._view.keys))

    def _look(self) -> bool:
        """Look at files that are new or longer; returns whether there are any.

        Sorting the keys of large files takes long: then other processes' additions are looked at more seldom.
        """
        start = time.monotonic()
        whole = ((path, size // self._record.itemsize) for path, size in self._files())
        sizes = {path: records for path, records in whole if records}
        if start < self._next_look or sizes == {path: len(rows) for path, rows in self._view.files.items()}:
            return False
        files: dict[Path, NDArray[np.void]] = {}
        for path, size in sizes.items():
            with suppress(OSError):  # another process has just removed it
                files[path] = np.memmap(path, self._record, mode="r", shape=(size,))
        self._view = _View.of(files)
        taken = time.monotonic() - start
        self._next_look = time.monotonic() + REST * taken if taken > LONG_S else 0.0
        return True

    def _new_file(self) -> Path:
        return self.folder / f"{os.getpid()}-{secrets.token_hex(4)}{self._suffix}"

    def _files(self) -> list[tuple[Path, int]]:
        """Return the files of vectors of this length and their sizes, oldest first."""
        found = []
        for path in self.folder.glob(f"*{self._suffix}"):
            with suppress(OSError):
                state = path.stat()
                found.append((state.st_mtime, path, state.st_size))
        return [(path, size) for _, path, size in sorted(found)]

    def _tidy(self) -> None:
        files = self._files()
        total = sum(size for _, size in files)
        while len(files) > MOST_FILES or (total > self._limit and len(files) > 1):
            path, size = files.pop(0)
            path.unlink(missing_ok=True)
            total -= size
