"""Weighted K-means by scikit-learn."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats

if TYPE_CHECKING:
    from sklearn.cluster import KMeans


def kmeans(
    points: NDArray[np.floating],
    number: int,
    *,
    seed: int,
    starts: int = 1,
    steps: int = 300,
    weights: Floats | None = None,
) -> KMeans:
    """Cluster points; some clusters are empty where points are equal.

    Args:
        points: [n, dims].
        number: Of clusters, at most n.
        starts: The tightest of so many is kept.
        weights: float32 [n], how much each point counts.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(number, n_init=starts, max_iter=steps, random_state=seed)
        return means.fit(points, sample_weight=weights)
