"""Answering a search: rankings by words and by vector, and counts, all from one snapshot."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import Filter, Ranking, SearchAnswer, SearchRequest, WordQuery
from indexer.engines.local import mined, phrases, values, words
from indexer.engines.local.rows import doc_ids
from indexer.engines.local.values import Mask
from indexer.engines.local.vectors import Slots, Vectors, nearest
from indexer.errors import MappingMismatch
from indexer.records import MentionRow, PhraseRow, Vector

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]

_FEW = 4_000  # documents looked up one by one rather than by reading the whole table
_AT_ONCE = 10_000


@dataclass(frozen=True)
class Matches:
    """Documents that match, their scores, and their facet codes when those were asked for."""

    docs: Rows
    scores: Scores | None  # None: all are equal
    blobs: list[bytes]


def search(connection: sqlite3.Connection, vectors: Vectors, request: SearchRequest) -> SearchAnswer:
    mask = values.allowed(connection, request.filters)
    by_words = facets = None
    if request.words is not None or request.vector is None or request.facets:
        matches = _matches(connection, request.words, mask, codes=bool(request.facets))
        facets = values.count(connection, matches.blobs, request.facets, request.facet_size)
        if request.words is not None or request.vector is None:
            by_words = _ranked(connection, matches, request.limit)
    meaning = None
    if request.vector is not None:
        meaning = _by_vector(connection, vectors, _checked(request.vector, vectors.dims), request.limit, mask)
    return SearchAnswer(by_words, meaning, facets or {})


# -- by words ------------------------------------------------------------------------------------------------


def _matches(
    connection: sqlite3.Connection, query: WordQuery | None, mask: Mask | None, *, codes: bool
) -> Matches:
    """All documents that match the words, or all there are; then the filters."""
    joined = "CROSS JOIN doc_codes k ON k.doc = {}" if codes else ""
    columns = ", k.meta, k.mined" if codes else ""
    expression = words.expression(query) if query else None
    if expression is None or (not expression.wanted and expression.excluded):
        without = "WHERE d.doc NOT IN (SELECT rowid FROM words WHERE words MATCH ?)" if expression else ""
        cursor = connection.execute(
            f"SELECT d.doc{columns} FROM documents d {joined.format('d.doc')} {without}",
            (expression.excluded,) if expression else (),
        )
        scored = False
    elif expression.wanted:
        cursor = connection.execute(
            f"SELECT words.rowid, bm25(words, {words.TITLE_WEIGHT}, {words.TEXT_WEIGHT}){columns} "
            f"FROM words {joined.format('words.rowid')} WHERE words MATCH ?",
            (expression.match,),
        )
        scored = True
    else:  # nothing but punctuation
        return Matches(np.empty(0, np.int64), None, [])
    return _collected(cursor, mask, scored=scored, codes=codes)


def _collected(cursor: sqlite3.Cursor, mask: Mask | None, *, scored: bool, codes: bool) -> Matches:
    docs: list[Rows] = []
    scores: list[Scores] = []
    blobs: list[bytes] = []
    while rows := cursor.fetchmany(_AT_ONCE):
        columns = list(zip(*rows, strict=True))
        found = np.array(columns[0], np.int64)
        kept = mask[found] if mask is not None else np.ones(len(found), np.bool_)
        docs.append(found[kept])
        if scored:
            scores.append(-np.array(columns[1], np.float64)[kept])
        if codes:
            for column in columns[-2:]:
                blobs += [blob for blob, keep in zip(column, kept.tolist(), strict=True) if keep]
    empty = np.empty(0)
    return Matches(
        np.concatenate([empty.astype(np.int64), *docs]),
        np.concatenate([empty, *scores]) if scored else None,
        blobs,
    )


def _ranked(connection: sqlite3.Connection, matches: Matches, limit: int) -> Ranking:
    """The best `limit`, ties by id."""
    docs, scores, total = matches.docs, matches.scores, len(matches.docs)
    if limit <= 0 or total == 0:
        return Ranking((), (), total)
    if scores is None:
        ids = _first_ids(connection, docs, limit)
        return Ranking(tuple(ids), (0.0,) * len(ids), total)
    if total > limit:
        kept = scores >= np.partition(scores, -limit)[-limit]
        docs, scores = docs[kept], scores[kept]
    return _listed(
        doc_ids(connection, docs.tolist()), zip(docs.tolist(), scores.tolist(), strict=True), limit, total
    )


def _listed(ids: dict[int, str], scored: Iterable[tuple[int, float]], limit: int, total: int) -> Ranking:
    best = sorted((-score, ids[doc]) for doc, score in scored)[:limit]
    return Ranking(tuple(id_ for _, id_ in best), tuple(-score for score, _ in best), total)


def _first_ids(connection: sqlite3.Connection, docs: Rows, limit: int) -> list[str]:
    """The first of these documents in order of id."""
    if len(docs) <= _FEW:
        return sorted(doc_ids(connection, docs.tolist()).values())[:limit]
    mask = np.zeros(int(docs.max()) + 1, np.bool_)
    mask[docs] = True
    first: list[str] = []
    cursor = connection.execute("SELECT id, doc FROM documents ORDER BY id")
    for id_, doc in cursor:
        if doc < len(mask) and mask[doc]:
            first.append(id_)
            if len(first) == limit:
                break
    cursor.close()
    return first


# -- by vector -----------------------------------------------------------------------------------------------


def _by_vector(
    connection: sqlite3.Connection, vectors: Vectors, query: Vector, limit: int, mask: Mask | None
) -> Ranking:
    """Documents by cosine; `total` counts the documents under the filters that have a vector."""
    slots = None
    if mask is None:
        (total,) = connection.execute("SELECT count(*) FROM mined").fetchone()
    else:
        slots, _, _ = _mined(connection, mask)
        total = len(slots)
    if limit <= 0 or total == 0:
        return Ranking((), (), total)
    matrix = vectors.rows(connection, "documents")
    owners: dict[int, int] = {}

    def alive(wanted: Slots) -> Iterable[int]:
        owners.update(
            connection.execute(
                "SELECT slot, doc FROM mined WHERE slot IN (SELECT value FROM json_each(?))",
                (json.dumps(wanted.tolist()),),
            )
        )
        return owners

    best, scores = nearest(matrix, query, limit, allowed=slots, alive=alive)
    docs = [owners[slot] for slot in best.tolist()]
    return _listed(doc_ids(connection, docs), zip(docs, scores.tolist(), strict=True), limit, total)


def _mined(connection: sqlite3.Connection, mask: Mask) -> tuple[Rows, Rows, Rows]:
    """Slot, first mention slot and number of mentions of the mined documents that the mask lets through."""
    docs = np.flatnonzero(mask)
    sql = "SELECT doc, slot, coalesce(first, 0), mentions FROM mined"  # the index `mined_slot` has all of it
    if len(docs) <= _FEW:
        cursor = connection.execute(
            f"{sql} WHERE doc IN (SELECT value FROM json_each(?))", (json.dumps(docs.tolist()),)
        )
    else:
        cursor = connection.execute(sql)
    table = np.array(cursor.fetchall(), np.int64).reshape(-1, 4)
    table = table[mask[table[:, 0]]]
    return table[:, 1], table[:, 2], table[:, 3]


def nearest_phrases(
    connection: sqlite3.Connection, vectors: Vectors, query: Vector, limit: int
) -> list[tuple[PhraseRow, float]]:
    _checked(query, vectors.dims)
    matrix = vectors.rows(connection, "phrases")
    if limit <= 0 or len(matrix) == 0:
        return []
    owners: dict[int, str] = {}

    def alive(wanted: Slots) -> Iterable[int]:
        owners.update(phrases.ids_by_slot(connection, wanted.tolist()))
        return owners

    slots, scores = nearest(matrix, query, limit, alive=alive)
    best = sorted(
        (-score, owners[slot]) for slot, score in zip(slots.tolist(), scores.tolist(), strict=True)
    )[:limit]
    rows = phrases.read(connection, vectors, [id_ for _, id_ in best])
    return [(row, -score) for row, (score, _) in zip(rows, best, strict=True)]


def nearest_mentions(
    connection: sqlite3.Connection, vectors: Vectors, query: Vector, limit: int, filters: tuple[Filter, ...]
) -> list[tuple[MentionRow, float]]:
    _checked(query, vectors.dims)
    mask = values.allowed(connection, filters)
    slots = None
    if mask is not None:
        _, first, count = _mined(connection, mask)
        slots = _ranges(first, count)
    matrix = vectors.rows(connection, "mentions")
    if limit <= 0 or len(matrix) == 0 or (slots is not None and len(slots) == 0):
        return []
    owners: dict[int, tuple[int, int]] = {}

    def alive(wanted: Slots) -> Iterable[int]:
        for slot in wanted.tolist():
            if slot not in owners:
                row = connection.execute(
                    "SELECT doc, first, mentions FROM mined WHERE first <= ? ORDER BY first DESC LIMIT 1",
                    (slot,),
                ).fetchone()
                if row and slot < row[1] + row[2]:
                    owners[slot] = row[0], slot - row[1]
        return owners

    found, scores = nearest(matrix, query, limit, allowed=slots, alive=alive)
    rows = mined.by_slot(connection, vectors, [owners[slot] for slot in found.tolist()])
    ranked = sorted(
        zip(rows, scores.tolist(), strict=True),
        key=lambda pair: (-pair[1], pair[0].document_id, pair[0].phrase_id),
    )
    return ranked[:limit]


def _ranges(first: Rows, count: Rows) -> Slots:
    """All numbers of the ranges [first, first + count)."""
    ends = np.cumsum(count)
    within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - count, count)
    return np.asarray(np.repeat(first, count) + within, np.int64)


def _checked(query: Vector, dims: int) -> Vector:
    reason = mined.bad_vector(query, dims)
    if reason:
        raise MappingMismatch(
            f"The search cannot be made: {reason}.",
            hint="Use the bundle that the collection was indexed with.",
        )
    return query
