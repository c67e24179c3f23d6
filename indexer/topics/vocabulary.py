"""The user's own vocabulary as topics: each term becomes a direction of the fit.

A term begins as the vector of its names and definition. Then, as in a mixture of von Mises-Fisher distributions, it
moves to the mean of the documents that are nearest to it, held back by where it began: documents say better than two
words what a subject is about. Mined topics that a term is near to are covered by it; the others stay beside the terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from indexer.catalog.vocabulary import Term
from indexer.common import Floats, unit
from indexer.topics.corrections import learned
from indexer.topics.models.base import Sample, TopicFit, lowest, mapped_unit, means, median_of_each, mixed

COVERED = 0.5  # cosine of a term and a mined topic from which on the term covers it
SHARPNESS = 40.0  # of the shares of a document, per cosine; 10 to 40 are equal within noise
HELD = 1.0  # weight of where a term began, against the mean of its documents
STEPS = 20


@dataclass(frozen=True)
class Seeds:
    """Where the terms begin.

    Attributes:
        topics: Ids of their topics.
        vectors: float32 [n, dims], of their names and definitions.
        middle: float32 [dims], the mean of the phrases of the collection, encoded as texts like the terms: what all short
            texts have in common says nothing about a subject.
    """

    topics: tuple[str, ...]
    vectors: Floats
    middle: Floats


def broader_groups(terms: Sequence[Term]) -> dict[str, set[str]]:
    """The topic of each term that has narrower ones ► the topics of those that have none, at any depth below it."""
    by_key = {term.key: term for term in terms}
    broader = {term.broader for term in terms}
    found: dict[str, set[str]] = {}
    for term in terms:
        above = by_key.get(term.broader)
        while above and term.key not in broader:
            found.setdefault(above.topic, set()).add(term.topic)
            above = by_key.get(above.broader)
    return found


def with_terms(
    fit: TopicFit,
    sample: Sample,
    seeds: Seeds,
    *,
    strict: bool = False,
    examples: Mapping[str, Floats] = MappingProxyType({}),
) -> TopicFit:
    """The fit with a direction for each term before those of the mined topics that no term covers.

    Args:
        strict: There are no others: all documents belong to terms.
        examples: float32 [m, dims] by topic: documents that a user has given to a term.
    """
    documents = mapped_unit(sample.documents, fit.mean, fit.projection)
    begun = mapped_unit(seeds.vectors - seeds.middle + fit.mean, fit.mean, fit.projection)
    begun = learned(begun, [examples.get(topic) for topic in seeds.topics], fit)
    covered: NDArray[np.bool_] = (begun @ fit.mapped.T).max(axis=0) >= (-1 if strict else COVERED)
    others = fit.mapped[~covered]
    mapped = np.concatenate([_moved(documents, begun, others), others]).astype(np.float32)
    points = mapped_unit(
        mixed(sample.vectors, sample.documents[sample.document], fit.share), fit.mean, fit.projection
    )
    nearest = points @ mapped.T
    centroids = means(sample.vectors, sample.weights, np.argmax(nearest, axis=1), len(mapped))
    empty = ~centroids.any(axis=1)
    centroids[empty] = np.concatenate([seeds.vectors, fit.centroids[~covered]])[empty]
    return replace(
        fit,
        mapped=mapped,
        continues=tuple(old for old, hidden in zip(fit.continues, covered, strict=False) if not hidden),
        centroids=centroids,
        threshold=lowest(median_of_each(nearest.max(axis=1), sample.document)),
        document_threshold=lowest((documents @ mapped.T).max(axis=1)),
    )


def _moved(documents: Floats, begun: Floats, others: Floats) -> Floats:
    """Terms moved to the documents that are nearest to them: float32 [n, p].

    Args:
        others: Directions that compete for documents, and stay.
    """
    terms = begun
    for _ in range(STEPS):
        cosines = SHARPNESS * (documents @ np.concatenate([terms, others]).T)
        shares = np.exp(cosines - cosines.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        terms = unit(unit(shares[:, : len(begun)].T @ documents) + HELD * begun)
    return terms
