"""Rows as Parquet, each column with the type that all its values have. Needs pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Literal

import pyarrow
from pyarrow import parquet

Row = Mapping[str, Any]
Kind = Literal["truth", "whole", "long", "number", "list", "text"]

AT_ONCE = 500  # rows
IN_MEMORY = 8_000_000  # bytes of rows, or of a file, that are kept while it is being made
EXACT = 2**53  # up to here, every whole number is a float too
MAX_LENGTH = 2**63


def write(rows: Iterable[Row], columns: Sequence[str], own: Sequence[str]) -> Iterator[bytes]:
    """A file, in parts.

    Args:
        own: Columns of the users' fields, which may hold anything: their types are known when the last row has come, so
            rows lie aside until then. Where values differ in type, they become text.
    """
    with SpooledTemporaryFile(IN_MEMORY) as aside, SpooledTemporaryFile(IN_MEMORY) as file:
        kinds = _put_aside(rows, columns, own, aside)
        schema = pyarrow.schema(
            [(name, _type(kinds[name]) if name in kinds else _known(name)) for name in columns]
        )
        texts = [name for name in own if schema.field(name).type == pyarrow.string()]
        with parquet.ParquetWriter(file, schema) as writer:
            aside.seek(0)
            while some := [json.loads(line) for line in islice(aside, AT_ONCE)]:
                plain = [row | {name: _text(row[name]) for name in texts} for row in some]
                writer.write_table(pyarrow.Table.from_pylist(plain, schema))
        file.seek(0)
        while part := file.read(1 << 16):
            yield part


def _put_aside(
    rows: Iterable[Row], columns: Sequence[str], own: Sequence[str], aside: IO[bytes]
) -> dict[str, set[Kind]]:
    """Write rows to a file, one on a line. Returns the kinds of values in the own columns."""
    kinds: dict[str, set[Kind]] = {name: set() for name in own}
    for row in rows:
        for name in own:
            if (value := row.get(name)) is not None:
                kinds[name].add(_kind(value))
        aside.write(json.dumps({name: row.get(name) for name in columns}).encode() + b"\n")
    return kinds


def _kind(value: Any) -> Kind:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        fits = -MAX_LENGTH <= value < MAX_LENGTH
        return "whole" if abs(value) <= EXACT else "long" if fits else "text"
    if isinstance(value, float):
        return "number"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "list"
    return "text"


def _type(kinds: set[Kind]) -> pyarrow.DataType:
    """The type that holds values of these kinds exactly."""
    if not kinds or "text" in kinds:
        return pyarrow.string()
    if kinds == {"truth"}:
        return pyarrow.bool_()
    if kinds == {"list"}:
        return pyarrow.list_(pyarrow.string())
    if kinds <= {"whole", "long"}:
        return pyarrow.int64()
    return pyarrow.float64() if kinds <= {"whole", "number"} else pyarrow.string()


def _known(name: str) -> pyarrow.DataType:
    """The type of a column of ours."""
    if name in ("topics", "topic_ids", "keyphrases", "absent_keyphrases", "phrases"):
        return pyarrow.list_(pyarrow.string())
    if name in ("rank", "documents"):
        return pyarrow.int64()
    if name in ("score", "weight", "share_lately", "share_before", "growth"):
        return pyarrow.float64()
    return pyarrow.bool_() if name in ("label_locked", "clear") else pyarrow.string()


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return "; ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)
