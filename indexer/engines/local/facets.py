"""Values that documents are filtered and counted by: topics, keyphrases and the user's fields.

Each value of a field has a code; its upper half is the field. `doc_values` maps codes to documents, for filters;
`code_blocks` maps documents to codes, for counts. 64 documents share a row of `code_blocks`, so that the codes of
20,000 documents are a few hundred rows to read, and numpy does the rest.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import (
    MAX_VALUE_LENGTH,
    MIN_DOCUMENTS,
    Counted,
    Filter,
    SignificantKeyphrase,
    jlh,
    path_value,
)
from indexer.engines.local.connections import Connection
from indexer.engines.local.schema import (
    ABSENT,
    BLOCK_BITS,
    FIELD_BITS,
    KEYPHRASE,
    KEYPHRASE_FIELD,
    TOPIC,
    TOPIC_FIELD,
    TOPIC_PATH,
    json_array,
    select,
)
from indexer.engines.local.topic_rows import read_topics
from indexer.engines.values import Value, bindable, read_number, to_value
from indexer.errors import QueryError
from indexer.records import Keyphrase, MetaValue, TopicWeight, topic_path

Docs = NDArray[np.int64]
Codes = NDArray[np.int64]
Part = Literal["meta", "mined"]  # the user's fields; topics and keyphrases
Mask = NDArray[np.bool_]  # by document row: may it be in the answer?

_NUMBER = (1 << FIELD_BITS) - 1
_MINED_END = (KEYPHRASE_FIELD + 1) << FIELD_BITS  # codes of topics and keyphrases are below, all others above
_BLOCK = 1 << BLOCK_BITS
_LENGTHS = struct.Struct(f"<{_BLOCK}I")
_BLOCKS_AT_ONCE = 2_000  # bounds the memory of counting to some 30 MB
MANY = 200_000  # documents; of fewer, what is known of each is read once and remembered
_NAMES_AT_ONCE = 2_000  # above this many tied values, the values of the field are read in order instead


def meta_name(field: str) -> str:
    """Return the name in `fields`; a user field may be called "topic" too."""
    return field if field in (TOPIC, KEYPHRASE, ABSENT) else f"meta.{field}"


def meta_values(meta: Mapping[str, MetaValue]) -> Iterator[tuple[str, Value]]:
    """Iterate over (field, value) of the user's fields; each item of a list is a value."""
    for field, content in meta.items():
        for item in content if isinstance(content, list) else [content]:
            value = to_value(item)
            if value is not None and len(value.text) <= MAX_VALUE_LENGTH:
                yield f"meta.{field}", value


def mined_values(
    keyphrases: Sequence[Keyphrase], topics: Sequence[TopicWeight]
) -> Iterator[tuple[str, Value, float | None]]:
    """Iterate over (field, value, weight) of keyphrases and topics."""
    for keyphrase in keyphrases:
        if len(keyphrase.text) <= MAX_VALUE_LENGTH:
            field = KEYPHRASE if keyphrase.present else ABSENT
            yield field, Value(keyphrase.text.casefold(), keyphrase.text), None
    for topic in topics:
        yield TOPIC, Value(topic.topic_id, topic.topic_id), topic.weight


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


