"""CSV and TSV: a row of names, then one document per row."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Literal

from indexer.errors import InputError
from indexer.readers.encoding import DecodedLines
from indexer.readers.fields import Fields, Record
from indexer.readers.options import ReadOptions
from indexer.readers.source import File, clean, plural
from indexer.records import Document

SUFFIXES = ("csv", "tsv", "tab")
HEADER_LINES = 1  # that are no records

_DELIMITERS = ",;\t|"
# 007 is a code, not a number; 18 digits always fit into 64 bits.
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
_BOOLEAN = re.compile("true|false", re.IGNORECASE)

Value = str | int | float | bool
_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], Value]], ...] = (
    (_BOOLEAN, lambda cell: cell.lower() == "true"),
    (_INTEGER, int),
    (_NUMBER, float),
)


@dataclass(frozen=True)
class _Layout:
    """How a table is written, and what its columns hold."""

    delimiter: str
    quoting: Literal[0, 3]  # csv.QUOTE_MINIMAL or csv.QUOTE_NONE
    makers: tuple[Callable[[str], Value], ...]  # one per column: from a cell to its value
    bad_rows: int = 0


def read(file: File, options: ReadOptions) -> Iterator[Document | InputError]:
    """One document or error per row.

    The file is read twice: a column is numbers only when every cell of it is one, so that a field does not
    change its type from row to row.

    Raises:
        InputError: Nothing more can be read from the file.
    """
    layout = _layout(file, options)
    fields = Fields(options)
    with file.opened() as stream:
        rows = _Rows(stream, file, options, layout)
        header = rows.header()
        if header is None:
            return
        names, first_line = header
        fields.check_names(names, file, first_line)
        while True:
            try:
                found = next(rows, None)
                if found is None:
                    return
                row, line = found
                item: Document | InputError = _document(row, names, layout, fields, file, line)
            except InputError as error:
                item = error
            yield item


def _document(
    row: list[str], names: list[str], layout: _Layout, fields: Fields, file: File, line: int
) -> Document:
    if len(row) != len(names):
        raise file.problem(f"expected {plural(len(names), 'column')}, found {len(row):,}.", line=line)
    ours = fields.claimed(names)
    record: Record = {
        name: cell if name in ours else make(cell.strip()) if cell.strip() else None
        for name, cell, make in zip(names, row, layout.makers, strict=True)
        if name  # a column without a name is usually the row number that pandas writes
    }
    return fields.document(record, file, line)


class _Rows:
    """Rows with the line that each begins in. Continues after a bad row, as `DecodedLines` does after a bad line."""

    def __init__(self, stream: IO[bytes], file: File, options: ReadOptions, layout: _Layout) -> None:
        self._lines = DecodedLines(stream, file, options.longest_line)
        self._file = file
        # The limit is one for the process, and by default smaller than a long article.
        csv.field_size_limit(max(csv.field_size_limit(), options.longest_line))
        self._reader = csv.reader(
            self._lines, delimiter=layout.delimiter, quoting=layout.quoting, strict=True
        )

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> tuple[list[str], int]:
        while True:
            line = self._lines.number + 1
            try:
                row = next(self._reader)
            except csv.Error as error:
                raise self._problem(error, line) from error
            if row:
                return row, line

    def header(self) -> tuple[list[str], int] | None:
        """The names of the columns, or None when the file is empty."""
        found = next(self, None)
        if found is None:
            return None
        row, line = found
        names = [clean(name).strip() for name in row]
        seen: set[str] = set()
        for name in filter(None, names):
            if name in seen:
                raise self._file.problem(f'the column "{name[:80]}" is there twice.', line=line)
            seen.add(name)
        return names, line

    def _problem(self, error: csv.Error, line: int) -> InputError:
        if "unexpected end of data" in str(error):
            passed = plural(self._lines.number - line, "line")
            return self._file.problem(
                f"a quote that opens in this row is never closed; the {passed} after it could not be read.",
                line=line,
            )
        if "new-line character" in str(error):
            return self._file.problem(
                "a line ends in a carriage return alone.",
                line=line,
                hint="Save the file with \\n or \\r\\n line ends.",
            )
        return self._file.problem(f"not valid CSV: {error}.", line=line)


def _layout(file: File, options: ReadOptions) -> _Layout:
    """Look through the whole file for how it is written. Errors in it are reported by the second reading."""
    delimiter = options.delimiter or _delimiter(file, options)
    layout = _survey(file, options, _Layout(delimiter, csv.QUOTE_MINIMAL, ()))
    if layout.bad_rows and delimiter == "\t":
        # Many data sets in TSV do not quote at all, so that a quotation mark in them is just that.
        unquoted = _survey(file, options, _Layout(delimiter, csv.QUOTE_NONE, ()))
        return unquoted if unquoted.bad_rows < layout.bad_rows else layout
    return layout


def _delimiter(file: File, options: ReadOptions) -> str:
    if file.suffix in {"tsv", "tab"}:
        return "\t"
    with file.opened() as stream:
        first = next((line for line in DecodedLines(stream, file, options.longest_line) if line.strip()), "")
    first = first.splitlines()[0] if first else ""
    columns = {sign: len(next(csv.reader([first], delimiter=sign), [])) for sign in _DELIMITERS}
    return max(_DELIMITERS, key=lambda sign: columns[sign])  # the comma where they are equal


def _survey(file: File, options: ReadOptions, layout: _Layout) -> _Layout:
    possible: list[list[int]] = []  # for each column, the places in _KINDS that fit all its cells so far
    is_empty: list[bool] = []
    bad_rows = 0
    with suppress(InputError), file.opened() as stream:
        rows = _Rows(stream, file, options, layout)
        header = rows.header()
        names = header[0] if header else []
        possible = [list(range(len(_KINDS))) for _ in names]
        is_empty = [True] * len(names)
        while True:
            try:
                found = next(rows, None)
            except InputError:
                bad_rows += 1
                continue
            if found is None:
                break
            row, _ = found
            if len(row) != len(names):
                bad_rows += 1
                continue
            for column, cell in enumerate(row):
                if possible[column] and (cell := cell.strip()):
                    is_empty[column] = False
                    possible[column] = [kind for kind in possible[column] if _KINDS[kind][0].fullmatch(cell)]
    makers = tuple(
        _KINDS[kinds[0]][1] if kinds and not empty else str
        for kinds, empty in zip(possible, is_empty, strict=True)
    )
    return _Layout(layout.delimiter, layout.quoting, makers, bad_rows)
