"""Why a document was found: its phrases that are nearest to the query."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.common import Floats
from indexer.engines.base import Engine
from indexer.search.results import SearchResults
from indexer.text import stemmed

REASONS = 3  # phrases that explain a hit


def reasons(engine: Engine, results: SearchResults, query: Floats | None) -> dict[str, list[Reason]]:
    """The phrases of each hit that have a word of the query, or are nearest to it in meaning.

    Args:
        query: float32 [dims], the query as a phrase; None when the search was by words alone.

    Returns:
        Document id ► at most three phrases, nearest first.
    """
    asked = set(stemmed(results.query).split())
    found: dict[str, list[Reason]] = {}
    for row in engine.mentions([hit.stored.document.id for hit in results.hits]):
        near = float(row.vector @ query) if query is not None else None
        if near is not None or asked & set(stemmed(row.surface).split()):
            found.setdefault(row.document_id, []).append(Reason(row.surface, near))
    for some in found.values():
        some.sort(key=lambda reason: -(reason.similarity or 0.0))
        del some[REASONS:]
    return found


@dataclass(frozen=True)
class Reason:
    """A phrase of a found document that is near the query.

    Attributes:
        similarity: Cosine; None when the search was by words alone.
    """

    phrase: str
    similarity: float | None
