"""What documents are filtered by and counted by: a dictionary of values, filters, and counts.

Each value of a field has a code; its upper half is the field. A document's codes stand in `doc_values` (by
code, for filters) and as blobs of int64 in `doc_codes` (by document, for counts).
"""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import LONGEST_VALUE, Filter
from indexer.engines.local.rows import numbers, select
from indexer.engines.local.schema import FIELD_BITS, KEYPHRASE, TOPIC
from indexer.errors import QueryError
from indexer.records import Keyphrase, MetaValue, TopicWeight

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]  # by document row: may it be in the answer?

_NUMBER = (1 << FIELD_BITS) - 1
_NAMES_AT_ONCE = 2_000  # more tied values than this are looked through in order of value instead


class Value(NamedTuple):
    """One value of a field: what is compared, what is displayed, and the number when it is one."""

    text: str
    shown: str
    number: float | int | None = None


def meta_name(field: str) -> str:
    """Name in `fields`: the user may have a field called "topic" of his own."""
    return field if field in (TOPIC, KEYPHRASE) else f"meta.{field}"


def meta_values(meta: Mapping[str, MetaValue]) -> Iterator[tuple[str, Value]]:
    """Each (field, value) of a document's own fields, lists taken apart."""
    for field, content in meta.items():
        for item in content if isinstance(content, list) else [content]:
            value = to_value(item)
            if value is not None and len(value.text) <= LONGEST_VALUE:
                yield f"meta.{field}", value


def mined_values(
    keyphrases: Sequence[Keyphrase], topics: Sequence[TopicWeight]
) -> Iterator[tuple[str, Value, float | None]]:
    """Each (field, value, weight) that mining gives a document."""
    for keyphrase in keyphrases:
        if len(keyphrase.text) <= LONGEST_VALUE:
            yield KEYPHRASE, Value(keyphrase.text.casefold(), keyphrase.text), None
    for topic in topics:
        yield TOPIC, Value(topic.topic_id, topic.topic_id), topic.weight


def to_value(item: Any) -> Value | None:
    """A value as it is compared; None for what is neither text, number nor truth."""
    if isinstance(item, bool):
        text = "true" if item else "false"
        return Value(text, text)
    if isinstance(item, str):
        return Value(item, item)
    if isinstance(item, int | float):
        if isinstance(item, float) and math.isnan(item):
            return None
        if isinstance(item, float) and item.is_integer() and abs(item) < 2**53:
            item = int(item)  # 3.0 and 3 are the same value
        return Value(str(item), str(item), _storable(item))
    return None


def _storable(number: float | int) -> float | int | None:
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        try:
            return float(number)
        except OverflowError:
            return None
    return number


