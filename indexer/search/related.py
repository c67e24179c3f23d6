"""Similar documents, near topics and other phrases for a query, by cosine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.common import centred
from indexer.engines.base import Engine, SearchRequest
from indexer.records import PhraseRow, StoredDocument, Topic, Vector
from indexer.text import normal_form

LONGEST_PHRASE = 5  # words of a query that names something; a longer one is a question
NEAR = 0.75  # cosine
FEWEST_DOCUMENTS = 2
READ = 40  # nearest phrases


def similar_documents(engine: Engine, id_: str, limit: int) -> list[tuple[StoredDocument, float]]:
    """Documents whose vectors are nearest to that of this one, with the cosine; none when it is not mined."""
    (own,) = engine.documents([id_], vectors=True)
    if own.vector is None:
        return []
    near = engine.search(SearchRequest(vector=own.vector, limit=limit + 1)).meaning
    scores = dict(zip(near.ids, near.scores, strict=True)) if near else {}
    scores.pop(id_, None)
    return [(stored, scores[stored.document.id]) for stored in engine.documents(list(scores)[:limit])]


def near_topics(topics: Sequence[Topic], id_: str, limit: int) -> list[tuple[Topic, float]]:
    """Topics that are nearest to this one, with the similarity by which the map groups them.

    That is the cosine as seen from the middle of all topics: what all have in common tells nothing of two of them.
    """
    own = next(at for at, topic in enumerate(topics) if topic.id == id_)
    directions = centred(np.stack([topic.centroid for topic in topics]).astype(np.float64))
    scores = (directions @ directions[own]).tolist()
    others = [(topic, score) for topic, score in zip(topics, scores, strict=True) if topic.id != id_]
    return sorted(others, key=lambda pair: (-pair[1], pair[0].id))[:limit]


def other_phrases(engine: Engine, query: str, vector: Vector, limit: int) -> list[tuple[PhraseRow, float]]:
    """Phrases of several documents that mean nearly the same as a query in other words, with the cosine.

    A phrase with all the words of the query, or with those of a nearer one, is left out.
    """
    known = [set(normal_form(query).split())]
    found = []
    for row, score in engine.nearest_phrases(vector, limit=READ):
        words = set(row.phrase.split())
        if score >= NEAR and row.documents >= FEWEST_DOCUMENTS and not words <= known[0]:
            if not any(words >= some for some in known):
                found.append((row, score))
            known.append(words)
    return found[:limit]
