"""Input and output of every topic model: a sample of phrases in, a `TopicFit` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, unit

WITHOUT_TOPIC = 0.015  # share of the sampled documents that may be left without a topic
ROUNDED = 1e-4  # copies of a text differ by less, as they are multiplied in batches of other sizes
TELLING = 50  # documents, from which on such a share says something
NEVER = 2.0  # no cosine is so high
DOCUMENT_SHARE = 0.7  # of the document's vector in the mixture; .6 to .8 are equal within noise


@dataclass(frozen=True)
class Sample:
    """Phrases of sampled documents, the material of a fit.

    Attributes:
        vectors: float32 [n, dims], a phrase in its context each, unit length.
        weights: float32 [n], above 0: how much the phrase counts in its document.
        document: int [n], row in `documents`, ascending.
        documents: float32 [m, dims], unit length.
        before: int [m], the topic that each document has now, from 0; -1 without one. None: they have none yet.
        shaped: A user has shaped the topics that there are, so no others are looked for.
    """

    vectors: Floats
    weights: Floats
    document: NDArray[np.intp]
    documents: Floats
    before: NDArray[np.intp] | None = None
    shaped: bool = False


@dataclass(frozen=True)
class Assignment:
    """The topics of phrases. `topic` is -1 where no topic is similar enough."""

    topic: NDArray[np.intp]  # [n]
    similarity: Floats  # [n], cosine to the nearest centroid in the mapped space
    runner_up: NDArray[np.intp]  # [n], -1 when there is one topic only
    margin: Floats  # [n], similarity minus that of the runner-up


class OwnTopic(NamedTuple):
    """What a document itself votes for, as `Assignment` has it of phrases."""

    topic: int
    similarity: float
    runner_up: int
    margin: float


@dataclass(frozen=True)
class TopicFit:
    """A fit as arrays: a linear map, centroids in the mapped space, and a similarity threshold.

    Attributes:
        mean: float32 [dims]; projection: float32 [dims, p]: mixture ► (mixture - mean) @ projection, scaled to length 1.
        mapped: float32 [k, p], unit length. centroids: float32 [k, dims], in the encoder's space, unit length.
        threshold: The least cosine at which a phrase still belongs to its nearest topic.
        document_threshold: The least cosine at which a document itself votes for its nearest topic; above 1, none does.
        share: Of the document's vector in the mixture; 1: the document alone decides.
        silhouette: Of the sample, -1 to 1; NaN where it is not defined.
        continues: Of each topic the one that it is of `Sample.before`, or -1; empty where others were found. Not kept.
    """

    mean: Floats
    projection: Floats
    mapped: Floats
    centroids: Floats
    threshold: float
    silhouette: float = float("nan")
    share: float = DOCUMENT_SHARE
    document_threshold: float = NEVER
    continues: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.mapped)

    @property
    def whole(self) -> bool:
        """Whether documents are assigned as a whole, and their phrases with them."""
        return self.share == 1.0

    def assign(self, vectors: Floats, document: Floats) -> Assignment:
        """Assign phrases of one document, or phrases with a document vector each, to topics.

        Args:
            vectors: float32 [n, dims]. document: float32 [dims] or [n, dims].
        """
        similarity = self.similarity(vectors, document)
        order = np.argsort(-similarity, axis=1, kind="stable")
        rows = np.arange(len(similarity))
        best = order[:, 0]
        nearest = similarity[rows, best]
        second = order[:, 1] if len(self) > 1 else np.full(len(best), -1)
        margin = nearest - (similarity[rows, second] if len(self) > 1 else 0.0)
        return Assignment(
            topic=np.where(nearest >= self.threshold, best, -1),
            similarity=nearest.astype(np.float32),
            runner_up=second,
            margin=margin.astype(np.float32),
        )

    def own_topic(self, document: Floats, allowed: Sequence[bool] | None = None) -> OwnTopic | None:
        """What a document itself votes for; None where it has no vote: it decides alone, or the fit is an old one.

        Args:
            allowed: Topics that it may vote for; None: all.
        """
        if self.whole or self.document_threshold > 1:
            return None
        similarity = (mapped_unit(document[None], self.mean, self.projection) @ self.mapped.T)[0]
        if allowed is not None:
            similarity = np.where(allowed, similarity, -NEVER)
        order = np.argsort(-similarity, kind="stable")
        best, second = int(order[0]), int(order[1]) if len(order) > 1 else -1
        nearest = float(similarity[best])
        return OwnTopic(
            topic=best if nearest >= self.document_threshold else -1,
            similarity=nearest,
            runner_up=second,
            margin=nearest - float(similarity[second]) if second >= 0 else 0.0,
        )

    def similarity(self, vectors: Floats, document: Floats) -> Floats:
        """Cosine of phrases to the centroids in the mapped space: float32 [n, k]; arguments as for `assign`."""
        mixtures = mixed(vectors, document, self.share)
        found: Floats = mapped_unit(mixtures, self.mean, self.projection) @ self.mapped.T
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For the catalog."""
        return {
            "mean": self.mean,
            "projection": self.projection,
            "mapped": self.mapped,
            "centroids": self.centroids,
            "reach": np.array([self.threshold], np.float32),
            "silhouette": np.array([self.silhouette], np.float32),
            "share": np.array([self.share], np.float32),
            "document_reach": np.array([self.document_threshold], np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TopicFit:
        """The reverse of `arrays`."""
        return cls(
            mean=arrays["mean"],
            projection=arrays["projection"],
            mapped=arrays["mapped"],
            centroids=arrays["centroids"],
            threshold=float(arrays["reach"][0]),
            silhouette=float(arrays["silhouette"][0]),
            share=float(arrays["share"][0])
            if "share" in arrays
            else DOCUMENT_SHARE,  # fits before version 0.2 lack it
            document_threshold=float(arrays["document_reach"][0]) if "document_reach" in arrays else NEVER,
        )


def means(vectors: Floats, weights: Floats, labels: NDArray[np.intp], number: int) -> Floats:
    """Weighted mean of the vectors of each label, at unit length: float32 [number, dims]."""
    sums = np.zeros((number, vectors.shape[1]), np.float32)
    np.add.at(sums, labels, vectors * weights[:, None])
    return unit(sums)


MIN_WEIGHT = 0.2  # of a document's vote; below it a topic is only touched on
MAX_TOPICS = 3  # of one document


def vote(topics: Sequence[int], weights: Sequence[float], own: int | None = None) -> list[tuple[int, float]]:
    """A document's topics from those of its phrases, and its own: (topic, share of the vote), heaviest first.

    A document has no topic when most of its vote has none (-1).

    Args:
        own: What the document itself votes for, which weighs as much as all phrases together; None: it has no vote.
    """
    if own is not None:
        topics, weights = [own, *topics], [sum(weights) or 1.0, *weights]
    total = float(sum(weights))
    if not total:
        return []
    shares: dict[int, float] = {}
    for topic, weight in zip(topics, weights, strict=True):
        shares[topic] = shares.get(topic, 0.0) + weight / total
    if shares.pop(-1, 0.0) > 0.5:
        return []
    ranked = sorted(shares.items(), key=lambda item: (-item[1], item[0]))[:MAX_TOPICS]
    return [(topic, share) for i, (topic, share) in enumerate(ranked) if i == 0 or share >= MIN_WEIGHT]


def median_of_each(nearest: Floats, document: NDArray[np.intp]) -> Floats:
    """The median of the phrases of each document: float32 [m].

    Args:
        nearest: float32 [n], of phrases. document: int [n], ascending.
    """
    starts = np.flatnonzero(np.r_[True, document[1:] != document[:-1]])
    return np.array([np.median(part) for part in np.split(nearest, starts[1:])], np.float32)


def lowest(nearest: Floats) -> float:
    """The cosine below which `WITHOUT_TOPIC` of the documents are; -1 where there are too few to tell."""
    return float(np.quantile(nearest, WITHOUT_TOPIC)) - ROUNDED if len(nearest) >= TELLING else -1.0


def mixed(vectors: Floats, document: Floats, share: float = DOCUMENT_SHARE) -> Floats:
    return unit((1 - share) * vectors + share * document)


def mapped_unit(mixtures: Floats, mean: Floats, projection: Floats) -> Floats:
    return unit((mixtures - mean) @ projection)