class Dictionary:
    """Codes of values, made when they are new. For one write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._fields: dict[str, int] = {}
        self._codes: dict[tuple[str, str], int] = {}

    def learn(self, values: Iterable[tuple[str, Value]]) -> None:
        """Find or make the codes of all these (field, value) at once."""
        by_field: dict[str, dict[str, Value]] = {}
        for field, value in values:
            if (field, value.text) not in self._codes:
                by_field.setdefault(field, {}).setdefault(value.text, value)
        for field, wanted in by_field.items():
            self._learn_field(field, wanted)

    def code(self, field: str, value: Value) -> int:
        """The code of a value that was learnt."""
        return self._codes[field, value.text]

    def _learn_field(self, name: str, wanted: dict[str, Value]) -> None:
        field = self._field(name)
        sql = "SELECT value, code, number IS NULL FROM facet_values WHERE field = ? AND value IN ({})"
        for text, code, unnumbered in list(select(self._connection, sql, wanted, field)):
            value = wanted.pop(text)
            self._codes[name, text] = code
            if unnumbered and value.number is not None:  # stood there as text before
                self._connection.execute(
                    "UPDATE facet_values SET number = ? WHERE code = ?", (value.number, code)
                )
        (last,) = self._connection.execute(
            "SELECT coalesce(max(code), ?) FROM facet_values WHERE code BETWEEN ? AND ?",
            (field << FIELD_BITS, field << FIELD_BITS, field << FIELD_BITS | _NUMBER),
        ).fetchone()
        new = [(code, field, *value) for code, value in enumerate(wanted.values(), last + 1)]
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


def topic_value(topic: str) -> tuple[str, Value]:
    """A topic id as (field, value)."""
    return TOPIC, Value(topic, topic)


def topic_number(code: int) -> int:
    """A topic as mentions refer to it."""
    return code & _NUMBER


def replace_codes(
    connection: sqlite3.Connection, column: str, wanted: Mapping[int, Mapping[int, float | None]]
) -> None:
    """Make these the codes, with weights, of each document row in `column`, "meta" or "mined"."""
    sql = f"SELECT doc, {column} FROM doc_codes WHERE doc IN (SELECT value FROM json_each(?))"
    old = {doc: set(unpacked(blob)) for doc, blob in connection.execute(sql, (numbers(wanted),))}
    gone, new, blobs, first_blobs = [], [], [], []
    for doc, codes in wanted.items():
        before = old.get(doc)
        if before is None:
            first_blobs.append((packed(codes), doc))
        elif before != codes.keys():
            blobs.append((packed(codes), doc))
        before = before or set()
        gone += [(code, doc) for code in before - codes.keys()]
        new += [
            (code, doc, weight)
            for code, weight in codes.items()
            if code not in before or weight is not None  # a weight may have changed
        ]
    connection.executemany("DELETE FROM doc_values WHERE code = ? AND doc = ?", gone)
    connection.executemany("INSERT OR REPLACE INTO doc_values VALUES (?, ?, ?)", sorted(new))
    connection.executemany(f"UPDATE doc_codes SET {column} = ? WHERE doc = ?", blobs)
    other = "mined" if column == "meta" else "meta"
    connection.executemany(f"INSERT INTO doc_codes({column}, doc, {other}) VALUES (?, ?, x'')", first_blobs)


def packed(codes: Collection[int]) -> bytes:
    return struct.pack(f"<{len(codes)}q", *codes)


def unpacked(blob: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(blob) // 8}q", blob)


# -- filters -------------------------------------------------------------------------------------------------


def allowed(connection: sqlite3.Connection, filters: Sequence[Filter]) -> Mask | None:
    """Which documents the filters let through, as bool by document row; None when there are no filters."""
    if not filters:
        return None
    (last,) = connection.execute("SELECT coalesce(max(doc), 0) FROM documents").fetchone()
    mask = np.zeros(last + 1, np.bool_)
    mask[_docs(connection.execute("SELECT doc FROM documents"))] = True
    alternatives: dict[str, list[Filter]] = {}
    for condition in filters:
        if condition.operator == "=":
            alternatives.setdefault(condition.field, []).append(condition)
        else:
            mask &= _met(connection, [condition], len(mask))
    for conditions in alternatives.values():
        mask &= _met(connection, conditions, len(mask))
    return mask


def _met(connection: sqlite3.Connection, conditions: list[Filter], size: int) -> Mask:
    """Documents that meet one of these conditions, all on the same field."""
    met = np.zeros(size, np.bool_)
    for condition in conditions:
        items = condition.value if isinstance(condition.value, list) else [condition.value]
        if condition.operator not in ("=", "!=") and (isinstance(condition.value, list) or len(items) != 1):
            raise QueryError(f"'{condition.field} {condition.operator}' takes one value, not a list.")
        for item in items:
            sql, values = _condition(condition, item)
            met[_docs(connection.execute(sql, values))] = True
        if condition.operator == "!=":
            met = ~met
    return met


def _condition(condition: Filter, item: Any) -> tuple[str, list[Any]]:
    """SQL for the documents that have a value of the field equal to, below or above `item`.

    A stored number compares as a number, everything else as text, whichever way the user wrote it:
    ``year > 2019`` and ``year > "2019"`` mean the same.
    """
    value = to_value(item)
    if value is None:
        raise QueryError(f"'{condition.field}' cannot be compared with {item!r}.")
    operator = "=" if condition.operator == "!=" else condition.operator
    if operator not in ("=", "<", "<=", ">", ">="):
        raise QueryError(f"There is no operator '{operator}'; use =, !=, <, <=, > or >=.")
    text = value.text.casefold() if condition.field == KEYPHRASE else value.text
    number = value.number if value.number is not None else _read_number(value.text)
    name = meta_name(condition.field)
    parts = [f"v.value {operator} ? AND v.number IS NULL"]
    values: list[Any] = [name, _storable_text(text)]
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


def _read_number(text: str) -> float | int | None:
    try:
        value = to_value(json.loads(text))
    except ValueError:
        return None
    return value.number if value else None


def _storable_text(text: str) -> str:
    """A lone surrogate cannot be bound; no stored value has one, so any character that is in none will do."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _docs(rows: Iterable[tuple[int]]) -> Codes:
    return np.fromiter((row[0] for row in rows), np.int64)


# -- counts --------------------------------------------------------------------------------------------------


def count(
    connection: sqlite3.Connection, blobs: Iterable[bytes], fields: Sequence[str], size: int
) -> dict[str, tuple[tuple[str, int], ...]]:
    """The most frequent values of each field, from the code blobs of the matching documents."""
    codes = np.frombuffer(b"".join(blobs), dtype="<i8")
    owners = codes >> FIELD_BITS
    answer: dict[str, tuple[tuple[str, int], ...]] = {}
    for name in fields:
        row = connection.execute("SELECT field FROM fields WHERE name = ?", (meta_name(name),)).fetchone()
        own = codes[owners == row[0]] & _NUMBER if row else codes[:0]
        answer[name] = _most_frequent(connection, row[0], np.bincount(own), size) if len(own) else ()
    return answer


def _most_frequent(
    connection: sqlite3.Connection, field: int, counts: Codes, size: int
) -> tuple[tuple[str, int], ...]:
    """(shown value, count), most frequent first, ties by value (kinds by size)."""
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
        return _docs(rows) & _NUMBER
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
