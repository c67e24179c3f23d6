"""K-means without its warning: fewer distinct points than clusters are nothing that a reader of the screen could mend.

Topics from phrases in context: fit on a sample, place everything, number of topics by silhouette.

UCTopic (ACL 2022, section 4.3) clusters the collection's phrase mentions and gives a mention the nearest centroid.
Here a mention's context is widened from its sentence to its document: what is clustered is the mention's vector mixed
with the vector of its document. With the encoder untrained this decides (600 arXiv abstracts, 10 topics, agreement
of a document's first topic with its category, NMI: sentence alone .44, with the document's share at .7 .82).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sklearn.cluster import KMeans

    from indexer.common import Floats


def kmeans(
    points: NDArray[np.floating],
    number: int,
    *,
    seed: int,
    starts: int = 1,
    steps: int = 300,
    weights: Floats | None = None,
) -> KMeans:
    """Cluster points; some of the clusters are empty where points are alike.

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


DOCUMENT_SHARE = 0.7  # of the document's vector in the mixture; .6 to .8 are alike within noise
MAPPED_DIMS = 50  # principal components kept; 50 and 100 are alike within noise, raw is slower
SILHOUETTE_DOCUMENTS = 3_000  # a silhouette compares all pairs
SEARCH_PHRASES = 10_000  # the number of topics is looked for on so many (UCTopic, 4.3)
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)
DOCUMENTS_PER_TOPIC = 8  # fewer in the sample on average, and it is no topic
WITHOUT_TOPIC = 0.02  # share of the sampled documents that may be left without a topic
STEPS = 30  # of K-means; later ones move a handful of points
SEARCH_STEPS = 20  # enough to tell one number of topics from another
FINALISTS = 2  # numbers of topics that are looked at more closely
STARTS = 4  # of K-means; the one with the highest silhouette is kept
ALIKE = 3  # decimals: points that agree so far are the same document, or its copy
SEED = 20220227


@dataclass(frozen=True)
class Sample:
    """Phrases of sampled documents, the material of a fit.

    Attributes:
        vectors: float32 [n, dims], a phrase in its context each, unit length.
        weights: float32 [n], above 0: how much the phrase counts in its document.
        document: int [n], row in `documents`, ascending.
        documents: float32 [m, dims], unit length.
    """

    vectors: Floats
    weights: Floats
    document: NDArray[np.intp]
    documents: Floats


@dataclass(frozen=True)
class Placement:
    """Where phrases belong. `topic` is -1 beyond reach."""

    topic: NDArray[np.intp]  # [n]
    similarity: Floats  # [n], cosine to the nearest centroid in the mapped space
    runner_up: NDArray[np.intp]  # [n], -1 when there is one topic only
    margin: Floats  # [n], similarity minus that of the runner-up


