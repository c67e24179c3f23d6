"""Vectors as they differ from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def centred(vectors: Rows) -> Rows:
    """Directions from the middle of all vectors, of unit length; 0 where a vector is the middle."""
    apart = vectors - vectors.mean(axis=0)
    directions: Rows = apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-12)
    return directions
