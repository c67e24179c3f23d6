"""How well clusters agree with labels, and the plain clustering that everything is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats
from indexer.topics.models import clusters as quiet
from trainer.evaluation.figures import Figure, repeated

Clusters = NDArray[np.intp]
RESTARTS = 10  # of K-means per seed; the tightest is kept


def numbered(labels: Sequence[str]) -> Clusters:
    """Labels as numbers from 0, in alphabetical order: int [n]."""
    return np.unique(np.asarray(labels), return_inverse=True)[1]


def kmeans(vectors: Floats, number: int, seed: int) -> Clusters:
    """The cluster of each vector, by K-means: float32 [n, dims] ► int [n]."""
    found: Clusters = quiet.kmeans(vectors, number, seed=seed, starts=RESTARTS).labels_
    return found


def accuracy(gold: Clusters, found: Clusters) -> float:
    """Share of rows that are right when every cluster stands for one label, in the best of all ways (0 to 1).

    Two clusters never stand for the same label (Hungarian method), so a surplus cluster is wrong altogether.

    Args:
        gold, found: int [n], numbers from 0.
    """
    from scipy.optimize import linear_sum_assignment

    together = np.zeros((gold.max() + 1, found.max() + 1), np.intp)
    np.add.at(together, (gold, found), 1)
    return float(together[linear_sum_assignment(together, maximize=True)].sum() / len(gold))


def agreement(gold: Clusters, found: Clusters) -> float:
    """Normalised mutual information, divided by the arithmetic mean of both entropies (0 to 1)."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(gold, found, average_method="arithmetic"))


def scored(gold: Clusters, clusterings: Iterable[Clusters]) -> dict[str, Figure]:
    """``acc`` and ``nmi`` over several clusterings, one per seed."""
    pairs = [(accuracy(gold, found), agreement(gold, found)) for found in clusterings]
    return {
        "acc": repeated([acc for acc, _ in pairs]),
        "nmi": repeated([nmi for _, nmi in pairs]),
    }
