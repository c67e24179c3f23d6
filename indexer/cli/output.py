"""How output is formatted: columns, wrapping, highlights. Plain text; colours only on a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.cli.app import App
    from indexer.protocols import Progress

NARROW, WIDE = 60, 120  # output is laid out for a terminal of this size at least and at most
PIPED = 100  # columns when nobody knows
GAP = "  "
INDENT = "    "


def colours() -> bool:
    """Whether styles written to stdout will be seen."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return sys.stdout.isatty()


def columns() -> int:
    """How wide the output may be."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return min(WIDE, max(NARROW, shutil.get_terminal_size().columns))
    return PIPED


# -- styles -------------------------------------------------------------------------------------------------


def bold(text: str) -> str:
    return click.style(text, bold=True) if text else ""


def dim(text: str) -> str:
    return click.style(text, dim=True) if text else ""


def mark(text: str) -> str:
    """A found word or phrase: bold and green, or in double brackets where there are no colours."""
    if not colours():
        return f"[[{text}]]"
    # Each word by itself, so that a line break inside a phrase does not colour the margin.
    return re.sub(r"\S+", lambda word: click.style(word[0], bold=True, fg="green"), text)


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` with these ranges marked; of overlapping ones the earlier and longer counts."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < at or end <= start or end > len(text):
            continue
        parts += [clean(text[at:start], keep_lines=True), mark(clean(text[start:end]))]
        at = end
    return "".join([*parts, clean(text[at:], keep_lines=True)])


def near(message: str) -> str:
    """A message that begins with a path, or a path: without the current folder in front, as it was typed."""
    return message.removeprefix(f"{os.getcwd()}{os.sep}")


# -- layout -------------------------------------------------------------------------------------------------


def cells(text: str) -> int:
    """Columns that the text takes on a terminal: two for a Chinese character, none for a combining mark."""
    plain = click.unstyle(text)
    if plain.isascii():
        return len(plain)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain
    )


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill with spaces up to `width`; `right` puts them before the text."""
    space = " " * max(0, width - cells(text))
    return space + text if right else text + space


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at spaces; line breaks of the text stay, styles do not count."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line, used = "", 0
        for word in paragraph.split():
            size = cells(word)
            if line and used + 1 + size > width:
                lines.append(line)
                line, used = "", 0
            line, used = (f"{line} {word}", used + 1 + size) if line else (word, size)
        lines.append(line)
    return lines


def indented(text: str, by: str = INDENT, first: str | None = None) -> str:
    """A wrapped block; `first` begins its first line in place of the indentation."""
    lines = wrap(text, columns() - cells(by))
    return "\n".join(
        (first if i == 0 and first is not None else by) + line if line else "" for i, line in enumerate(lines)
    )


def indent(block: str, by: str = INDENT) -> str:
    """Lines that are wrapped already, moved to the right."""
    return "\n".join(by + line if line else "" for line in block.split("\n"))


def table(
    rows: Sequence[Sequence[str]], *, head: Sequence[str] = (), right: Sequence[int] = (), margin: int = 0
) -> str:
    """Columns side by side; the last one is wrapped where it is too wide.

    Args:
        head: Names of the columns.
        right: Numbers of the columns that are aligned on the right.
        margin: Columns that are taken by an indentation.
    """
    if not rows:
        return ""
    all_rows = [[dim(name) for name in head], *rows] if head else list(rows)
    widths = [max(cells(row[i]) for row in all_rows) for i in range(len(rows[0]) - 1)]
    before = sum(widths) + len(GAP) * len(widths)
    room = max(columns() - margin - before, 20)
    lines: list[str] = []
    for row in all_rows:
        begin = "".join(pad(row[i], width, right=i in right) + GAP for i, width in enumerate(widths))
        for i, piece in enumerate(wrap(row[-1], room)):
            lines.append(((begin if i == 0 else " " * before) + piece).rstrip())
    return "\n".join(lines)


def facts(rows: Iterable[tuple[str, str]], *, margin: int = 0) -> str:
    """Names and values, one under the other."""
    return table([(dim(name), value) for name, value in rows], margin=margin)


# -- printing -----------------------------------------------------------------------------------------------


def say(text: str = "") -> None:
    """A result, to stdout."""
    click.echo(text)


def warn(text: str) -> None:
    """Something that should be known, to stderr."""
    click.echo(f"Warning: {text}", err=True)


def print_json(value: Any) -> None:
    """One JSON value, to stdout."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(value, indent=2, ensure_ascii=not unicode, default=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return value.tolist()
    return str(value)


@contextmanager
def working(app: App, *, resumable: bool = True, lines: bool = False) -> Iterator[Progress]:
    """Long work: gives it something to report its progress to.

    Args:
        resumable: Whether the same command, given again, goes on where it was stopped.
        lines: Whether it takes so long that a log should have a line now and then.
    """
    app.resumable = resumable
    if not sys.stderr.isatty():
        from indexer.cli.progress import ProgressLines
        from indexer.protocols import no_progress

        if lines:
            with ProgressLines() as progress:
                yield progress
        else:
            yield no_progress
        return
    from indexer.cli.progress import bars

    with bars() as bar:
        app.progress = bar
        yield bar
        app.progress = None
