"""Documents in a tree: many small clusters by K-means, joined two by two.

K-means alone makes clusters of like size, and real collections are skewed. Average linkage of small clusters keeps large
and small subjects apart, but leaves stragglers as clusters of their own; Ward's linkage makes like sizes again. The
distance used here lies between the two: the squared distance of the means times the square root of the factor of Ward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, unit
from indexer.topics.models.kmeans import kmeans

SMALL = 80  # clusters at the leaves; twice as many as clusters are requested, if that is more
STEPS = 30  # of K-means; later ones move a handful of points
SETTLING = 10  # steps that move points to the nearest mean after a cut; more change nothing

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Tree:
    """Which clusters were joined, nearest first.

    Attributes:
        points: float32 [n, dims], unit length.
        small: int [n], the small cluster of each point.
        joins: The cluster that stays, and the one that goes into it.
    """

    points: Floats
    small: Labels
    joins: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, points: Floats, number: int, *, seed: int) -> Tree:
        """Grow one over `number` small clusters, or fewer where points are equal."""
        found = kmeans(points, number, seed=seed, steps=STEPS).labels_
        small = np.unique(found, return_inverse=True)[1]
        return cls(points, small, _joins(points, small))

    def cut(self, number: int) -> Labels:
        """The cluster of each point, from 0, where there are so many, or all small ones if these are fewer: int [n]."""
        goes_into = np.arange(len(self.joins) + 1)
        for stays, goes in self.joins[: max(0, len(goes_into) - number)]:
            goes_into[goes_into == goes] = stays
        return np.unique(goes_into, return_inverse=True)[1][self.small]


def _joins(points: Floats, small: Labels) -> list[tuple[int, int]]:
    sizes = np.bincount(small).astype(np.float64)
    sums = sum_by(points, small)
    there = np.ones(len(sizes), np.bool_)
    joins = []
    for _ in range(len(sizes) - 1):
        rows = np.flatnonzero(there)
        means, number = sums[rows] / sizes[rows, None], sizes[rows]
        squares = (means**2).sum(axis=1)
        distances = squares[:, None] + squares - 2 * means @ means.T
        distances *= np.sqrt(number[:, None] * number / (number[:, None] + number))
        np.fill_diagonal(distances, np.inf)
        one, other = rows[list(np.unravel_index(np.argmin(distances), distances.shape))].tolist()
        sums[one] += sums[other]
        sizes[one] += sizes[other]
        there[other] = False
        joins.append((one, other))
    return joins


def settled(points: Floats, labels: Labels, steps: int = SETTLING) -> Floats:
    """Means at unit length, after points have moved to the nearest one for some steps: float32 [k, dims]."""
    for _ in range(steps):
        nearest = np.argmax(points @ unit(sum_by(points, labels)).T, axis=1)
        labels = np.unique(nearest, return_inverse=True)[1]
    return unit(sum_by(points, labels)).astype(np.float32)


def silhouette(points: Floats, labels: Labels) -> float:
    """The mean silhouette by cosine distance, exact, in time linear in the points: mean distances follow from sums.

    Args:
        points: float32 [n, dims], unit length.
        labels: int [n], from 0, two or more.
    """
    sizes = np.bincount(labels)
    similar = points @ sum_by(points, labels).T  # [n, k], summed
    rows = np.arange(len(points))
    alone = sizes[labels] == 1
    inside = 1 - (similar[rows, labels] - 1) / np.maximum(sizes[labels] - 1, 1)
    distances = 1 - similar / sizes
    distances[rows, labels] = np.inf
    outside = distances.min(axis=1)
    scores = (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-9)
    return float(np.where(alone, 0.0, scores).mean())


def sum_by(points: NDArray[np.floating], labels: Labels, number: int | None = None) -> NDArray[np.float64]:
    """The sums of the points with each label: float64 [k, dims].

    Args:
        number: k; None: as many as there are labels.
    """
    sums = np.zeros((int(labels.max()) + 1 if number is None else number, points.shape[1]))
    np.add.at(sums, labels, points)
    return sums
