"""How many documents have each value: facets, the levels of the tree of topics, significant keyphrases."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import MIN_DOCUMENTS, Counted, SignificantKeyphrase, jlh, path_value
from indexer.engines.local import duplicates
from indexer.engines.local.connections import Connection
from indexer.engines.local.facets import BLOCK, MANY, NUMBER, Codes, Docs, column, meta_name
from indexer.engines.local.schema import (
    BLOCK_BITS,
    FIELD_BITS,
    KEYPHRASE_FIELD,
    TOPIC_FIELD,
    TOPIC_PATH,
    json_array,
)
from indexer.engines.local.topic_rows import read_topics
from indexer.engines.values import bindable
from indexer.records import topic_path

_BLOCKS_AT_ONCE = 2_000  # bounds the memory of counting to some 30 MB

_NAMES_AT_ONCE = 2_000  # above this many tied values, the values of the field are read in order instead


@dataclass(frozen=True)
class _Codes:
    """The codes of all documents; those of document d are `codes[first[d] : first[d] + lengths[d]]`."""

    first: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    codes: Codes

    def of(self, docs: Docs) -> Codes:
        return self.codes[ranges(self.first[docs], self.lengths[docs])]

    @property
    def nbytes(self) -> int:
        return self.first.nbytes + self.lengths.nbytes + self.codes.nbytes


def count(
    connection: Connection, docs: Docs | None, fields: Sequence[str], size: int
) -> dict[str, tuple[tuple[str, int], ...]]:
    """Return the most frequent values of each field in these documents; in all when None."""
    if docs is None:
        key = ("count", tuple(fields), size)
        return connection.remembered(key, lambda: _count(connection, None, fields, size))
    return _count(connection, docs, fields, size)


def _count(
    connection: Connection, docs: Docs | None, fields: Sequence[str], size: int
) -> dict[str, tuple[tuple[str, int], ...]]:
    codes = _codes(connection, docs)
    owners = codes >> FIELD_BITS
    answer: dict[str, tuple[tuple[str, int], ...]] = {}
    for name in fields:
        if name == TOPIC_PATH:
            answer[name] = _topic_paths(connection, docs, size)
            continue
        if name == duplicates.NAME:
            answer[name] = duplicates.counts(connection, docs, size)
            continue
        row = connection.execute(
            "SELECT field FROM fields WHERE name = ?", (bindable(meta_name(name)),)
        ).fetchone()
        own = codes[owners == row[0]] & NUMBER if row else codes[:0]
        answer[name] = _most_frequent(connection, row[0], np.bincount(own), size) if len(own) else ()
    return answer


def _topic_paths(connection: Connection, docs: Docs | None, size: int) -> tuple[tuple[str, int], ...]:
    """Count the documents of each topic, and those with any topic below each parent, by path."""
    parents = {topic.id: topic.parent for topic in read_topics(connection)}
    sql = "SELECT code, shown FROM facet_values WHERE field = ?"
    numbers = {shown: code & NUMBER for code, shown in connection.execute(sql, (TOPIC_FIELD,))}
    paths = {numbers[id_]: topic_path(id_, parents) for id_ in parents if id_ in numbers}
    values = sorted({path_value(path[:end]) for path in paths.values() for end in range(1, len(path) + 1)})
    if not values:
        return ()
    at = {value: row for row, value in enumerate(values)}
    owners, codes = _owned(connection, docs, TOPIC_FIELD)
    has = np.zeros((int(owners.max(initial=0)) + 1, len(values)), np.bool_)
    for level in range(max(map(len, paths.values()))):
        above = np.full(max(numbers.values()) + 1, -1)
        for number, path in paths.items():
            if level < len(path):
                above[number] = at[path_value(path[: level + 1])]
        found = above[codes]
        has[owners[found >= 0], found[found >= 0]] = True
    counts = has.sum(axis=0)
    ranked = sorted(zip(values, counts.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
    return tuple((value, number) for value, number in ranked if number)[:size]


def _owned(connection: Connection, docs: Docs | None, field: int) -> tuple[Docs, Codes]:
    """Return the codes of a field in these documents, or in all, each with the row of its document."""
    known = None if docs is None else _all_codes(connection)
    if docs is None or known is None:
        owners, codes = _with_owners(connection, field)
        within = np.ones(len(owners), np.bool_) if docs is None else np.isin(owners, docs)
        return owners[within], codes[within]
    codes = known.of(docs)
    own = codes >> FIELD_BITS == field
    return np.repeat(docs, known.lengths[docs])[own], codes[own] & NUMBER


def significant_keyphrases(
    connection: Connection, docs: Docs, mined: int, limit: int
) -> list[SignificantKeyphrase]:
    """Return keyphrases that are more frequent in these documents than in all mined ones.

    Args:
        mined: Number of mined documents.
    """
    if len(docs) == 0 or limit <= 0:
        return []
    here = _keyphrase_counts(connection, docs)
    everywhere = connection.remembered("keyphrases", lambda: _keyphrase_counts(connection, None))
    scores = {
        kind: jlh(int(here[kind]) / len(docs), int(everywhere[kind]) / mined)
        for kind in np.flatnonzero(here >= MIN_DOCUMENTS).tolist()
    }
    found = connection.execute(
        "SELECT code, shown, value FROM facet_values WHERE code IN (SELECT value FROM json_each(?))",
        (json_array(KEYPHRASE_FIELD << FIELD_BITS | kind for kind, score in scores.items() if score),),
    )
    ranked = sorted(
        (-scores[kind], -int(here[kind]), value, shown, int(everywhere[kind]))
        for kind, shown, value in ((code & NUMBER, shown, value) for code, shown, value in found)
    )
    return [
        SignificantKeyphrase(shown, -documents, total, -score)
        for score, documents, _, shown, total in ranked[:limit]
    ]


def by_topic(connection: sqlite3.Connection, parts: Sequence[Docs]) -> list[Counted]:
    """Count the documents of each part with each topic; the codes are read once for all parts."""
    owners, codes = _with_owners(connection, TOPIC_FIELD)
    found = connection.execute("SELECT code, shown FROM facet_values WHERE field = ?", (TOPIC_FIELD,))
    shown = {code & NUMBER: value for code, value in found}
    counted = []
    for docs in parts:
        mask = np.zeros(int(max(owners.max(initial=0), docs.max(initial=0))) + 1, np.bool_)
        mask[docs] = True
        counts = np.bincount(codes[mask[owners]])
        values = {shown[kind]: int(counts[kind]) for kind in np.flatnonzero(counts).tolist()}
        counted.append(Counted(len(docs), values))
    return counted


def _with_owners(connection: sqlite3.Connection, field: int) -> tuple[Docs, Codes]:
    """Return all codes of a field, each with the row of its document."""
    docs, codes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    cursor = connection.execute("SELECT block, lengths, codes FROM code_blocks")
    while rows := cursor.fetchmany(_BLOCKS_AT_ONCE):
        blocks, lengths, packed_codes = zip(*rows, strict=True)
        some = np.frombuffer(b"".join(packed_codes), "<i8")
        first = np.array(blocks, np.int64)[:, None] << BLOCK_BITS
        owners = np.repeat((first + np.arange(BLOCK)).ravel(), np.frombuffer(b"".join(lengths), "<u4"))
        own = some >> FIELD_BITS == field
        docs.append(owners[own])
        codes.append(some[own] & NUMBER)
    return np.concatenate(docs), np.concatenate(codes)


def _keyphrase_counts(connection: Connection, docs: Docs | None) -> Codes:
    """Count the documents with each keyphrase, by its number within the field."""
    codes = _codes(connection, docs)
    return np.bincount(codes[codes >> FIELD_BITS == KEYPHRASE_FIELD] & NUMBER)


def _codes(connection: Connection, docs: Docs | None) -> Codes:
    """Return the concatenated codes of these documents."""
    known = None if docs is None else _all_codes(connection)
    if docs is not None and known is not None:
        return known.of(docs)
    return _read_codes(connection, docs)


def _all_codes(connection: Connection) -> _Codes | None:
    """Return the codes of all documents, read once; None for a large collection."""

    def find() -> _Codes:
        sql = "SELECT block, lengths, codes FROM code_blocks ORDER BY block"
        blocks, packed_lengths, packed_codes = zip(*connection.execute(sql), strict=True)
        codes = np.frombuffer(b"".join(packed_codes), "<i8")
        lengths = np.zeros((blocks[-1] + 1, BLOCK), np.uint32)
        lengths[list(blocks)] = np.frombuffer(b"".join(packed_lengths), "<u4").reshape(-1, BLOCK)
        ends = np.cumsum(lengths, dtype=np.int64)
        return _Codes(ends - lengths.ravel(), lengths.ravel(), codes)

    def count() -> int:
        return int(connection.execute("SELECT coalesce(max(block), 0) FROM code_blocks").fetchone()[0])

    blocks = connection.remembered("blocks", count)
    if not 0 < blocks << BLOCK_BITS <= MANY:
        return None
    return connection.remembered("codes", find, size=lambda found: found.nbytes)


def ranges(first: Docs, lengths: NDArray[np.integer[Any]]) -> Docs:
    """Return all numbers of the ranges [first, first + length)."""
    ends = np.cumsum(lengths, dtype=np.int64)
    within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    return np.asarray(np.repeat(first, lengths) + within, np.int64)


def _read_codes(connection: Connection, docs: Docs | None) -> Codes:
    sql = "SELECT block, lengths, codes FROM code_blocks"
    if docs is None:
        cursor = connection.execute(sql)
    elif len(docs) == 0:
        return np.empty(0, np.int64)
    else:
        blocks = np.unique(docs >> BLOCK_BITS).tolist()
        cursor = connection.execute(
            f"{sql} WHERE block IN (SELECT value FROM json_each(?))", (json_array(blocks),)
        )
        mask = np.zeros((blocks[-1] + 1) << BLOCK_BITS, np.bool_)
        mask[docs] = True
    found = [np.empty(0, np.int64)]
    while rows := cursor.fetchmany(_BLOCKS_AT_ONCE):
        numbers_, lengths, packed_codes = zip(*rows, strict=True)
        codes = np.frombuffer(b"".join(packed_codes), "<i8")
        if docs is not None:
            kept = mask.reshape(-1, BLOCK)[list(numbers_)].ravel()
            codes = codes[np.repeat(kept, np.frombuffer(b"".join(lengths), "<u4"))]
        found.append(codes)
    return np.concatenate(found)


def _most_frequent(
    connection: sqlite3.Connection, field: int, counts: Codes, size: int
) -> tuple[tuple[str, int], ...]:
    """Return (displayed value, count), most frequent first, ties by value (numbers by size)."""
    kinds = np.flatnonzero(counts)
    if size <= 0:
        return ()
    if len(kinds) > size:
        least = int(np.partition(counts[kinds], -size)[-size])
        sure = kinds[counts[kinds] > least]
        tied = _first_by_value(connection, field, kinds[counts[kinds] == least], size - len(sure))
        kinds = np.concatenate([sure, tied])
    found = connection.execute(
        "SELECT code, shown, number, value FROM facet_values WHERE code IN (SELECT value FROM json_each(?))",
        (json_array(field << FIELD_BITS | number for number in kinds.tolist()),),
    ).fetchall()
    ranked = sorted(
        ((int(counts[code & NUMBER]), shown, number, value) for code, shown, number, value in found),
        key=lambda row: (-row[0], row[2] is None, row[2] if row[2] is not None else 0, row[3]),
    )
    return tuple((shown, times) for times, shown, _, _ in ranked)


def _first_by_value(connection: sqlite3.Connection, field: int, kinds: Codes, size: int) -> Codes:
    """Return the first `size` of these values in order of value."""
    if len(kinds) <= size:
        return kinds
    order = "number IS NULL, number, value"
    if len(kinds) <= _NAMES_AT_ONCE:
        rows = connection.execute(
            "SELECT code FROM facet_values WHERE code IN (SELECT value FROM json_each(?)) "
            f"ORDER BY {order} LIMIT ?",
            (json_array(field << FIELD_BITS | number for number in kinds.tolist()), size),
        )
        return column(rows) & NUMBER
    # With so many ties, reading the field's values in order reaches the first ones soon.
    tied = np.zeros(int(kinds.max()) + 1, np.bool_)
    tied[kinds] = True
    first: list[int] = []
    for where, by in (("number IS NOT NULL", "number"), ("number IS NULL", "value")):
        cursor = connection.execute(
            f"SELECT code FROM facet_values WHERE field = ? AND {where} ORDER BY {by}", (field,)
        )
        for (code,) in cursor:
            number = code & NUMBER
            if number < len(tied) and tied[number]:
                first.append(number)
                if len(first) == size:
                    cursor.close()
                    return np.array(first, np.int64)
    return np.array(first, np.int64)
