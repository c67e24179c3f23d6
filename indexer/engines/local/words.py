"""Documents by words: BM25F over title and text, from the postings of FTS5.

FTS5 ranks by BM25 with a weight for each column, but does not weight their lengths, so that a document that is only a
title comes before every document with a text. BM25F (Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to
multiple weighted fields") weights both: as if the title stood there several times. Elasticsearch's `combined_fields` does
the same.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import Clause, WordQuery
from indexer.engines.local.connections import MAX_CACHED, Connection
from indexer.engines.local.facets import MANY, Docs, Mask, column
from indexer.engines.local.schema import json_array
from indexer.engines.values import bindable, has_words

Scores = NDArray[np.float64]

K1, B = 1.2, 0.75  # as in Elasticsearch
TITLE_WEIGHT = 3.0  # a word in the title counts three times, in lengths too
COLUMNS = TITLE, TEXT, ABSENT = 0, 1, 2
FEW = 4_000  # documents whose lengths are looked up one by one in a collection of many
WORD_BYTES = 100  # that a word of the vocabulary takes
OFTEN = 500  # documents with a word; reading its occurrences takes long enough to be done ahead
AHEAD = MAX_CACHED // 2  # bytes of what is read ahead
MOST = 65_535  # occurrences in one column that are counted
_OFFSET_BITS, _COLUMN_BITS = 28, 2  # of a place = doc << 30 | column << 28 | position in the column

_COLUMN_NUMBER = "CASE col WHEN 'title' THEN 0 WHEN 'text' THEN 1 ELSE 2 END"


@dataclass(frozen=True)
class Matches:
    """Matching documents and their scores; None when all are equal."""

    docs: Docs
    scores: Scores | None = None


@dataclass(frozen=True)
class Postings:
    """The documents of a clause, ascending, and how often it is in each of them."""

    docs: NDArray[np.int32]
    counts: NDArray[np.uint16]  # [docs, columns]


def matches(connection: Connection, query: WordQuery | None, mask: Mask | None) -> Matches:
    """Return the documents that match the words (all without words) and pass the mask."""
    wanted, excluded = usable(query, negated=False), usable(query, negated=True)
    if query and not wanted and not excluded:  # nothing but punctuation
        return Matches(np.empty(0, np.int64))
    size = _size(connection)
    allowed = np.ones(size, np.bool_) if mask is None else mask[:size].copy()
    for term in _all_terms(excluded):
        allowed[postings(connection, term).docs] = False
    if query is None or not wanted:
        docs = column(connection.execute("SELECT doc FROM documents"))
        return Matches(docs[allowed[docs]])
    wanted = [clause for clause in wanted if any(_words(connection, term) for term in clause.terms)]
    found = [
        [postings(connection, term, absent=bool(query.absent)) for term in clause.terms] for clause in wanted
    ]
    strict = [
        some for clause, some in zip(wanted, found, strict=True) if query.require_all or clause.required
    ]
    met = np.zeros(size, np.int32)
    for terms in strict or found:
        met[reduce(np.union1d, [some.docs for some in terms])] += 1
    allowed &= met >= max(1, len(strict))
    docs = np.flatnonzero(allowed)
    return Matches(docs, _scores(connection, found, docs, size, query.absent))


def usable(query: WordQuery | None, *, negated: bool) -> list[Clause]:
    """Return the clauses that have a letter or digit."""
    clauses = query.clauses if query else ()
    return [
        clause
        for clause in clauses
        if clause.negated == negated and any(has_words(term.text) for term in clause.terms)
    ]


def _all_terms(clauses: Sequence[Clause]) -> list[Clause]:
    return [term for clause in clauses for term in clause.terms]


def without(connection: Connection, query: WordQuery | None, mask: Mask | None) -> Mask | None:
    """Return the mask without documents that contain an excluded word."""
    excluded = usable(query, negated=True)
    if not excluded:
        return mask
    kept = np.ones(_size(connection), np.bool_) if mask is None else mask.copy()
    for term in _all_terms(excluded):
        kept[postings(connection, term).docs] = False
    return kept


def _scores(
    connection: Connection, found: Sequence[Sequence[Postings]], docs: Docs, size: int, absent: float
) -> Scores:
    """Return the BM25F of some documents, ascending; of the terms of a clause, the highest counts.

    `size`: of an array that has a place for each document.
    """
    if not len(docs):
        return np.empty(0)
    weights = np.array([TITLE_WEIGHT, 1.0, absent])
    number, average = _averages(connection)
    lengths = _lengths(connection, docs if len(docs) <= FEW and size > MANY else None, size)
    norms = K1 * (1 - B + B * lengths / average)
    scores = np.zeros(size)
    for terms in found:
        best = np.zeros(size) if len(terms) > 1 else None
        for some in terms:
            rarity = np.log1p((number - len(some.docs) + 0.5) / (len(some.docs) + 0.5))
            frequencies = some.counts @ weights
            of_term = rarity * frequencies * (K1 + 1) / (frequencies + norms[some.docs])
            if best is None:
                scores[some.docs] += of_term
            else:
                best[some.docs] = np.maximum(best[some.docs], of_term)
        if best is not None:
            scores += best
    return scores[docs]


# -- postings ------------------------------------------------------------------------------------------------


def postings(connection: Connection, clause: Clause, *, absent: bool = False) -> Postings:
    """Return the documents that have a term in title or text; with `absent` in their absent keyphrases, too.

    What the tokenizer takes for several words must stand side by side.
    """
    return _postings(connection, _words(connection, clause), prefix=clause.kind == "prefix", absent=absent)


def read_ahead(connection: Connection) -> None:
    """Remember the postings of the most frequent words: every one takes milliseconds, and most queries have some."""
    room = AHEAD
    for word, documents in sorted(vocabulary(connection).items(), key=lambda item: -item[1]):
        if documents < OFTEN or room < 0:
            break
        room -= _bytes(_postings(connection, (word,), prefix=False, absent=False))


def vocabulary(connection: Connection) -> dict[str, int]:
    """Map each word of the index to the number of documents that have it."""
    return connection.remembered(
        "vocabulary",
        lambda: dict(connection.execute("SELECT term, doc FROM temp.word_counts")),
        size=lambda found: WORD_BYTES * len(found),
    )


def _postings(connection: Connection, terms: tuple[str, ...], *, prefix: bool, absent: bool) -> Postings:
    if not terms:
        return _counted(np.empty(0, np.int64), absent)

    def find() -> Postings:
        if len(terms) == 1 and not prefix:
            return _counted(_cells(connection, terms[0]), absent)
        places = [
            _places(connection, term, prefix=prefix and at == len(terms) - 1) - at
            for at, term in enumerate(terms)
        ]
        return _counted(reduce(np.intersect1d, places) >> _OFFSET_BITS, absent)

    key = ("postings", terms, prefix, absent)
    return connection.remembered(key, find, size=_bytes)


def _bytes(found: Postings) -> int:
    return found.docs.nbytes + found.counts.nbytes


def _words(connection: Connection, clause: Clause) -> tuple[str, ...]:
    """Return the words of a term; none where SQLite takes all its letters for marks."""
    return tuple(tokens(connection, bindable(clause.text).replace("\0", " ")))


def _counted(cells: Docs, absent: bool) -> Postings:
    """Count the occurrences in each column of each document.

    Args:
        cells: doc << 2 | column of each occurrence, ascending.
    """
    columns = cells & ((1 << _COLUMN_BITS) - 1)
    if not absent:
        cells, columns = cells[columns <= TEXT], columns[columns <= TEXT]
    docs = cells >> _COLUMN_BITS
    first = np.ones(len(docs), np.bool_)
    first[1:] = docs[1:] != docs[:-1]
    places = (np.cumsum(first) - 1) * len(COLUMNS) + columns
    number = int(first.sum())
    counts = np.bincount(places, minlength=number * len(COLUMNS)).reshape(number, len(COLUMNS))
    return Postings(docs[first].astype(np.int32), np.minimum(counts, MOST).astype(np.uint16))


def _cells(connection: Connection, term: str) -> Docs:
    """Return document and column of each occurrence of a word, ascending: doc << 2 | column."""
    return _listed(connection, f"doc << {_COLUMN_BITS} | {_COLUMN_NUMBER}", "term = ?", [term])


def _places(connection: Connection, term: str, *, prefix: bool) -> Docs:
    """Return the places of a word, or of all words that begin with it, ascending."""
    place = f"((doc << {_COLUMN_BITS} | {_COLUMN_NUMBER}) << {_OFFSET_BITS}) | offset"
    if prefix:
        return np.unique(_listed(connection, place, "term >= ? AND term <= ?", [term, f"{term}\U0010ffff"]))
    return _listed(connection, place, "term = ?", [term])


def _listed(connection: Connection, number: str, condition: str, values: Sequence[str]) -> Docs:
    """Return a number for each occurrence, in one text: a third of the time that as many rows take."""
    sql = f"SELECT group_concat({number}) FROM temp.word_places WHERE {condition}"
    (text,) = connection.execute(sql, values).fetchone()
    found: Docs = np.fromstring(text or "", np.int64, sep=",")
    return found if (found[1:] >= found[:-1]).all() else np.sort(found)


class _Tokenizer(threading.local):
    """SQLite's tokenizer, asked by way of a table in memory; one for each thread."""

    def __init__(self) -> None:
        self._tables: dict[str, sqlite3.Connection] = {}

    def __call__(self, tokenizer: str, text: str) -> list[str]:
        if tokenizer not in self._tables:
            table = sqlite3.connect(":memory:")
            table.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, tokenize='{tokenizer}')")
            table.execute("CREATE VIRTUAL TABLE places USING fts5vocab(one, instance)")
            self._tables[tokenizer] = table
        table = self._tables[tokenizer]
        table.execute("INSERT INTO one(text) VALUES (?)", (text,))
        found = [term for (term,) in table.execute("SELECT term FROM places ORDER BY offset")]
        table.execute("DELETE FROM one")
        return found


