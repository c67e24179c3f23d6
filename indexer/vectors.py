"""Vectors as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def unit(vectors: NDArray[np.floating]) -> Floats:
    """Scale the last axis to length 1; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return scaled
