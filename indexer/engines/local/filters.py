"""Conditions on documents, answered by the table of codes and documents."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.engines.base import Filter
from indexer.engines.local.schema import ABSENT, KEYPHRASE
from indexer.engines.local.values import meta_name
from indexer.engines.storable import bindable
from indexer.engines.values import read_number, to_value
from indexer.errors import QueryError

Docs = NDArray[np.int64]
Mask = NDArray[np.bool_]  # by document row: may it be in the answer?


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
