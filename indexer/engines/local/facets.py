"""Values that documents are filtered and counted by: topics, keyphrases and the user's fields.

Each value of a field has a code; its upper half is the field. `doc_values` maps codes to documents, for filters;
`code_blocks` maps documents to codes, for counts. 64 documents share a row of `code_blocks`, so that the codes of
20,000 documents are a few hundred rows to read, and numpy does the rest.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import MAX_VALUE_LENGTH, Filter
from indexer.engines.local import duplicates
from indexer.engines.local.schema import (
    ABSENT,
    BLOCK_BITS,
    FIELD_BITS,
    KEYPHRASE,
    KEYPHRASE_FIELD,
    TOPIC,
    json_array,
    select,
)
from indexer.engines.values import Value, bindable, read_number, to_value
from indexer.errors import QueryError
from indexer.records import Keyphrase, MetaValue, TopicWeight

Docs = NDArray[np.int64]
Codes = NDArray[np.int64]
Part = Literal["meta", "mined"]  # the user's fields; topics and keyphrases
Mask = NDArray[np.bool_]  # by document row: may it be in the answer?

NUMBER = (1 << FIELD_BITS) - 1
_MINED_END = (KEYPHRASE_FIELD + 1) << FIELD_BITS  # codes of topics and keyphrases are below, all others above
BLOCK = 1 << BLOCK_BITS
_LENGTHS = struct.Struct(f"<{BLOCK}I")
MANY = 200_000  # documents; of fewer, what is known of each is read once and remembered


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
            (field << FIELD_BITS, field << FIELD_BITS, field << FIELD_BITS | NUMBER),
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
    return code & NUMBER


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
            sql, values = _condition(connection, condition, item)
            docs = column(connection.execute(sql, values))
            if condition.field == duplicates.NAME and not item:
                met |= _all_but(docs, size)
            else:
                met[docs] = True
        if condition.operator == "!=":
            met = ~met
    return met


def _all_but(docs: Docs, size: int) -> Mask:
    """Return a mask of the others: those without a value are many, and not read."""
    mask = np.ones(size, np.bool_)
    mask[docs] = False
    return mask


def _condition(connection: sqlite3.Connection, condition: Filter, item: Any) -> tuple[str, list[Any]]:
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
    if condition.field == duplicates.NAME:
        return duplicates.condition(connection, operator, value.text)
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
        rows = blocks.setdefault(doc >> BLOCK_BITS, [()] * BLOCK)
        before = rows[doc % BLOCK]
        other = tuple([code for code in before if (code < _MINED_END) != (part == "mined")])
        old = set(before).difference(other)
        gone += [(code, doc) for code in old - codes.keys()]
        # A weight may have changed where the code is the same.
        new += [
            (code, doc, weight) for code, weight in codes.items() if code not in old or weight is not None
        ]
        if old != codes.keys():
            rows[doc % BLOCK] = (*other, *codes)
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