@dataclass(frozen=True)
class TopicFit:
    """A fit as arrays: a linear map, centroids in the mapped space, and how far a topic reaches.

    Attributes:
        mean: float32 [dims]; projection: float32 [dims, p]: mixture ► (mixture - mean) @ projection, scaled to length 1.
        mapped: float32 [k, p], unit length. centroids: float32 [k, dims], in the encoder's space, unit length.
        reach: The least cosine at which a phrase still belongs to its nearest topic.
        share: Of the document's vector in the mixture; 1: the document alone decides.
        silhouette: Of the sample, -1 to 1; NaN where it is not defined.
    """

    mean: Floats
    projection: Floats
    mapped: Floats
    centroids: Floats
    reach: float
    silhouette: float = float("nan")
    share: float = DOCUMENT_SHARE

    def __len__(self) -> int:
        return len(self.mapped)

    @property
    def whole(self) -> bool:
        """Whether documents are placed as a whole, and their phrases with them."""
        return self.share == 1.0

    def place(self, vectors: Floats, document: Floats) -> Placement:
        """Place phrases of one document, or phrase by phrase with a document vector each.

        Args:
            vectors: float32 [n, dims]. document: float32 [dims] or [n, dims].
        """
        similarity = self.likeness(vectors, document)
        order = np.argsort(-similarity, axis=1, kind="stable")
        rows = np.arange(len(similarity))
        best = order[:, 0]
        nearest = similarity[rows, best]
        second = order[:, 1] if len(self) > 1 else np.full(len(best), -1)
        margin = nearest - (similarity[rows, second] if len(self) > 1 else 0.0)
        return Placement(
            topic=np.where(nearest >= self.reach, best, -1),
            similarity=nearest.astype(np.float32),
            runner_up=second,
            margin=margin.astype(np.float32),
        )

    def likeness(self, vectors: Floats, document: Floats) -> Floats:
        """Cosine of phrases to the centroids in the mapped space: float32 [n, k]; arguments as for `place`."""
        mixtures = _mixed(vectors, document, self.share)
        found: Floats = _mapped(mixtures, self.mean, self.projection) @ self.mapped.T
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For the catalog."""
        return {
            "mean": self.mean,
            "projection": self.projection,
            "mapped": self.mapped,
            "centroids": self.centroids,
            "reach": np.array([self.reach], np.float32),
            "silhouette": np.array([self.silhouette], np.float32),
            "share": np.array([self.share], np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TopicFit:
        """The reverse of `arrays`."""
        return cls(
            mean=arrays["mean"],
            projection=arrays["projection"],
            mapped=arrays["mapped"],
            centroids=arrays["centroids"],
            reach=float(arrays["reach"][0]),
            silhouette=float(arrays["silhouette"][0]),
            share=float(arrays["share"][0])
            if "share" in arrays
            else DOCUMENT_SHARE,  # fits before version 0.2 lack it
        )


def load_libraries() -> None:
    """Import what `fit` needs; it takes a second, which a caller may have to spare before the first fit."""
    import sklearn.cluster
    import sklearn.metrics  # noqa: F401


@dataclass(frozen=True)
class Space:
    """Where the topics of a sample are looked for: phrases mixed with their documents, centred and projected.

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
        mixtures = _mixed(sample.vectors, sample.documents[sample.document], share)
        mean, projection = _principal(mixtures)
        return cls(sample, mean, projection, _mapped(mixtures, mean, projection), share)

    def number(self, asked: int | None) -> int:
        """How many topics to look for: as many as asked for, or by silhouette; never more than unlike points."""
        unlike = len(np.unique(np.round(self.points, ALIKE), axis=0))
        most = min(len(self.sample.documents), unlike)
        return min(asked or _best_number(self.points, self.sample, unlike), most)

    def fit(self, topics: Floats) -> TopicFit:
        """The fit with these directions: float32 [k, p], unit length."""
        similarity = self.points @ topics.T  # [n, k]
        labels = np.argmax(similarity, axis=1)
        return TopicFit(
            mean=self.mean,
            projection=self.projection,
            mapped=topics,
            centroids=means(self.sample.vectors, self.sample.weights, labels, len(topics)),
            reach=_reach(similarity.max(axis=1), self.sample.document),
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


def _mixed(vectors: Floats, document: Floats, share: float = DOCUMENT_SHARE) -> Floats:
    return unit((1 - share) * vectors + share * document)


def _principal(mixtures: Floats) -> tuple[Floats, Floats]:
    """Mean [dims] and the leading principal components [dims, p], strongest first."""
    mean = mixtures.mean(axis=0)
    centred = mixtures - mean
    _, components = np.linalg.eigh(centred.T @ centred)  # ascending
    kept = min(MAPPED_DIMS, mixtures.shape[1])
    return mean.astype(np.float32), np.ascontiguousarray(components[:, ::-1][:, :kept], np.float32)


def _mapped(mixtures: Floats, mean: Floats, projection: Floats) -> Floats:
    return unit((mixtures - mean) @ projection)


def _clusters(
    points: Floats, weights: Floats, number: int, *, start: int, steps: int
) -> tuple[Floats, NDArray[np.intp]]:
    """Weighted K-means on the unit sphere: centroids [k, p] of unit length, and the nearest one of each point [n]."""
    means = kmeans(points, number, seed=SEED + start, steps=steps, weights=weights)
    centroids = unit(means.cluster_centers_)
    return centroids, np.argmax(points @ centroids.T, axis=1)


def means(vectors: Floats, weights: Floats, labels: NDArray[np.intp], number: int) -> Floats:
    """Weighted mean of the vectors of each label, at unit length: float32 [number, dims]."""
    sums = np.zeros((number, vectors.shape[1]), np.float32)
    np.add.at(sums, labels, vectors * weights[:, None])
    return unit(sums)


def _reach(nearest: Floats, document: NDArray[np.intp]) -> float:
    """So far that the given share of the documents has most of its phrases beyond it."""
    starts = np.flatnonzero(np.r_[True, document[1:] != document[:-1]])
    typical = [float(np.median(part)) for part in np.split(nearest, starts[1:])]
    return float(np.quantile(typical, WITHOUT_TOPIC)) if len(typical) >= 1 / WITHOUT_TOPIC else -1.0


def _best_number(points: Floats, sample: Sample, unlike: int) -> int:
    """The number of topics with the highest silhouette, at most as many as there are unlike points.

    Measured on one phrase per document: phrases of one document are alike by construction of the mixture, and
    would reward as many topics as there are documents.
    """
    most = min(len(sample.documents) // DOCUMENTS_PER_TOPIC, unlike)
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
    """Row of one phrase of each document, another place in each, of at most `SILHOUETTE_DOCUMENTS` documents."""
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


LEAST_WEIGHT = 0.2  # of a document's vote; below it a topic is only touched on
MOST_TOPICS = 3  # of one document


def vote(topics: Sequence[int], weights: Sequence[float]) -> list[tuple[int, float]]:
    """A document's topics from those of its phrases: (topic, share of the vote), heaviest first.

    A document has no topic when most of its vote is beyond reach (topic -1).
    """
    total = float(sum(weights))
    if not total:
        return []
    shares: dict[int, float] = {}
    for topic, weight in zip(topics, weights, strict=True):
        shares[topic] = shares.get(topic, 0.0) + weight / total
    if shares.pop(-1, 0.0) > 0.5:
        return []
    ranked = sorted(shares.items(), key=lambda item: (-item[1], item[0]))[:MOST_TOPICS]
    return [(topic, share) for i, (topic, share) in enumerate(ranked) if i == 0 or share >= LEAST_WEIGHT]
