"""Keyphrases and titles that begin with what is being typed."""

from __future__ import annotations

from indexer.engines.local.connections import Connection
from indexer.engines.local.schema import KEYPHRASE_FIELD
from indexer.engines.values import bindable

LAST = "\U0010ffff"  # sorts behind everything that begins so
# The values of a field are in order, so that SQLite reads those that begin so, and counts the documents of each.
_KEYPHRASES = """
    SELECT shown, (SELECT count(*) FROM doc_values WHERE doc_values.code = facet_values.code) AS documents
    FROM facet_values WHERE field = ? AND value >= ? AND value < ? AND documents > 0
    ORDER BY documents DESC, value LIMIT ?
"""
_TITLES = """
    SELECT id, title FROM texts JOIN documents USING (doc)
    WHERE title >= ? COLLATE NOCASE AND title < ? COLLATE NOCASE ORDER BY title COLLATE NOCASE, id LIMIT ?
"""


def keyphrases_with(connection: Connection, beginning: str, limit: int) -> list[tuple[str, int]]:
    """Return keyphrases that begin so, and the number of documents of each, most documents first."""
    first = bindable(beginning.casefold())
    return list(connection.execute(_KEYPHRASES, (KEYPHRASE_FIELD, first, first + LAST, limit)))


def titles_with(connection: Connection, beginning: str, limit: int) -> list[tuple[str, str]]:
    """Return ids and titles of documents whose titles begin so, by title."""
    first = bindable(beginning)
    return list(connection.execute(_TITLES, (first, first + LAST, limit)))