_tokenizer = _Tokenizer()


def tokens(connection: Connection, text: str) -> list[str]:
    """Return the words of a text as the word index has them: without accents, English ones as stems."""
    return _tokenizer(connection.remembered("tokenizer", lambda: _tokenizer_of(connection)), text)


def _tokenizer_of(connection: Connection) -> str:
    (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'words'").fetchone()
    return str(sql).split("tokenize='")[1].split("'")[0]


# -- lengths -------------------------------------------------------------------------------------------------


def _size(connection: Connection) -> int:
    """Return the length of an array that has a place for the number of each document."""

    def find() -> int:
        return int(connection.execute("SELECT coalesce(max(doc), 0) + 1 FROM documents").fetchone()[0])

    return connection.remembered("size", find)


def _averages(connection: Connection) -> tuple[int, float]:
    """Return the number of documents, and their mean length, the title weighted."""

    def find() -> tuple[int, float]:
        (block,) = connection.execute("SELECT block FROM words_data WHERE id = 1").fetchone()
        number, *totals = _numbers(block).tolist()
        return number, (TITLE_WEIGHT * totals[0] + totals[1]) / max(1, number)

    return connection.remembered("averages", find)


def _lengths(connection: Connection, docs: Docs | None, size: int) -> Scores:
    """Return the length of each document, by its number; of all documents, or of some."""

    def find() -> Scores:
        sql = "SELECT id, sz FROM words_docsize"
        if docs is None:
            rows = connection.execute(sql).fetchall()
        else:
            some = "WHERE id IN (SELECT value FROM json_each(?))"
            rows = connection.execute(f"{sql} {some}", (json_array(docs.tolist()),)).fetchall()
        lengths = np.zeros(size)
        if rows:
            counts = _numbers(b"".join(sizes for _, sizes in rows)).reshape(len(rows), -1)
            lengths[[doc for doc, _ in rows]] = TITLE_WEIGHT * counts[:, 0] + counts[:, 1]
        return lengths

    return (
        find()
        if docs is not None
        else connection.remembered("lengths", find, size=lambda found: found.nbytes)
    )


def _numbers(block: bytes) -> NDArray[np.int64]:
    """Decode SQLite's variable-length integers: seven bits a byte, the highest first, the last byte below 128."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data < 0x80)
    starts = np.concatenate(([0], ends[:-1] + 1))
    values = np.zeros(len(ends), np.int64)
    for at in range(int((ends - starts).max(initial=0)) + 1):
        inside = starts + at <= ends
        values[inside] = values[inside] << 7 | (data[starts[inside] + at] & 0x7F)
    return values
