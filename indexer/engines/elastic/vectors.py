"""How the indices hold vectors: as bytes that are sent as hexadecimal digits, or as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats
from indexer.records import Vector

DIGITS = 7  # kept of each number of a vector: float32 has no more, and the request is half as long
LARGEST = 127  # of a byte; -128 is not used, so that a vector and its opposite have opposite bytes
CANDIDATES = 200  # minimum candidates of a vector search per shard
NO_VECTOR = np.empty(0, np.float32)
# Candidates of a float field that are scored again in full precision, relative to the limit; bytes are all there is.
OVERSAMPLE = {"int8_hnsw": 2.0, "bbq_hnsw": 3.0, "int8_flat": 2.0}


@dataclass(frozen=True)
class VectorField:
    """The vector field of one index.

    With `element` ``byte`` each vector is scaled so that its largest number is 127, and rounded: cosines change by about
    .001, a row takes a quarter of the bytes, and the server parses no decimals. Collections of 0.1.0 have ``float``.

    Attributes:
        index: Type of the vector index on the server, e.g. ``hnsw`` or ``flat``.
        grows: An index with many rows gets a graph: the setting ``auto``.
    """

    element: str
    index: str
    grows: bool = False

    @classmethod
    def of_mapping(cls, mapping: Mapping[str, Any]) -> VectorField:
        """Read it from the mapping of an index."""
        field = mapping["properties"].get("vector", {})
        index = field.get("index_options", {}).get("type", "")
        grows = index == "flat" and mapping["_meta"].get("vector_index") == "auto"
        return cls(field.get("element_type", "float"), index, grows)

    def stored(self, vector: Vector) -> str | list[float] | list[int]:
        """Return a float32 vector as the body of a row has it."""
        return quantized(vector).tobytes().hex() if self.element == "byte" else of_vector(vector)

    def as_stored(self, vectors: Floats) -> Floats:
        """Return vectors [n, dims] as reading them from the index does."""
        stored = [quantized(v) if self.element == "byte" else of_vector(v) for v in vectors]
        return np.stack([vector for vector in to_vectors(stored) if vector is not None])

    def search(self, vector: Vector, limit: int, most: int, conditions: Sequence[Any]) -> dict[str, Any]:
        """Return the part of a search for the `limit` nearest rows under conditions.

        Args:
            most: The server's maximum of candidates.
        """
        knn: dict[str, Any] = {
            "field": "vector",
            "query_vector": quantized(vector).tolist() if self.element == "byte" else of_vector(vector),
            "k": limit,
            "num_candidates": min(most, max(2 * limit, CANDIDATES)),
        }
        if self.index in OVERSAMPLE:
            knn["rescore_vector"] = {"oversample": OVERSAMPLE[self.index]}
        if conditions:
            knn["filter"] = list(conditions)
        return {"knn": knn}


def quantized(vector: Vector) -> NDArray[np.int8]:
    """Scale a vector to -127..127 and round it: int8 [dims]."""
    scaled: NDArray[np.float32] = np.rint(vector * (LARGEST / np.abs(vector).max()))
    return scaled.astype(np.int8)


def bad_vector(vector: Vector, dims: int) -> str:
    """Return the reason that a vector cannot be stored or searched; empty when it can."""
    if vector.shape != (dims,):
        return f"a vector has {vector.size} numbers, the collection has {dims}"
    if not np.isfinite(vector).all():
        return "a vector has NaN or infinity in it"
    return "" if vector.any() else "a vector is all zeros, and has no direction"


def of_vector(vector: Vector) -> list[float]:
    """Return a vector as numbers."""
    rounded: list[float] = np.round(vector.astype(np.float64), DIGITS).tolist()
    return rounded


def to_vectors(stored: Sequence[Sequence[float] | NDArray[np.int8] | None]) -> list[Vector | None]:
    """Return stored vectors, scaled to unit length again: float32 [dims] each; None stays None."""
    known = [numbers for numbers in stored if numbers is not None]
    if not known:
        return [None] * len(stored)
    matrix: NDArray[np.float64] = np.asarray(known, np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    scaled = iter((matrix / np.where(lengths, lengths, 1.0)).astype(np.float32))
    return [None if numbers is None else next(scaled) for numbers in stored]


def vectors_of(hits: Sequence[Mapping[str, Any]], field: str = "vector") -> list[Vector | None]:
    """Return the vectors of hits that were requested by field name and in ``_source``.

    Servers from 9.2 on answer by field name only; 8.19 has bytes in ``_source`` only.
    """
    return to_vectors([_stored(hit, field) for hit in hits])


def vector_of(hit: Mapping[str, Any], field: str = "vector") -> Vector | None:
    """Return the vector of one hit; see `vectors_of`."""
    return vectors_of([hit], field)[0]


def _stored(hit: Mapping[str, Any], field: str) -> Sequence[float] | NDArray[np.int8] | None:
    found = hit.get("fields", {}).get(field)
    if found is None:
        found = hit.get("_source", {}).get(field)
    return np.frombuffer(bytes.fromhex(found), np.int8) if isinstance(found, str) else found
