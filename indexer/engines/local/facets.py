"""The codes of each document, kept for counting over many documents.

64 documents share a row, so that the codes of 20,000 documents are a few hundred rows to read, and numpy does the rest.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import MIN_DOCUMENTS, Counted, SignificantKeyphrase, jlh
from indexer.engines.local.connections import Connection
from indexer.engines.local.row_ids import numbers
from indexer.engines.local.schema import BLOCK_BITS, FIELD_BITS, KEYPHRASE_FIELD, TOPIC_FIELD
from indexer.engines.local.values import Docs, column, meta_name
from indexer.engines.values import bindable

Codes = NDArray[np.int64]
Part = Literal["meta", "mined"]  # the user's fields; topics and keyphrases

_BLOCK = 1 << BLOCK_BITS
_LENGTHS = struct.Struct(f"<{_BLOCK}I")
_NUMBER = (1 << FIELD_BITS) - 1
_MINED_END = (KEYPHRASE_FIELD + 1) << FIELD_BITS  # codes of topics and keyphrases are below, all others above
_BLOCKS_AT_ONCE = 2_000  # bounds the memory of counting to some 30 MB
_NAMES_AT_ONCE = 2_000  # more tied values than this are looked through in order of value instead


# -- writing -------------------------------------------------------------------------------------------------


def replace_codes(
    connection: sqlite3.Connection, part: Part, wanted: Mapping[int, Mapping[int, float | None]]
) -> None:
    """Make these the codes (with weights) of one part of each document."""
    blocks = _read(connection, {doc >> BLOCK_BITS for doc in wanted})
    changed: set[int] = set()
    gone: list[tuple[int, int]] = []
    new: list[tuple[int, int, float | None]] = []
    for doc, codes in wanted.items():
        rows = blocks.setdefault(doc >> BLOCK_BITS, [()] * _BLOCK)
        before = rows[doc % _BLOCK]
        other = tuple([code for code in before if (code < _MINED_END) != (part == "mined")])
        old = set(before).difference(other)
        gone += [(code, doc) for code in old - codes.keys()]
        # A weight may have changed where the code is the same.
        new += [
            (code, doc, weight) for code, weight in codes.items() if code not in old or weight is not None
        ]
        if old != codes.keys():
            rows[doc % _BLOCK] = (*other, *codes)
            changed.add(doc >> BLOCK_BITS)
    connection.executemany("DELETE FROM doc_values WHERE code = ? AND doc = ?", gone)
    connection.executemany("INSERT OR REPLACE INTO doc_values VALUES (?, ?, ?)", sorted(new))
    connection.executemany(
        "INSERT OR REPLACE INTO code_blocks VALUES (?, ?, ?)",
        [(block, *_packed(blocks[block])) for block in sorted(changed)],
    )


def _read(connection: sqlite3.Connection, wanted: set[int]) -> dict[int, list[tuple[int, ...]]]:
    """Codes of the documents of some blocks."""
    sql = "SELECT block, lengths, codes FROM code_blocks WHERE block IN (SELECT value FROM json_each(?))"
    blocks = {}
    for block, packed_lengths, packed_codes in connection.execute(sql, (numbers(wanted),)):
        ends = list(accumulate(_LENGTHS.unpack(packed_lengths), initial=0))
        codes = struct.unpack(f"<{ends[-1]}q", packed_codes)
        blocks[block] = [codes[start:end] for start, end in pairwise(ends)]
    return blocks


def _packed(rows: Sequence[tuple[int, ...]]) -> tuple[bytes, bytes]:
    codes = list(chain.from_iterable(rows))
    return _LENGTHS.pack(*map(len, rows)), struct.pack(f"<{len(codes)}q", *codes)


# -- counting ------------------------------------------------------------------------------------------------


def count(
    connection: Connection, docs: Docs | None, fields: Sequence[str], size: int
) -> dict[str, tuple[tuple[str, int], ...]]:
    """The most frequent values of each field among these documents; among all when None."""
    if docs is None:
        key = ("count", tuple(fields), size)
        return connection.remembered(key, lambda: _count(connection, None, fields, size))
    return _count(connection, docs, fields, size)


def _count(
    connection: sqlite3.Connection, docs: Docs | None, fields: Sequence[str], size: int
) -> dict[str, tuple[tuple[str, int], ...]]:
    codes = _codes(connection, docs)
    owners = codes >> FIELD_BITS
    answer: dict[str, tuple[tuple[str, int], ...]] = {}
    for name in fields:
        row = connection.execute(
            "SELECT field FROM fields WHERE name = ?", (bindable(meta_name(name)),)
        ).fetchone()
        own = codes[owners == row[0]] & _NUMBER if row else codes[:0]
        answer[name] = _most_frequent(connection, row[0], np.bincount(own), size) if len(own) else ()
    return answer


def special(connection: Connection, docs: Docs, mined: int, limit: int) -> list[SignificantKeyphrase]:
    """Keyphrases that are more frequent among these documents than among all that are mined.

    Args:
        mined: How many documents are mined.
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
        (numbers(KEYPHRASE_FIELD << FIELD_BITS | kind for kind, score in scores.items() if score),),
    )
    ranked = sorted(
        (-scores[kind], -int(here[kind]), value, shown, int(everywhere[kind]))
        for kind, shown, value in ((code & _NUMBER, shown, value) for code, shown, value in found)
    )
    return [
        SignificantKeyphrase(shown, -documents, total, -score)
        for score, documents, _, shown, total in ranked[:limit]
    ]


