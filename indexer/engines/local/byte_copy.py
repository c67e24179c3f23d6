"""A copy of the rows of a vector file as bytes, in memory: a scan reads half as much, and takes a fifth of the time.

Rows are rounded with a scale of their own, and how far rounding moves a score is known: exact search takes its
candidates from the copy and computes their cosines from the file.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numkong
import numpy as np
from numpy.typing import NDArray

from indexer.records import Vector

STEPS = 127.0
PART = 8_192  # rows copied at once
FEWEST = 4_096  # rows; fewer are scanned as they are
MOST_BYTES = 256_000_000  # of one copy; a larger file is scanned as it is
GROWTH = 8  # copy again when one row in so many is newer than the copy

Half = NDArray[np.float16]


@dataclass(frozen=True)
class ByteRows:
    """The first rows of a file.

    Args:
        codes: int8 [n, dims].
        scales: float32 [n]; a row is about its codes times its scale.
        error: The largest distance of a row from that.
        length: The largest length of a row.
    """

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    error: float
    length: float

    @classmethod
    def of(cls, rows: Half) -> ByteRows:
        """Round rows, float16 [n, dims]."""
        codes = np.empty(rows.shape, np.int8)
        scales = np.empty(len(rows), np.float32)
        error = length = 0.0
        for start in range(0, len(rows), PART):
            part = np.asarray(numkong.astype(np.ascontiguousarray(rows[start : start + PART]), "float32"))
            end = start + len(part)
            codes[start:end], scales[start:end] = _rounded(part)
            part_error = part - codes[start:end] * scales[start:end, None]
            error = max(error, float(np.linalg.norm(part_error, axis=1).max()))
            length = max(length, float(np.linalg.norm(part, axis=1).max()))
        return cls(codes, scales, error, length)

    def scores(self, query: Vector) -> tuple[NDArray[np.float32], float]:
        """Return the scalar products of all rows with the query, float32 [n], and the largest error of one."""
        (codes,), (scale,) = rounded = _rounded(query[None, :])
        products = np.asarray(numkong.cdist(self.codes, rounded[0], metric="dot"))[:, 0]
        lost = float(np.linalg.norm(query - codes * scale))
        error = self.error * (float(np.linalg.norm(query)) + lost) + lost * self.length
        return products.astype(np.float32) * (self.scales * scale), error


def _rounded(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return codes and scales of rows; a zero row stays zero."""
    scales = np.maximum(np.abs(rows).max(axis=1) / STEPS, np.finfo(np.float32).tiny)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


class ByteCopy:
    """The copy of one file, made by a thread when the file is scanned a second time.

    A program that searches once does not make it. Rows of a file never change once they are committed, and only
    searches, which see committed rows, call this.
    """

    def __init__(self) -> None:
        self._rows: ByteRows | None = None
        self._scans = 0
        self._making: threading.Thread | None = None

    def of(self, rows: Half) -> ByteRows | None:
        """Return the copy of the first of these rows; None while there is none."""
        self._scans += 1
        copy = self._rows  # once: a thread may replace it
        copied = len(copy.codes) if copy else 0
        wanted = (len(rows) - copied) * GROWTH > len(rows) and FEWEST <= len(
            rows
        ) <= MOST_BYTES // rows.shape[1]
        if wanted and self._scans > 1 and (self._making is None or not self._making.is_alive()):
            self._making = threading.Thread(target=self._make, args=(rows,), name="byte-copy", daemon=True)
            self._making.start()
        return copy if copied <= len(rows) else None

    def _make(self, rows: Half) -> None:
        self._rows = ByteRows.of(rows)

    def wait(self) -> None:
        """Wait until a copy that has begun is made."""
        if self._making is not None:
            self._making.join()
