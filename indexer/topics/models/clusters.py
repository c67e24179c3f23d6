"""Topics from phrases in context: fit on a sample, assign everything, number of topics by silhouette.

UCTopic (ACL 2022, section 4.3) clusters the collection's phrase mentions and gives a mention the nearest centroid.
Here a mention's context is widened from its sentence to its document: what is clustered is the mention's vector mixed
with the vector of its document. With the encoder untrained this decides (600 arXiv abstracts, 10 topics, agreement
of a document's first topic with its category, NMI: sentence alone .44, with the document's share at .7 .82).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, unit
from indexer.topics.models.base import DOCUMENT_SHARE, Sample, TopicFit, mapped_unit, means, mixed

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


MAPPED_DIMS = 50  # principal components kept; 50 and 100 are equal within noise, raw is slower
SILHOUETTE_DOCUMENTS = 3_000  # a silhouette compares all pairs
SEARCH_PHRASES = 10_000  # the number of topics is looked for on so many (UCTopic, 4.3)
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)
DOCUMENTS_PER_TOPIC = 8  # fewer in the sample on average are not a topic
WITHOUT_TOPIC = 0.02  # share of the sampled documents that may be left without a topic
STEPS = 30  # of K-means; later ones move a handful of points
SEARCH_STEPS = 20  # enough to tell one number of topics from another
FINALISTS = 2  # numbers of topics that are compared more closely
STARTS = 4  # of K-means; the one with the highest silhouette is kept
ROUNDING = 3  # decimals: points that agree so far are the same document, or its copy
SEED = 20220227


def load_libraries() -> None:
    """Import the libraries of `fit` ahead of the first fit; it takes a second."""
    import sklearn.cluster
    import sklearn.metrics  # noqa: F401


@dataclass(frozen=True)
class Space:
    """The space of the topics of a sample: phrases mixed with their documents, centred and projected.

    Attributes:
        mean, projection: As in `TopicFit`.
        points: float32 [n, p], the phrases of the sample there, unit length.
        share: Of the document's vector in the mixture.
    """

    sample: Sample
    mean: Floats
    projection: Floats
    points: Floats
    share: float

    @classmethod
    def of(cls, sample: Sample, share: float = DOCUMENT_SHARE) -> Space:
        """The leading principal components of the mixtures."""
        mixtures = mixed(sample.vectors, sample.documents[sample.document], share)
        mean, projection = _principal(mixtures)
        return cls(sample, mean, projection, mapped_unit(mixtures, mean, projection), share)

    def number(self, requested: int | None) -> int:
        """How many topics to look for: as many as requested, or by silhouette; never more than distinct points."""
        distinct = len(np.unique(np.round(self.points, ROUNDING), axis=0))
        most = min(len(self.sample.documents), distinct)
        return min(requested or _best_number(self.points, self.sample, distinct), most)

    def fit(self, topics: Floats) -> TopicFit:
        """The fit with these directions: float32 [k, p], unit length."""
        similarity = self.points @ topics.T  # [n, k]
        labels = np.argmax(similarity, axis=1)
        return TopicFit(
            mean=self.mean,
            projection=self.projection,
            mapped=topics,
            centroids=means(self.sample.vectors, self.sample.weights, labels, len(topics)),
            threshold=_threshold(similarity.max(axis=1), self.sample.document),
            silhouette=_silhouette(self.points, labels, _one_per_document(self.sample)),
            share=self.share,
        )


def fit(sample: Sample, number: int | None = None, *, starts: Sequence[int] = range(STARTS)) -> TopicFit:
    """Fit topics to a sample; the same sample gives the same fit.

    Args:
        number: How many topics; None chooses by silhouette. Never more than there are documents.
        starts: Numbers of the random starts of K-means to choose from; others give somewhat other topics.
    """
    space = Space.of(sample)
    number = space.number(number)
    one = _one_per_document(sample)
    found = [_clusters(space.points, sample.weights, number, start=start, steps=STEPS) for start in starts]
    # By silhouette, not by tightness: tight clusters may cut a topic in two and leave two others together.
    return space.fit(max(found, key=lambda clusters: _silhouette(space.points, clusters[1], one))[0])


def _principal(mixtures: Floats) -> tuple[Floats, Floats]:
    """Mean [dims] and the leading principal components [dims, p], strongest first."""
    mean = mixtures.mean(axis=0)
    centred = mixtures - mean
    _, components = np.linalg.eigh(centred.T @ centred)  # ascending
    kept = min(MAPPED_DIMS, mixtures.shape[1])
    return mean.astype(np.float32), np.ascontiguousarray(components[:, ::-1][:, :kept], np.float32)


def _clusters(
    points: Floats, weights: Floats, number: int, *, start: int, steps: int
) -> tuple[Floats, NDArray[np.intp]]:
    """Weighted K-means on the unit sphere: centroids [k, p] of unit length, and the nearest one of each point [n]."""
    means = kmeans(points, number, seed=SEED + start, steps=steps, weights=weights)
    centroids = unit(means.cluster_centers_)
    return centroids, np.argmax(points @ centroids.T, axis=1)


def _threshold(nearest: Floats, document: NDArray[np.intp]) -> float:
    """The cosine below which `WITHOUT_TOPIC` of the documents have most of their phrases."""
    starts = np.flatnonzero(np.r_[True, document[1:] != document[:-1]])
    typical = [float(np.median(part)) for part in np.split(nearest, starts[1:])]
    return float(np.quantile(typical, WITHOUT_TOPIC)) if len(typical) >= 1 / WITHOUT_TOPIC else -1.0


def _best_number(points: Floats, sample: Sample, distinct: int) -> int:
    """The number of topics with the highest silhouette, at most as many as there are distinct points.

    Measured on one phrase per document: phrases of one document are similar by construction of the mixture, and
    would reward as many topics as there are documents.
    """
    most = min(len(sample.documents) // DOCUMENTS_PER_TOPIC, distinct)
    numbers = [k for k in NUMBERS if k <= most]
    if not numbers:
        return 1
    one = _one_per_document(sample)
    chosen = np.linspace(0, len(points) - 1, min(SEARCH_PHRASES, len(points))).astype(np.intp)

    @cache
    def score(k: int, start: int) -> float:
        centroids, _ = _clusters(points[chosen], sample.weights[chosen], k, start=start, steps=SEARCH_STEPS)
        return _silhouette(points, np.argmax(points @ centroids.T, axis=1), one)

    ranked = sorted(numbers, key=lambda k: -score(k, 0))
    # One start may be a bad one: the best numbers, and those between them and their neighbours, are tried again.
    at = numbers.index(ranked[0])
    low, high = numbers[max(at - 1, 0)], numbers[min(at + 1, len(numbers) - 1)]
    between = [round((ranked[0] + low) / 2), round((ranked[0] + high) / 2)]
    finalists = sorted({*ranked[:FINALISTS], *between})
    return max(finalists, key=lambda k: max(score(k, start) for start in range(STARTS)))


def _one_per_document(sample: Sample) -> NDArray[np.intp]:
    """Row of one random phrase of each document, of at most `SILHOUETTE_DOCUMENTS` documents."""
    starts = np.flatnonzero(np.r_[True, sample.document[1:] != sample.document[:-1]])
    sizes = np.diff(np.r_[starts, len(sample.document)])
    rows: NDArray[np.intp] = starts + np.random.default_rng(SEED).integers(0, sizes)
    if len(rows) <= SILHOUETTE_DOCUMENTS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, SILHOUETTE_DOCUMENTS).astype(np.intp)]


def _silhouette(points: Floats, labels: NDArray[np.intp], rows: NDArray[np.intp]) -> float:
    from sklearn.metrics import silhouette_score

    if not 1 < len(np.unique(labels[rows])) < len(rows):
        return float("nan") if len(np.unique(labels)) < 2 else -1.0
    return float(silhouette_score(points[rows], labels[rows]))
