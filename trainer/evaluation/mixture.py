"""Clusters as a mixture of Gaussians that share one covariance: K-means that knows which directions say little.

K-means takes every direction of the space for equally telling and every cluster for equally large. Vectors of phrases
vary most in directions that have nothing to do with kinds (length, register, the sentence around them). One covariance
for all clusters is learnt from the data and divides that out; it has few enough numbers to be fitted on some thousand
vectors, which one covariance per cluster has not.

EM begins with the clusters of K-means, several times. The likeliest end need not mean anything: on BC5CDR (chemicals
and diseases), starts at random vectors or from K-means on scaled directions were likelier than those from K-means, and
right by chance (52 %). K-means starts ended so for one seed in five, and for none on smoothed vectors
(`indexer.text.linking`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from indexer.common import Floats
from indexer.topics.models.clusters import kmeans

DIMS = 50  # principal components kept, as for topics
SAMPLE = 8_000  # vectors that are fitted on; the shared covariance has 1,275 numbers
RESTARTS = 40  # the start with the highest likelihood is kept
STEPS = 300  # of EM, at most
ENOUGH = (
    1e-5  # nats per vector; EM ends when a step gains less. At 1e-4 it stops on the way out of a bad start
)
RIDGE = 1e-6  # added to every variance; those of 50 components of unit vectors are about 1e-3 and more

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class MixtureFit:
    """A fitted mixture as arrays. `p` principal components, `k` clusters.

    Attributes:
        mean: float32 [dims]; projection: float32 [dims, p]: vector ► (vector - mean) @ projection, where the shared
            covariance is the identity.
        centres: float32 [k, p], there.
        shares: float32 [k], above 0, sum 1: how much of the sample each cluster has.
        likelihood: Mean log-likelihood of the sample, in nats; compares starts on one sample, nothing else.
    """

    mean: Floats
    projection: Floats
    centres: Floats
    shares: Floats
    likelihood: float

    def __len__(self) -> int:
        return len(self.centres)

    def probabilities(self, vectors: Floats) -> Floats:
        """How likely each cluster is for each vector.

        Args:
            vectors: float32 [n, dims].

        Returns:
            float32 [n, k], rows sum to 1.
        """
        points = (vectors - self.mean) @ self.projection  # [n, p]
        found, _ = _memberships(_scores(points, self.centres, self.centres, self.shares))
        return found.astype(np.float32)

    def place(self, vectors: Floats) -> NDArray[np.intp]:
        """The likeliest cluster of each vector: float32 [n, dims] ► int [n]."""
        found: NDArray[np.intp] = np.argmax(self.probabilities(vectors), axis=1)
        return found


def fit_mixture(
    vectors: Floats,
    number: int,
    *,
    seed: int,
    dims: int = DIMS,
    sample: int = SAMPLE,
    restarts: int = RESTARTS,
) -> MixtureFit:
    """Fit a mixture from several starts; the same arguments give the same fit.

    Args:
        vectors: float32 [n, dims of the encoder], unit length as a rule.
        number: Of clusters, at least 1 and at most n.
        seed: Decides the sample and the starts.
        dims: Principal components kept; all vectors count for them.
        sample: At most so many vectors are fitted on.
        restarts: Starts, at least 1.

    Raises:
        ValueError: There are fewer vectors than clusters.
    """
    if not 1 <= number <= len(vectors):
        raise ValueError(f"{number} clusters of {len(vectors)} vectors; give at least 1 and at most as many.")
    random = np.random.default_rng(seed)
    mean, axes = _principal(vectors, dims)
    chosen = vectors
    if len(vectors) > max(sample, number):
        chosen = vectors[np.sort(random.choice(len(vectors), max(sample, number), replace=False))]
    points = (chosen - mean) @ axes  # float64 [sample, p]
    with threadpool_limits(1, user_api="blas"):  # the matrices are small, and waiting threads spin
        fits = [_fit(points, _start(points, number, random)) for _ in range(restarts)]
    best = max(fits, key=lambda fit: fit.likelihood)  # the first of equals
    whitening = np.linalg.cholesky(best.precision)  # [p, p]
    return MixtureFit(
        mean=mean.astype(np.float32),
        projection=(axes @ whitening).astype(np.float32),
        centres=(best.means @ whitening).astype(np.float32),
        shares=best.shares.astype(np.float32),
        likelihood=best.likelihood,
    )


@dataclass(frozen=True)
class _Gaussians:
    """One start, at its end."""

    means: Doubles  # [k, p]
    precision: Doubles  # [p, p], the inverse of the shared covariance
    shares: Doubles  # [k]
    likelihood: float


def _fit(points: Doubles, members: Doubles) -> _Gaussians:
    """EM from given memberships [n, k], rows sum to 1.

    Source: Dempster, Laird and Rubin 1977; with a shared covariance, Hastie, Tibshirani and Friedman, The Elements of
    Statistical Learning, section 12.7.
    """
    n, p = points.shape
    total = points.T @ points / n  # [p, p]
    before = -np.inf
    for _ in range(STEPS):
        sizes = members.sum(axis=0) + 1e-9  # [k]; an empty cluster stays, with hardly a share
        shares = sizes / sizes.sum()
        means = (members.T @ points) / sizes[:, None]
        covariance = total - (means.T * shares) @ means + RIDGE * np.eye(p)
        precision = np.linalg.inv(covariance)
        members, evidence = _memberships(_scores(points, means, means @ precision, shares))
        # evidence has all but - x' precision x / 2, whose mean is the trace
        constant = np.trace(precision @ total) + np.linalg.slogdet(covariance)[1] + p * np.log(2 * np.pi)
        likelihood = float(evidence.mean() - constant / 2)
        if likelihood - before < ENOUGH:
            break
        before = likelihood
    return _Gaussians(means, (precision + precision.T) / 2, shares, likelihood)


def _scores(
    points: NDArray[np.floating],
    means: NDArray[np.floating],
    weighted: NDArray[np.floating],
    shares: NDArray[np.floating],
) -> NDArray[np.floating]:
    """Log of share times density, without what is the same for all clusters of a point: [n, p] ► [n, k].

    Args:
        weighted: [k, p], `means` times the precision.
    """
    heights = np.log(shares) - np.sum(means * weighted, axis=1) / 2  # [k]
    found: NDArray[np.floating] = points @ weighted.T + heights
    return found


def _memberships(scores: NDArray[np.floating]) -> tuple[Doubles, Doubles]:
    """Softmax of each row [n, k], and the logarithm of its sum [n]."""
    highest = scores.max(axis=1, keepdims=True)
    odds = np.exp((scores - highest).astype(np.float64))
    sums = odds.sum(axis=1, keepdims=True)
    return odds / sums, (np.log(sums) + highest)[:, 0]


def _start(points: Doubles, number: int, random: np.random.Generator) -> Doubles:
    """The clusters of K-means as memberships: 0 or 1, [n, k]."""
    found: Doubles = np.eye(number)[kmeans(points, number, seed=int(random.integers(1 << 31))).labels_]
    return found


def _principal(vectors: Floats, dims: int) -> tuple[Doubles, Doubles]:
    """Mean [dims of the encoder], and at most `dims` principal components as columns, strongest first."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    centred = vectors - mean
    _, components = np.linalg.eigh(centred.T @ centred)  # ascending
    return mean, components[:, ::-1][:, :dims]
