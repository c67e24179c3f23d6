"""Labelled data as JSON Lines, compressed or not. Errors name file and line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Any, TypeVar

from indexer.common import shuffled
from indexer.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Line:
    """An object of a file. The methods return a field of the requested kind, or raise InputError."""

    where: str  # FILE:LINE
    fields: dict[str, Any]

    def wrong(self, what: str) -> InputError:
        """An error at this line."""
        return InputError(f"{self.where}: {what}")

    def text(self, name: str, *, empty: bool = False) -> str:
        """A text; `empty` allows an empty text or white space."""
        value = self._field(name)
        if not isinstance(value, str) or not (empty or value.strip()):
            raise self.wrong(f'"{name}" must be a text, not {_excerpt(value)}.')
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts; the list may be empty."""
        value = self._field(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(f'"{name}" must be a list of texts, not {_excerpt(value)}.')
        return value

    def integer(self, name: str) -> int:
        value = self._field(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(f'"{name}" must be a whole number, not {_excerpt(value)}.')
        return value

    def number(self, name: str) -> float:
        value = self._field(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            raise self.wrong(f'"{name}" must be a number, not {_excerpt(value)}.')
        return float(value)

    def name(self, name: str) -> str:
        """A label: a text or a whole number, as a text."""
        value = self._field(name)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(name)

    def key(self, name: str) -> str:
        """A field as text, or the whole line where it is missing."""
        return str(self.fields.get(name, self.fields))

    def _field(self, name: str) -> Any:
        if name not in self.fields:
            raise self.wrong(f'"{name}" is missing. Found: {", ".join(self.fields) or "nothing"}.')
        return self.fields[name]


def sample(items: Iterable[T], limit: int | None, key: Callable[[T], str]) -> list[T]:
    """The `limit` items with the smallest hashes of their keys, in the given order; all items where it is None.

    The sample depends on the keys alone, not on the order: a file sorted by label gives documents of every label, and
    a smaller limit gives a part of the larger sample. Items are streamed; only `limit` of them are held in memory.
    """
    if limit is None:
        return list(items)
    chosen = nsmallest(limit, enumerate(items), key=lambda pair: shuffled(key(pair[1])))
    return [item for _, item in sorted(chosen, key=lambda pair: pair[0])]


def read_lines(
    path: Path, make: Callable[[Line], T], limit: int | None = None, *, key: str = "id"
) -> list[T]:
    """Read a file.

    Args:
        path: JSON Lines, compressed when the name ends in .gz.
        make: Converts a line to an item.
        limit: Number of lines of the sample that is read (`sample`).
        key: The field that the sample is drawn by; the whole line where it is missing.

    Raises:
        InputError: A line is not an object or `make` refuses it, the file has no lines, or it cannot be read.
    """
    with numbered(path) as lines:
        objects = (_object(*line) for line in lines)
        chosen = objects if limit is None else sample(objects, limit, lambda line: line.key(key))
        found = [make(line) for line in chosen]
    if not found:
        raise InputError(f"{path}: there are no lines in it.")
    return found


def read_usable(path: Path, make: Callable[[Line], T]) -> tuple[list[T], list[str]]:
    """Read a file of manual examples; invalid lines and empty ones are left out.

    Returns:
        The items that `make` returns, and the errors of the other lines.

    Raises:
        InputError: The file cannot be read.
    """
    found, problems = [], []
    with numbered(path) as lines:
        for where, text in lines:
            try:
                found += [make(_object(where, text))] if text.strip() else []
            except InputError as error:
                problems.append(str(error))
    return found, problems


@contextmanager
def numbered(path: Path) -> Iterator[Iterator[tuple[str, str]]]:
    """FILE:LINE and text of each line, from a file that is closed at the end, also when a line is invalid."""
    with closing(_lines(path)) as lines:
        yield ((f"{path}:{number}", text) for number, text in enumerate(lines, 1))


def _object(where: str, text: str) -> Line:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InputError(f"{where}: this is not JSON ({error}).") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object, found {_excerpt(value)}.")
    return Line(where, value)


def _lines(path: Path) -> Generator[str, None, None]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                yield from lines
        else:
            with path.open(encoding="utf-8") as lines:
                yield from lines
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"{path}: this cannot be read ({error}).") from error


def _excerpt(value: Any) -> str:
    """A value as JSON, truncated."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
