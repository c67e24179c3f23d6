"""How well clusters agree with labels, and two clusterings to compare: K-means and a mixture of Gaussians.

K-means weights every direction of the space equally. Vectors of phrases vary most in directions that have nothing to do
with kinds (length, register, the sentence around them). The Gaussians of the mixture share one covariance, which divides
that out; it has few enough parameters to be fitted on some thousand vectors, which one covariance per cluster has not.

EM starts from K-means, several times. The likeliest fit need not be meaningful: on BC5CDR (chemicals and diseases),
starts at random vectors or from K-means on scaled directions were likelier than those from K-means, and right by chance
(52 %). K-means starts ended so for one seed in five, and for none on smoothed vectors (`trainer.evaluation.smoothing`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from indexer.common import Floats
from indexer.errors import InputError
from indexer.topics.models.kmeans import kmeans as fitted_kmeans
from trainer.evaluation.table import Figure, repeated

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture

Clusters = NDArray[np.intp]
RESTARTS = 10  # of K-means per seed; the tightest is kept

DIMS = 50  # principal components kept, as for topics
SAMPLE = 8_000  # vectors that a mixture is fitted on; the shared covariance has 1,275 parameters
STARTS = 40  # of EM; the fit with the highest likelihood is kept
STEPS = 300  # of EM, at most
TOLERANCE = (
    1e-5  # nats per vector; EM ends when a step gains less. At 1e-4 it ends too early after a bad start
)
RIDGE = 1e-6  # added to every variance; those of 50 components of unit vectors are about 1e-3 and more


def numbered(labels: Sequence[str]) -> Clusters:
    """Labels as numbers from 0, in alphabetical order: int [n]."""
    return np.unique(np.asarray(labels), return_inverse=True)[1]


def ground_truth(path: Path, labels: Sequence[str]) -> Clusters:
    """The labels of a file as numbers from 0: int [n].

    Raises:
        InputError: There is one label only, with which every clustering agrees.
    """
    if len(set(labels)) < 2:
        raise InputError(f"{path}: every label is '{labels[0]}'; clusters are compared with two or more.")
    return numbered(labels)


def kmeans(vectors: Floats, number: int, seed: int) -> Clusters:
    """The cluster of each vector, by K-means: float32 [n, dims] ► int [n]."""
    found: Clusters = fitted_kmeans(vectors, number, seed=seed, starts=RESTARTS).labels_
    return found


def mixture(vectors: Floats, number: int, seed: int, *, dims: int = DIMS, sample: int = SAMPLE) -> Clusters:
    """The likeliest Gaussian of each vector: float32 [n, dims of the encoder] ► int [n].

    Args:
        number: Of Gaussians, at least 1 and at most n.
        dims: Principal components of all vectors that are kept.
        sample: Maximum number of vectors that the Gaussians are fitted on.

    Raises:
        ValueError: There are fewer vectors than Gaussians.
    """
    if not 1 <= number <= len(vectors):
        raise ValueError(f"{number} clusters of {len(vectors)} vectors; give at least 1 and at most as many.")
    random = np.random.default_rng(seed)
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    _, components = np.linalg.eigh(centred.T @ centred)  # ascending
    points = centred @ components[:, ::-1][:, :dims]  # float64 [n, p]
    fitted = points
    if len(points) > max(sample, number):
        fitted = points[np.sort(random.choice(len(points), max(sample, number), replace=False))]
    found: Clusters = fit_mixture(fitted, number, random).predict(points)
    return found


def fit_mixture(
    points: NDArray[np.float64], number: int, random: np.random.Generator, starts: int = STARTS
) -> GaussianMixture:
    """The likeliest of several mixtures of Gaussians with one covariance, each from another K-means: float64 [n, p]."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    def fit(seed: int) -> GaussianMixture:
        return GaussianMixture(
            number, covariance_type="tied", tol=TOLERANCE, reg_covar=RIDGE, max_iter=STEPS, random_state=seed
        ).fit(points)

    # The matrices are small, and waiting threads spin.
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [fit(int(random.integers(1 << 31))) for _ in range(starts)]
    return max(fits, key=lambda model: model.lower_bound_)  # the first of equals


def accuracy(labels: Clusters, found: Clusters) -> float:
    """Share of rows that are right when every cluster represents one label, with the best assignment (0 to 1).

    Two clusters never represent the same label (Hungarian method), so a surplus cluster is wrong altogether.

    Args:
        labels, found: int [n], numbers from 0.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    together = contingency_matrix(labels, found)
    return float(together[linear_sum_assignment(together, maximize=True)].sum() / len(labels))


def agreement(labels: Clusters, found: Clusters) -> float:
    """Normalised mutual information, divided by the arithmetic mean of both entropies (0 to 1)."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(labels, found, average_method="arithmetic"))


def scored(labels: Clusters, clusterings: Iterable[Clusters]) -> dict[str, Figure]:
    """``acc`` and ``nmi`` over several clusterings, one per seed."""
    pairs = [(accuracy(labels, found), agreement(labels, found)) for found in clusterings]
    return {"acc": repeated([acc for acc, _ in pairs]), "nmi": repeated([nmi for _, nmi in pairs])}
