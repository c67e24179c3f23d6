"""Vectors of mentions on the disk of the process that wrote them, so that the end of a run need not read them back.

A server takes .1 to .2 ms to write one vector as numbers, and a run reads each vector twice. Each process appends the
vectors that it sends to a file of its own; processes with the same home read the files of each other. A row names its
vector by a hash, so a vector that was replaced, or a damaged file, is never mistaken for the stored one: what the files
do not have is read from the server. The files may be removed at any time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.log import get_logger

KEY_BYTES = 8
LIMIT_BYTES = 1_000_000_000  # of all files: the vectors of some 100,000 abstracts; the oldest files go first
MOST_FILES = 64
PARTS = 8  # a file that has this part of the limit is followed by another

Bytes = NDArray[np.int8]


def key_of(vector: bytes) -> str:
    """Return the hash that names a vector."""
    return blake2b(vector, digest_size=KEY_BYTES).hexdigest()


class VectorCache:
    """Vectors of this machine, found by their hashes. A disk that cannot be written costs time, nothing else.

    Args:
        folder: Of the files; created when something is written.
        dims: Length of the vectors.
    """

    def __init__(self, folder: Path, dims: int, *, limit: int = LIMIT_BYTES) -> None:
        self._folder = folder
        self._limit = limit
        self._record = np.dtype([("key", f"V{KEY_BYTES}"), ("vector", np.int8, (dims,))])
        self._suffix = f"-{dims}.vectors"
        self._own = self._new_file()
        self._mapped: dict[Path, NDArray[np.void]] = {}
        self._keys: NDArray[np.uint64] = np.empty(0, np.uint64)  # ascending, of all files
        self._places: NDArray[np.int64] = np.empty(0, np.int64)  # of each key, counted through all files

    def add(self, vectors: Mapping[str, bytes]) -> None:
        """Append vectors to the file of this process, each under its key."""
        data = b"".join(bytes.fromhex(key) + vector for key, vector in vectors.items())
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._own.open("ab") as file:
                file.write(data)
                if file.tell() > self._limit // PARTS:
                    self._own = self._new_file()
            self._tidy()
        except OSError as error:
            get_logger(__name__).warning("vectors_not_cached", reason=str(error))

    def find(self, keys: Sequence[str | None]) -> list[Bytes | None]:
        """Return the vector of each key; None where no file has it whole, or there is no key."""
        self._look()
        if not len(self._keys):
            return [None] * len(keys)
        wanted = np.array([int(key or "0", 16) for key in keys], np.uint64)
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        found = self._keys[at] == wanted
        return [
            self._vector(int(place), key) if there and key else None
            for place, there, key in zip(self._places[at], found, keys, strict=True)
        ]

    def is_empty(self) -> bool:
        """Return whether no file has a vector."""
        self._look()
        return not len(self._keys)

    def _vector(self, place: int, key: str) -> Bytes | None:
        for records in self._mapped.values():
            if place < len(records):
                vector: Bytes = np.array(records[place]["vector"])
                return vector if key_of(vector.tobytes()) == key else None
            place -= len(records)
        return None

    def _look(self) -> None:
        """Map files that are new or longer than when they were looked at."""
        sizes = {path: path.stat().st_size // self._record.itemsize for path in self._files()}
        if sizes == {path: len(records) for path, records in self._mapped.items()}:
            return
        self._mapped = {
            path: np.memmap(path, self._record, mode="r", shape=(size,))
            for path, size in sizes.items()
            if size
        }
        parts = [records["key"].tobytes() for records in self._mapped.values()]
        keys = np.frombuffer(b"".join(parts), ">u8").astype(np.uint64)
        self._places = np.argsort(keys, kind="stable")
        self._keys = keys[self._places]

    def _new_file(self) -> Path:
        return self._folder / f"{os.getpid()}-{secrets.token_hex(4)}{self._suffix}"

    def _files(self) -> list[Path]:
        """Return the files of vectors of this length, oldest first."""
        return sorted(self._folder.glob(f"*{self._suffix}"), key=lambda path: path.stat().st_mtime)

    def _tidy(self) -> None:
        files = self._files()
        sizes = [path.stat().st_size for path in files]
        while len(files) > MOST_FILES or (sum(sizes) > self._limit and len(files) > 1):
            files.pop(0).unlink(missing_ok=True)
            sizes.pop(0)