def by_topic(connection: sqlite3.Connection, parts: Sequence[Docs]) -> list[Counted]:
    """How many documents of each part have each topic; the codes are read once for all parts."""
    owners, codes = _with_owners(connection, TOPIC_FIELD)
    found = connection.execute("SELECT code, shown FROM facet_values WHERE field = ?", (TOPIC_FIELD,))
    shown = {code & _NUMBER: value for code, value in found}
    counted = []
    for docs in parts:
        mask = np.zeros(int(max(owners.max(initial=0), docs.max(initial=0))) + 1, np.bool_)
        mask[docs] = True
        counts = np.bincount(codes[mask[owners]])
        values = {shown[kind]: int(counts[kind]) for kind in np.flatnonzero(counts).tolist()}
        counted.append(Counted(len(docs), values))
    return counted


def _with_owners(connection: sqlite3.Connection, field: int) -> tuple[Docs, Codes]:
    """All codes of a field, each with the row of its document."""
    docs, codes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    cursor = connection.execute("SELECT block, lengths, codes FROM code_blocks")
    while rows := cursor.fetchmany(_BLOCKS_AT_ONCE):
        blocks, lengths, packed_codes = zip(*rows, strict=True)
        some = np.frombuffer(b"".join(packed_codes), "<i8")
        first = np.array(blocks, np.int64)[:, None] << BLOCK_BITS
        owners = np.repeat((first + np.arange(_BLOCK)).ravel(), np.frombuffer(b"".join(lengths), "<u4"))
        own = some >> FIELD_BITS == field
        docs.append(owners[own])
        codes.append(some[own] & _NUMBER)
    return np.concatenate(docs), np.concatenate(codes)


def _keyphrase_counts(connection: sqlite3.Connection, docs: Docs | None) -> Codes:
    """How many documents have each keyphrase, by its number within the field."""
    codes = _codes(connection, docs)
    return np.bincount(codes[codes >> FIELD_BITS == KEYPHRASE_FIELD] & _NUMBER)


def _codes(connection: sqlite3.Connection, docs: Docs | None) -> Codes:
    """All codes of these documents, one behind the other."""
    sql = "SELECT block, lengths, codes FROM code_blocks"
    if docs is None:
        cursor = connection.execute(sql)
    elif len(docs) == 0:
        return np.empty(0, np.int64)
    else:
        blocks = np.unique(docs >> BLOCK_BITS).tolist()
        cursor = connection.execute(
            f"{sql} WHERE block IN (SELECT value FROM json_each(?))", (numbers(blocks),)
        )
        mask = np.zeros((blocks[-1] + 1) << BLOCK_BITS, np.bool_)
        mask[docs] = True
    found = [np.empty(0, np.int64)]
    while rows := cursor.fetchmany(_BLOCKS_AT_ONCE):
        numbers_, lengths, packed_codes = zip(*rows, strict=True)
        codes = np.frombuffer(b"".join(packed_codes), "<i8")
        if docs is not None:
            kept = mask.reshape(-1, _BLOCK)[list(numbers_)].ravel()
            codes = codes[np.repeat(kept, np.frombuffer(b"".join(lengths), "<u4"))]
        found.append(codes)
    return np.concatenate(found)


def _most_frequent(
    connection: sqlite3.Connection, field: int, counts: Codes, size: int
) -> tuple[tuple[str, int], ...]:
    """(shown value, count), most frequent first, ties by value (numbers by size)."""
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
        (numbers(field << FIELD_BITS | number for number in kinds.tolist()),),
    ).fetchall()
    ranked = sorted(
        ((int(counts[code & _NUMBER]), shown, number, value) for code, shown, number, value in found),
        key=lambda row: (-row[0], row[2] is None, row[2] if row[2] is not None else 0, row[3]),
    )
    return tuple((shown, times) for times, shown, _, _ in ranked)


def _first_by_value(connection: sqlite3.Connection, field: int, kinds: Codes, size: int) -> Codes:
    """The `size` first of these values in order of value."""
    if len(kinds) <= size:
        return kinds
    order = "number IS NULL, number, value"
    if len(kinds) <= _NAMES_AT_ONCE:
        rows = connection.execute(
            "SELECT code FROM facet_values WHERE code IN (SELECT value FROM json_each(?)) "
            f"ORDER BY {order} LIMIT ?",
            (numbers(field << FIELD_BITS | number for number in kinds.tolist()), size),
        )
        return column(rows) & _NUMBER
    # So many are tied that the first ones come soon when the field's values are gone through in order.
    tied = np.zeros(int(kinds.max()) + 1, np.bool_)
    tied[kinds] = True
    first: list[int] = []
    for where, by in (("number IS NOT NULL", "number"), ("number IS NULL", "value")):
        cursor = connection.execute(
            f"SELECT code FROM facet_values WHERE field = ? AND {where} ORDER BY {by}", (field,)
        )
        for (code,) in cursor:
            number = code & _NUMBER
            if number < len(tied) and tied[number]:
                first.append(number)
                if len(first) == size:
                    cursor.close()
                    return np.array(first, np.int64)
    return np.array(first, np.int64)
