"""The dictionary of values that documents are filtered by and counted by: topics, keyphrases, the user's fields.

Each value of a field has a code; its upper half is the field. `filters` goes from codes to documents, `facets` from
documents to codes. Filters are answered from both tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import MAX_VALUE_LENGTH, Filter
from indexer.engines.local.row_ids import select
from indexer.engines.local.schema import ABSENT, FIELD_BITS, KEYPHRASE, TOPIC
from indexer.engines.values import Value, bindable, read_number, to_value
from indexer.errors import QueryError
from indexer.records import Keyphrase, MetaValue, TopicWeight

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]  # by document row: may it be in the answer?

_NUMBER = (1 << FIELD_BITS) - 1
_NAMES_AT_ONCE = 2_000  # more tied values than this are looked through in order of value instead


def meta_name(field: str) -> str:
    """Name in `fields`: the user may have a field called "topic" of his own."""
    return field if field in (TOPIC, KEYPHRASE, ABSENT) else f"meta.{field}"


def meta_values(meta: Mapping[str, MetaValue]) -> Iterator[tuple[str, Value]]:
    """Each (field, value) of a document's own fields, lists taken apart."""
    for field, content in meta.items():
        for item in content if isinstance(content, list) else [content]:
            value = to_value(item)
            if value is not None and len(value.text) <= MAX_VALUE_LENGTH:
                yield f"meta.{field}", value


def mined_values(
    keyphrases: Sequence[Keyphrase], topics: Sequence[TopicWeight]
) -> Iterator[tuple[str, Value, float | None]]:
    """Each (field, value, weight) that mining gives a document."""
    for keyphrase in keyphrases:
        if len(keyphrase.text) <= MAX_VALUE_LENGTH:
            field = KEYPHRASE if keyphrase.present else ABSENT
            yield field, Value(keyphrase.text.casefold(), keyphrase.text), None
    for topic in topics:
        yield TOPIC, Value(topic.topic_id, topic.topic_id), topic.weight


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


def own_fields(connection: sqlite3.Connection) -> list[str]:
    """Names of the users' own fields that some document has."""
    # Values that no document has any more stay in the dictionary until it is compacted.
    names = connection.execute(
        "SELECT name FROM fields f WHERE name LIKE 'meta.%' AND EXISTS (SELECT 1 FROM facet_values v "
        "WHERE v.field = f.field AND EXISTS (SELECT 1 FROM doc_values d WHERE d.code = v.code)) ORDER BY name"
    )
    return [name.removeprefix("meta.") for (name,) in names]


def topic_value(topic: str) -> tuple[str, Value]:
    """A topic id as (field, value)."""
    return TOPIC, Value(topic, topic)


def topic_number(code: int) -> int:
    """A topic as mentions refer to it."""
    return code & _NUMBER


Docs = NDArray[np.int64]


def allowed(connection: sqlite3.Connection, filters: Sequence[Filter]) -> Mask | None:
    """Which documents the filters let through, as bool by row; None when there are no filters.

    Rows without a document may be let through too: what is matched with the mask are documents.
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
    """A mask that lets all documents through."""
    (last,) = connection.execute("SELECT coalesce(max(doc), 0) FROM documents").fetchone()
    return np.ones(last + 1, np.bool_)


def _met(connection: sqlite3.Connection, conditions: list[Filter], size: int) -> Mask:
    """Documents that meet one of these conditions, all on the same field."""
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
    """Rows of one number as an array."""
    return np.fromiter(chain.from_iterable(rows), np.int64)
