"""Small functions that several packages need: batches of items, unit vectors, samples by hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, in order; the last one may be shorter."""
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


Floats = NDArray[np.float32]


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Scale the last axis to length 1; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return scaled


def shuffled(id_: str) -> tuple[bytes, str]:
    """Where an id stands in an order that has nothing to do with its letters."""
    return hashlib.sha1(id_.encode("utf-8", "surrogatepass")).digest(), id_


Rows = NDArray[np.float64]


def centred(vectors: Rows) -> Rows:
    """Directions from the middle of all vectors, of unit length; 0 where a vector is the middle."""
    apart = vectors - vectors.mean(axis=0)
    directions: Rows = apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-12)
    return directions