class Dictionary:
    """Codes of values, assigned when they are new. For one write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._fields: dict[str, int] = {}
        self._codes: dict[tuple[str, str], int] = {}

    def add(self, values: Iterable[tuple[str, Value]]) -> None:
        """Look up or assign the codes of all these (field, value) pairs."""
        by_field: dict[str, dict[str, Value]] = {}
        for field, value in values:
            if (field, value.text) not in self._codes:
                by_field.setdefault(field, {}).setdefault(value.text, value)
        for field, requested in by_field.items():
            self._add_field(field, requested)

    def code(self, field: str, value: Value) -> int:
        """Return the code of a value that was added."""
        return self._codes[field, value.text]

    def _add_field(self, name: str, requested: dict[str, Value]) -> None:
        field = self._field(name)
        sql = "SELECT value, code, number IS NULL FROM facet_values WHERE field = ? AND value IN ({})"
        for text, code, unnumbered in list(select(self._connection, sql, requested, field)):
            value = requested.pop(text)
            self._codes[name, text] = code
            if unnumbered and value.number is not None:  # was stored as text before
                self._connection.execute(
                    "UPDATE facet_values SET number = ? WHERE code = ?", (value.number, code)
                )
        (last,) = self._connection.execute(
            "SELECT coalesce(max(code), ?) FROM facet_values WHERE code BETWEEN ? AND ?",
            (field << FIELD_BITS, field << FIELD_BITS, field << FIELD_BITS | _NUMBER),
        ).fetchone()
        new = [(code, field, *value) for code, value in enumerate(requested.values(), last + 1)]
        self._connection.executemany(
            "INSERT INTO facet_values(code, field, value, shown, number) VALUES (?, ?, ?, ?, ?)", new
        )
        self._codes.update(((name, row[2]), row[0]) for row in new)

    def _field(self, name: str) -> int:
        field = self._fields.get(name)
        if field is None:
            self._connection.execute("INSERT OR IGNORE INTO fields(name) VALUES (?)", (name,))
            row = self._connection.execute("SELECT field FROM fields WHERE name = ?", (name,)).fetchone()
            field = self._fields[name] = int(row[0])
        return field


def own_fields(connection: sqlite3.Connection) -> list[str]:
    """Return the names of user fields that some document has."""
    # Values of no document stay in the dictionary until compaction.
    names = connection.execute(
        "SELECT name FROM fields f WHERE name LIKE 'meta.%' AND EXISTS (SELECT 1 FROM facet_values v "
        "WHERE v.field = f.field AND EXISTS (SELECT 1 FROM doc_values d WHERE d.code = v.code)) ORDER BY name"
    )
    return [name.removeprefix("meta.") for (name,) in names]


def topic_value(topic: str) -> tuple[str, Value]:
    """Return a topic id as (field, value)."""
    return TOPIC, Value(topic, topic)


def topic_number(code: int) -> int:
    """Return the number by which mentions refer to a topic."""
    return code & _NUMBER


# -- filters -------------------------------------------------------------------------------------------------


def allowed(connection: sqlite3.Connection, filters: Sequence[Filter]) -> Mask | None:
    """Return a bool mask of the rows that pass the filters; None without filters.

    Rows without a document may pass too: callers apply the mask to documents only.
    """
    if not filters:
        return None
    mask = everything(connection)
    alternatives: dict[str, list[Filter]] = {}
    for condition in filters:
        if condition.operator == "=":
            alternatives.setdefault(condition.field, []).append(condition)
        else:
            mask &= _met(connection, [condition], len(mask))
    for conditions in alternatives.values():
        mask &= _met(connection, conditions, len(mask))
    return mask


def everything(connection: sqlite3.Connection) -> Mask:
    """Return a mask that all documents pass."""
    (last,) = connection.execute("SELECT coalesce(max(doc), 0) FROM documents").fetchone()
    return np.ones(last + 1, np.bool_)


def _met(connection: sqlite3.Connection, conditions: list[Filter], size: int) -> Mask:
    """Return a mask of documents that meet one of these conditions, all on the same field."""
    met = np.zeros(size, np.bool_)
    for condition in conditions:
        items = condition.value if isinstance(condition.value, list) else [condition.value]
        if condition.operator not in ("=", "!=") and (isinstance(condition.value, list) or len(items) != 1):
            raise QueryError(f"'{condition.field} {condition.operator}' takes one value, not a list.")
        for item in items:
            sql, values = _condition(condition, item)
            met[column(connection.execute(sql, values))] = True
        if condition.operator == "!=":
            met = ~met
    return met


def _condition(condition: Filter, item: Any) -> tuple[str, list[Any]]:
    """Return SQL for the documents with a value of the field equal to, below or above `item`.

    A stored number compares as a number, everything else as text, whichever way the user wrote it:
    ``year > 2019`` and ``year > "2019"`` mean the same.
    """
    value = to_value(item)
    if value is None:
        raise QueryError(f"'{condition.field}' cannot be compared with {item!r}.")
    operator = "=" if condition.operator == "!=" else condition.operator
    if operator not in ("=", "<", "<=", ">", ">="):
        raise QueryError(f"There is no operator '{operator}'; use =, !=, <, <=, > or >=.")
    text = value.text.casefold() if condition.field in (KEYPHRASE, ABSENT) else value.text
    number = value.number if value.number is not None else read_number(value.text)
    name = bindable(meta_name(condition.field))
    parts = [f"v.value {operator} ? AND v.number IS NULL"]
    values: list[Any] = [name, bindable(text)]
    if operator == "=":
        parts = ["v.value = ?"]
    if number is not None:
        parts.append(f"v.number {operator} ?")
        values.append(number)
    return (
        "SELECT d.doc FROM fields f JOIN facet_values v ON v.field = f.field "
        f"JOIN doc_values d ON d.code = v.code WHERE f.name = ? AND ({' OR '.join(parts)})",
        values,
    )


def column(rows: Iterable[tuple[int]]) -> Docs:
    """Return the rows of a one-column result as an array."""
    return np.fromiter(chain.from_iterable(rows), np.int64)


# -- codes of documents: writing -----------------------------------------------------------------------------


def replace_codes(
    connection: sqlite3.Connection, part: Part, requested: Mapping[int, Mapping[int, float | None]]
) -> None:
    """Replace the codes (with weights) of one part of each document."""
    blocks = _read(connection, {doc >> BLOCK_BITS for doc in requested})
    changed: set[int] = set()
    gone: list[tuple[int, int]] = []
    new: list[tuple[int, int, float | None]] = []
    for doc, codes in requested.items():
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


def _read(connection: sqlite3.Connection, requested: set[int]) -> dict[int, list[tuple[int, ...]]]:
    """Return the codes of the documents of some blocks."""
    sql = "SELECT block, lengths, codes FROM code_blocks WHERE block IN (SELECT value FROM json_each(?))"
    blocks = {}
    for block, packed_lengths, packed_codes in connection.execute(sql, (json_array(requested),)):
        ends = list(accumulate(_LENGTHS.unpack(packed_lengths), initial=0))
        codes = struct.unpack(f"<{ends[-1]}q", packed_codes)
        blocks[block] = [codes[start:end] for start, end in pairwise(ends)]
    return blocks


def _packed(rows: Sequence[tuple[int, ...]]) -> tuple[bytes, bytes]:
    codes = list(chain.from_iterable(rows))
    return _LENGTHS.pack(*map(len, rows)), struct.pack(f"<{len(codes)}q", *codes)


# -- codes of documents: counting ----------------------------------------------------------------------------


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
        row = connection.execute(
            "SELECT field FROM fields WHERE name = ?", (bindable(meta_name(name)),)
        ).fetchone()
        own = codes[owners == row[0]] & _NUMBER if row else codes[:0]
        answer[name] = _most_frequent(connection, row[0], np.bincount(own), size) if len(own) else ()
    return answer


def _topic_paths(connection: Connection, docs: Docs | None, size: int) -> tuple[tuple[str, int], ...]:
    """Count the documents of each topic, and those with any topic below each parent, by path."""
    parents = {topic.id: topic.parent for topic in read_topics(connection)}
    sql = "SELECT code, shown FROM facet_values WHERE field = ?"
    numbers = {shown: code & _NUMBER for code, shown in connection.execute(sql, (TOPIC_FIELD,))}
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
    return np.repeat(docs, known.lengths[docs])[own], codes[own] & _NUMBER


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
        for kind, shown, value in ((code & _NUMBER, shown, value) for code, shown, value in found)
    )
    return [
        SignificantKeyphrase(shown, -documents, total, -score)
        for score, documents, _, shown, total in ranked[:limit]
    ]


def by_topic(connection: sqlite3.Connection, parts: Sequence[Docs]) -> list[Counted]:
    """Count the documents of each part with each topic; the codes are read once for all parts."""
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
    """Return all codes of a field, each with the row of its document."""
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


def _keyphrase_counts(connection: Connection, docs: Docs | None) -> Codes:
    """Count the documents with each keyphrase, by its number within the field."""
    codes = _codes(connection, docs)
    return np.bincount(codes[codes >> FIELD_BITS == KEYPHRASE_FIELD] & _NUMBER)


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
        lengths = np.zeros((blocks[-1] + 1, _BLOCK), np.uint32)
        lengths[list(blocks)] = np.frombuffer(b"".join(packed_lengths), "<u4").reshape(-1, _BLOCK)
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
            kept = mask.reshape(-1, _BLOCK)[list(numbers_)].ravel()
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
        ((int(counts[code & _NUMBER]), shown, number, value) for code, shown, number, value in found),
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
        return column(rows) & _NUMBER
    # With so many ties, reading the field's values in order reaches the first ones soon.
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
