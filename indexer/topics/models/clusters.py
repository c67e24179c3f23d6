"""Topics from documents and their phrases: fit on a sample, assign everything, number of topics by silhouette.

UCTopic (ACL 2022, section 4.3) clusters the collection's phrase mentions and gives a mention the nearest centroid.
Here a mention's context is widened from its sentence to its document: its vector is mixed with the vector of its document
(600 arXiv abstracts, 10 topics, untrained encoder, agreement of a document's first topic with its category, NMI: sentence
alone .44, with the document's share at .7 .82). And what is clustered are the documents themselves, in the space of these
mixtures, by a tree (`indexer.topics.models.tree`): against K-means of the mixtures that raised the agreement on three
collections by .008 to .029.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from indexer.common import Floats, unit
from indexer.topics.models.base import (
    DOCUMENT_SHARE,
    Sample,
    TopicFit,
    lowest,
    mapped_unit,
    means,
    median_of_each,
    mixed,
)
from indexer.topics.models.tree import SMALL, Labels, Tree, settled, silhouette, sum_by

MAPPED_DIMS = 50  # principal components kept; 50 and 100 are equal within noise, raw is slower
DOCUMENTS_PER_TOPIC = 8  # fewer in the sample on average are not a topic
FEWEST, MOST = 12, 48  # topics that are looked for in a sample of some thousand documents
NEARLY_BEST = 0.98  # of the highest silhouette: the smallest number of topics with so much of it is taken
STARTS = 4  # of the tree; the one whose topics have the highest silhouette is kept
ROUNDING = 3  # decimals: points that agree so far are the same document, or its copy
SEED = 20220227


def load_libraries() -> None:
    """Import the library of `fit` ahead of the first fit; it takes a second."""
    import sklearn.cluster  # noqa: F401


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

    @property
    def documents(self) -> Floats:
        """The documents of the sample alone: float32 [m, p], unit length."""
        return mapped_unit(self.sample.documents, self.mean, self.projection)

    def number(self, requested: int | None) -> int:
        """How many topics to look for: as many as requested, or by silhouette; never more than distinct documents."""
        distinct = _distinct(self.documents)
        return min(requested or _best_number(grown(self.documents, None), distinct), distinct)

    def fit(self, topics: Floats) -> TopicFit:
        """The fit with these directions: float32 [k, p], unit length."""
        nearest = self.points @ topics.T  # [n, k]
        labels = np.argmax(nearest, axis=1)
        own = self.documents @ topics.T  # [m, k]
        return TopicFit(
            mean=self.mean,
            projection=self.projection,
            mapped=topics,
            centroids=means(self.sample.vectors, self.sample.weights, labels, len(topics)),
            threshold=lowest(median_of_each(nearest.max(axis=1), self.sample.document)),
            document_threshold=lowest(own.max(axis=1)),
            silhouette=_silhouette(self.documents, np.argmax(own, axis=1)),
            share=self.share,
        )


def fit(sample: Sample, number: int | None = None, *, starts: Sequence[int] = range(STARTS)) -> TopicFit:
    """Fit topics to a sample; the same sample gives the same fit.

    Args:
        number: How many topics; None chooses by silhouette. Never more than there are documents.
        starts: Numbers of the random starts of the tree to choose from; others give somewhat other topics.
    """
    space = Space.of(sample)
    documents = space.documents
    distinct = _distinct(documents)
    trees = grown(documents, number, starts)
    chosen = min(number or _best_number(trees, distinct), distinct)
    found = [settled(documents, tree.cut(chosen)) for tree in trees]

    def score(topics: Floats) -> float:
        return _silhouette(documents, np.argmax(documents @ topics.T, axis=1))

    best = max(found, key=score)
    present = _present(sample, documents, number)
    if present is not None and (sample.shaped or score(present) >= NEARLY_BEST * score(best)):
        return replace(space.fit(present), continues=_continued(sample, documents, present))
    return space.fit(by_first_document(documents, best))


def by_first_document(documents: Floats, topics: Floats) -> Floats:
    """The topics in the order of their first documents.

    Clusters have no order of their own: equal trees of another start, engine or processor would number topics otherwise.
    """
    nearest = np.argmax(documents @ topics.T, axis=1)
    first = [
        int(np.argmax(nearest == at)) if (nearest == at).any() else len(nearest) for at in range(len(topics))
    ]
    ordered: Floats = topics[np.argsort(first, kind="stable")]
    return ordered


def _present(sample: Sample, documents: Floats, number: int | None) -> Floats | None:
    """The topics that there are, moved to the documents that there are now; None where another number is wanted.

    They are kept where no others are clearly better: readers know them.
    """
    if sample.before is None:
        return None
    having = sample.before >= 0
    there = np.unique(sample.before[having])
    numbers = (number,) if number else _numbers(documents, _distinct(documents))
    if len(there) not in numbers and not sample.shaped:
        return None
    means_ = unit(sum_by(documents[having], np.searchsorted(there, sample.before[having])))
    return settled(documents, np.unique(np.argmax(documents @ means_.T, axis=1), return_inverse=True)[1])


def _continued(sample: Sample, documents: Floats, topics: Floats) -> tuple[int, ...]:
    """Of each topic the one that most of its documents have now, if most of that are here; else -1."""
    assert sample.before is not None
    having = sample.before >= 0
    counts = np.zeros((len(topics), int(sample.before.max()) + 1))
    np.add.at(counts, (np.argmax(documents @ topics.T, axis=1)[having], sample.before[having]), 1)
    best = counts.argmax(axis=1)
    return tuple(int(old) if counts[:, old].argmax() == at else -1 for at, old in enumerate(best))


def grown(documents: Floats, number: int | None, starts: Sequence[int] = range(STARTS)) -> list[Tree]:
    """Trees of documents that can be cut into so many clusters: float32 [m, p], unit length."""
    small = min(max(SMALL, 2 * (number or 0)), _distinct(documents))
    return [Tree.of(documents, small, seed=SEED + start) for start in starts]


def _distinct(documents: Floats) -> int:
    return len(np.unique(np.round(documents, ROUNDING), axis=0))


def _principal(mixtures: Floats) -> tuple[Floats, Floats]:
    """Mean [dims] and the leading principal components [dims, p], strongest first."""
    mean = mixtures.mean(axis=0)
    centred = mixtures - mean
    _, components = np.linalg.eigh(centred.T @ centred)  # ascending
    kept = min(MAPPED_DIMS, mixtures.shape[1])
    return mean.astype(np.float32), np.ascontiguousarray(components[:, ::-1][:, :kept], np.float32)


def _best_number(trees: Sequence[Tree], distinct: int) -> int:
    """The smallest number of topics with nearly the highest silhouette, the mean over all trees.

    At least a quarter of the square root of the documents, up to `FEWEST`: two or three topics of thousands of documents
    may be the easiest to tell apart, and do not help a reader who looks for something. At most nine tenths of it, up to
    `MOST`.
    """
    numbers = _numbers(trees[0].points, distinct)
    if not numbers:
        return max(1, numbers.stop - 1)
    scores = np.mean([[_silhouette(tree.points, tree.cut(k)) for k in numbers] for tree in trees], axis=0)
    highest = float(scores.max())
    enough = highest * NEARLY_BEST if highest > 0 else highest
    return numbers[int(np.argmax(scores >= enough))]


def _numbers(documents: Floats, distinct: int) -> range:
    root = math.sqrt(len(documents))
    most = min(MOST, distinct, len(documents) // DOCUMENTS_PER_TOPIC, max(2, round(0.9 * root)))
    return range(min(FEWEST, max(2, round(root / 4))), most + 1)


def _silhouette(documents: Floats, labels: Labels) -> float:
    labels = np.unique(labels, return_inverse=True)[1]
    number = int(labels.max()) + 1
    if not 1 < number < len(documents):
        return float("nan") if number < 2 else -1.0
    return silhouette(documents, labels)
