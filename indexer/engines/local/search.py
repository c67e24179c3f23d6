"""Rankings by words and by vector, counts and highlights, all from one snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from indexer.engines.base import (
    MOSTLY,
    Clause,
    Counted,
    Filter,
    Fragment,
    Ranking,
    SearchAnswer,
    SearchRequest,
    SignificantKeyphrase,
    WordQuery,
)
from indexer.engines.fragments import fragment_rank, fragments_around, marked_ranges
from indexer.engines.local import counting, facets, phrase_rows
from indexer.engines.local.connections import Connection
from indexer.engines.local.facets import Docs, Mask, column
from indexer.engines.local.schema import TOPIC_FIELD, doc_ids, json_array, select, storable_ids
from indexer.engines.local.vectors import Slots, Vectors, bad_vector
from indexer.engines.local.words import Matches, matches, usable, without
from indexer.engines.values import bindable, has_words, restored
from indexer.errors import MappingMismatch
from indexer.records import MentionRow, PhraseRow, Vector

_FEW = 4_000  # documents looked up one by one rather than by reading the whole table


def search(connection: Connection, vectors: Vectors, request: SearchRequest) -> SearchAnswer:
    mask = facets.allowed(connection, request.filters)
    listed = request.words is not None or request.vector is None
    every = mask is None and request.words is None
    found = None
    if not every and (listed or request.facets):
        found = matches(connection, request.words, mask)
    meaning = None
    if request.vector is not None:
        query_vector = _checked(request.vector, vectors.dims)
        allowed = without(connection, request.words, mask)
        requested = request.limit if request.nearest is None else request.nearest
        meaning = _by_vector(connection, vectors, query_vector, requested, allowed)
    ranking = None
    if listed:
        limit = request.limit
        ranking = _every(connection, limit) if found is None else _ranked(connection, found, limit)
    return SearchAnswer(
        ranking,
        meaning,
        counting.count(connection, found.docs if found else None, request.facets, request.facet_size)
        if request.facets
        else {},
    )


# -- by words ------------------------------------------------------------------------------------------------


def scan(connection: Connection, words: WordQuery | None, conditions: Sequence[Filter]) -> Ranking:
    """Return all matching documents."""
    found = matches(connection, words, facets.allowed(connection, conditions))
    return _ranked(connection, found, len(found.docs))


def significant_keyphrases(
    connection: Connection, conditions: Sequence[Filter], limit: int
) -> list[SignificantKeyphrase]:
    """Return keyphrases that are more frequent in the mined documents under the filters than in all."""
    mined = column(connection.execute("SELECT doc FROM mined"))
    mask = facets.allowed(connection, conditions)
    return counting.significant_keyphrases(
        connection, mined if mask is None else mined[mask[mined]], len(mined), limit
    )


def count_topics(connection: sqlite3.Connection, parts: Sequence[Sequence[Filter]]) -> list[Counted]:
    """Count the documents of each part, and how many of them have each topic."""
    every = column(connection.execute("SELECT doc FROM documents"))
    masks = [facets.allowed(connection, conditions) for conditions in parts]
    docs = [every if mask is None else every[mask[every]] for mask in masks]
    return counting.by_topic(connection, docs)


def _ranked(connection: sqlite3.Connection, matches: Matches, limit: int) -> Ranking:
    """Return the best `limit`, ties by id."""
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


def _every(connection: Connection, limit: int) -> Ranking:
    """Return all documents, by id."""
    sql = "SELECT count(*) FROM documents"
    total = connection.remembered("documents", lambda: connection.execute(sql).fetchone()[0])
    found = connection.execute("SELECT id FROM documents ORDER BY id LIMIT ?", (max(0, limit),))
    ids = [id_ for (id_,) in found]
    return Ranking(tuple(ids), (0.0,) * len(ids), total)


def _listed(ids: dict[int, str], scored: Iterable[tuple[int, float]], limit: int, total: int) -> Ranking:
    best = sorted((-score, ids[doc]) for doc, score in scored)[:limit]
    return Ranking(tuple(id_ for _, id_ in best), tuple(-score for score, _ in best), total)


def _first_ids(connection: sqlite3.Connection, docs: Docs, limit: int) -> list[str]:
    """Return the first of these documents in order of id."""
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
    connection: Connection, vectors: Vectors, query: Vector, limit: int, mask: Mask | None
) -> Ranking:
    """Rank documents by cosine; `total` counts the documents under the filters that have a vector."""
    slots = None
    if mask is None:
        sql = "SELECT count(*) FROM mined"
        total = connection.remembered("mined", lambda: connection.execute(sql).fetchone()[0])
    else:
        (slots,) = _mined(connection, mask, "slot")
        total = len(slots)
    if limit <= 0 or total == 0:
        return Ranking((), (), total)
    owners: dict[int, int] = {}

    def alive(requested: Slots) -> Iterable[int]:
        owners.update(
            connection.execute(
                "SELECT slot, doc FROM mined WHERE slot IN (SELECT value FROM json_each(?))",
                (json_array(requested.tolist()),),
            )
        )
        return owners

    best, scores = vectors.nearest(connection, "documents", query, limit, allowed=slots, alive=alive)
    docs = [owners[slot] for slot in best.tolist()]
    return _listed(doc_ids(connection, docs), zip(docs, scores.tolist(), strict=True), limit, total)


def of_topic(
    connection: sqlite3.Connection, vectors: Vectors, topic_id: str, centroid: Vector, limit: int
) -> Ranking:
    """Return representative documents of a topic."""
    _checked(centroid, vectors.dims)
    rows = connection.execute(
        "SELECT m.slot, m.doc, v.weight FROM facet_values t JOIN doc_values v ON v.code = t.code "
        "JOIN mined m ON m.doc = v.doc WHERE t.field = ? AND t.value = ?",
        (TOPIC_FIELD, bindable(topic_id)),
    ).fetchall()
    owners = {slot: doc for slot, doc, _ in rows}
    ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    for mostly in (True, False):
        slots = np.array([slot for slot, _, weight in rows if (weight >= MOSTLY) == mostly], np.int64)
        if len(slots) and len(ids) < limit:
            requested = limit - len(ids)
            best, cosines = vectors.nearest(connection, "documents", centroid, requested, allowed=slots)
            docs = [owners[slot] for slot in best.tolist()]
            scored = zip(docs, cosines.tolist(), strict=True)
            found = _listed(doc_ids(connection, docs), scored, requested, len(rows))
            ids, scores = ids + found.ids, scores + found.scores
    return Ranking(ids, scores, len(rows))


def _mined(connection: sqlite3.Connection, mask: Mask, *columns: str) -> list[Docs]:
    """Return columns of the mined documents that pass the mask."""
    docs = np.flatnonzero(mask)
    sql = f"SELECT doc, {', '.join(columns)} FROM mined"
    if len(docs) <= _FEW:
        rows = connection.execute(
            f"{sql} WHERE doc IN (SELECT value FROM json_each(?))", (json_array(docs.tolist()),)
        )
    else:
        rows = connection.execute(sql)
    table = column(rows).reshape(-1, 1 + len(columns))
    return list(table[mask[table[:, 0]], 1:].T)


def nearest_phrases(
    connection: sqlite3.Connection, vectors: Vectors, query: Vector, limit: int
) -> list[tuple[PhraseRow, float]]:
    _checked(query, vectors.dims)
    if limit <= 0:
        return []
    owners: dict[int, str] = {}

    def alive(requested: Slots) -> Iterable[int]:
        owners.update(phrase_rows.ids_by_slot(connection, requested.tolist()))
        return owners

    slots, scores = vectors.nearest(connection, "phrases", query, limit, alive=alive)
    best = sorted(
        (-score, owners[slot]) for slot, score in zip(slots.tolist(), scores.tolist(), strict=True)
    )[:limit]
    rows = phrase_rows.read_phrases(connection, vectors, [id_ for _, id_ in best])
    return [(row, -score) for row, (score, _) in zip(rows, best, strict=True)]


def nearest_mentions(
    connection: sqlite3.Connection,
    vectors: Vectors,
    query: Vector,
    limit: int,
    conditions: tuple[Filter, ...],
) -> list[tuple[MentionRow, float]]:
    _checked(query, vectors.dims)
    mask = facets.allowed(connection, conditions)
    slots = None
    if mask is not None:
        first, count = _mined(connection, mask, "coalesce(first, 0)", "mentions")
        slots = counting.ranges(first, count)
    if limit <= 0 or (slots is not None and len(slots) == 0):
        return []
    owners: dict[int, tuple[int, int]] = {}

    def alive(requested: Slots) -> Iterable[int]:
        for slot in requested.tolist():
            if slot not in owners:
                row = connection.execute(
                    "SELECT doc, first, mentions FROM mined WHERE first <= ? ORDER BY first DESC LIMIT 1",
                    (slot,),
                ).fetchone()
                if row and slot < row[1] + row[2]:
                    owners[slot] = row[0], slot - row[1]
        return owners

    found, scores = vectors.nearest(connection, "mentions", query, limit, allowed=slots, alive=alive)
    rows = phrase_rows.mentions_by_slot(connection, vectors, [owners[slot] for slot in found.tolist()])
    ranked = sorted(
        zip(rows, scores.tolist(), strict=True),
        key=lambda pair: (-pair[1], pair[0].document_id, pair[0].phrase_id),
    )
    return ranked[:limit]


def _checked(query: Vector, dims: int) -> Vector:
    reason = bad_vector(query, dims)
    if reason:
        raise MappingMismatch(
            f"The search cannot be made: {reason}.",
            hint="Use the bundle that the collection was indexed with.",
        )
    return query


# -- highlights ----------------------------------------------------------------------------------------------


def highlights(
    connection: sqlite3.Connection, query: WordQuery, ids: Sequence[str], limit: int
) -> Mapping[str, tuple[Fragment, ...]]:
    """Return fragments of each document that matches a required clause, at most `limit` each, best first."""
    requested = _any_of(query)
    if not requested or limit <= 0:
        return {}
    sql = "SELECT doc, id, title, text, nuls FROM documents JOIN texts USING (doc) WHERE id IN ({})"
    rows = list(select(connection, sql, storable_ids(ids)))
    opening, closing = _unused_characters(text for row in rows for text in row[2:4])
    # CROSS JOIN: one search for each document, which ends there, and not one through all that match.
    marked = connection.execute(
        "SELECT words.rowid, highlight(words, 0, ?, ?), highlight(words, 1, ?, ?) "
        "FROM json_each(?) AS page CROSS JOIN words WHERE words MATCH ? AND words.rowid = page.value",
        (opening, closing, opening, closing, json_array(row[0] for row in rows), requested),
    )
    marks = {doc: fields for doc, *fields in marked}
    answer: dict[str, tuple[Fragment, ...]] = {}
    for doc, id_, title, text, nuls in rows:
        if doc not in marks:
            continue
        originals = restored(title, text, nuls)
        found = [
            fragment
            for field, original, with_marks in zip(("title", "text"), originals, marks[doc], strict=True)
            for fragment in fragments_around(field, original, marked_ranges(with_marks, opening, closing))
        ]
        found.sort(key=fragment_rank)
        answer[id_] = tuple(found[:limit])
    return {id_: answer[id_] for id_ in dict.fromkeys(ids) if id_ in answer}


def _any_of(query: WordQuery) -> str:
    """Return what is looked for in the language of FTS5. Every clause is quoted, so that no user input is syntax."""
    clauses = " OR ".join(
        _quoted(term)
        for clause in usable(query, negated=False)
        for term in clause.terms
        if has_words(term.text)
    )
    return f"{{title text}} : ({clauses})" if clauses else ""


def _quoted(clause: Clause) -> str:
    text = bindable(clause.text).replace("\0", " ").replace('"', '""')
    return f'"{text}" *' if clause.kind == "prefix" else f'"{text}"'


def _unused_characters(texts_: Iterable[str]) -> tuple[str, str]:
    """Return two private-use characters that occur in none of the texts."""
    used = set().union(*map(set, texts_))
    private = chain(range(0xE000, 0xF900), range(0xF0000, 0x10FFFE))
    free = (chr(code) for code in private if chr(code) not in used)
    return next(free), next(free)
