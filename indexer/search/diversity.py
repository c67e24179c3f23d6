"""Diversity of the first hits: the best documents, in an order that repeats less of what was said before.

Source: Carbonell and Goldstein 1998, "The use of MMR, diversity-based reranking for reordering documents and producing
summaries", section 2. Here topics count as well as vectors; docs/search.md compares both, and says how the share of
relevance was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.common import Floats
from indexer.records import StoredDocument

RELEVANCE_SHARE = 0.6
REORDERED = 50  # hits; those behind them stay where they are


def diverse_order(scores: Sequence[float], documents: Sequence[StoredDocument | None]) -> list[int]:
    """Order hits by maximal marginal relevance.

    That is relevance minus the similarity to the nearest hit that comes before. Relevance is the score, scaled to 0 to
    1; similarity the mean of the cosine and of the products of topic weights. A hit without a document or a vector is
    similar to none.

    Args:
        scores: Best first.
        documents: Of the hits, with their vectors.

    Returns:
        Places of the hits.
    """
    given = np.array(scores)
    relevance = (given - given.min()) / (float(np.ptp(given)) or 1.0)
    similarity = (_cosines(documents) + _overlaps(documents)) / 2
    nearest = np.zeros(len(given))
    order: list[int] = []
    for _ in given:
        marginal = RELEVANCE_SHARE * relevance - (1 - RELEVANCE_SHARE) * nearest
        marginal[order] = -np.inf
        order.append(int(np.argmax(marginal)))
        nearest = np.maximum(nearest, similarity[order[-1]])
    return order


def _cosines(documents: Sequence[StoredDocument | None]) -> Floats:
    """float32 [hits, hits]."""
    vectors = [one.vector for one in documents if one is not None and one.vector is not None]
    rows = np.zeros((len(documents), len(vectors[0]) if vectors else 1), np.float32)
    rows[[at for at, one in enumerate(documents) if one is not None and one.vector is not None]] = (
        vectors or 0
    )
    return rows @ rows.T


def _overlaps(documents: Sequence[StoredDocument | None]) -> Floats:
    """float32 [hits, hits]."""
    weights = [
        {} if one is None else {topic.topic_id: topic.weight for topic in one.topics} for one in documents
    ]
    topics = sorted(set().union(*weights))
    rows = np.array([[some.get(topic, 0.0) for topic in topics] for some in weights], np.float32)
    return rows @ rows.T
