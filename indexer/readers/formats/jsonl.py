"""JSON Lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from indexer.errors import InputError
from indexer.readers.encoding import DecodedLines
from indexer.readers.fields import Fields, Record, kind_of
from indexer.readers.options import ReadOptions
from indexer.readers.source import File
from indexer.records import Document

SUFFIXES = ("jsonl", "ndjson")


def read(file: File, options: ReadOptions) -> Iterator[Document | InputError]:
    """One document or error per line; blank lines are passed over.

    Raises:
        InputError: Nothing more can be read from the file.
    """
    fields = Fields(options)
    with file.opened() as stream:
        lines = DecodedLines(stream, file, options.longest_line)
        is_first = True
        while True:
            try:
                line = next(lines, None)
            except InputError as error:
                yield error
                continue
            if line is None:
                return
            if not line.strip():
                continue
            if is_first:
                _refuse_one_big_value(line, file, lines.number)
                is_first = False
            try:
                item: Document | InputError = fields.document(
                    _parse(line, file, lines.number), file, lines.number
                )
            except InputError as error:
                item = error
            yield item


def _refuse_one_big_value(line: str, file: File, number: int) -> None:
    """Spare the reader an error for each line of a pretty-printed file or a JSON array."""
    start = line.strip()
    if start.startswith("[") or start == "{":
        what = "a JSON array" if start.startswith("[") else "one object over several lines"
        query = ".[]" if start.startswith("[") else "."
        raise file.problem(
            f"expected JSON Lines, one object per line, found {what}. Convert it: jq -c '{query}' FILE > FILE.jsonl",
            line=number,
        )


def _parse(line: str, file: File, number: int) -> Record:
    try:
        value = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as error:
        raise file.problem(
            f"not valid JSON: {error.msg.removesuffix(' at')} at column {error.colno:,}.", line=number
        ) from error
    except RecursionError:
        raise file.problem("not usable JSON: nested too deep.", line=number) from None
    except ValueError as error:  # a number with thousands of digits
        raise file.problem(f"not usable JSON: {error}.", line=number) from error
    if not isinstance(value, dict):
        raise file.problem(f"expected an object, found {kind_of(value)}.", line=number)
    return value
