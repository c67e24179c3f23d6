"""Near words of the word index, for words that no document has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA

from indexer.engines.base import Clause
from indexer.engines.local.connections import Connection
from indexer.engines.local.words import postings, tokens, vocabulary
from indexer.engines.spelling import beginnings, may_be_misspelt, most_edits, near_words

STEMS = 8  # near a beginning, that are looked up
DOCUMENTS = 8  # that are read for each of them
READ = 20_000  # characters of a text
CHOICES = 8  # words of which the one that most documents have is taken


def spellings(connection: Connection, words: Sequence[str]) -> dict[str, str]:
    """Return the nearest word for each of these that no document has, where one is near."""
    missing = [w for w in dict.fromkeys(words) if may_be_misspelt(w) and not _documents(connection, w)]
    near = {word: near_words(word, _texts(connection, word))[:CHOICES] for word in missing}
    return {
        word: max(some, key=lambda choice: _documents(connection, choice))
        for word, some in near.items()
        if some
    }


def _documents(connection: Connection, word: str) -> int:
    return len(postings(connection, Clause(word)).docs)


def _texts(connection: Connection, word: str) -> Iterator[str]:
    """Iterate over titles and texts of documents with a stem that is near a beginning of the word."""
    known = vocabulary(connection)
    stems: dict[str, None] = {}
    for beginning in dict.fromkeys([*tokens(connection, word), *beginnings(word)]):
        near = process.extract(
            beginning, known.keys(), scorer=OSA.distance, score_cutoff=most_edits(word), limit=None
        )
        best = sorted((edits, -known[stem], stem) for stem, edits, _ in near)[:STEMS]
        stems |= dict.fromkeys(stem for _, _, stem in best)
    sql = (
        "SELECT title, substr(text, 1, ?) FROM texts WHERE doc IN (SELECT DISTINCT doc FROM temp.word_places "
        "WHERE term = ? LIMIT ?)"
    )
    for stem in stems:
        for pair in connection.execute(sql, (READ, stem, DOCUMENTS)):
            yield from pair
