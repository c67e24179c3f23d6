"""Format and print output: columns, wrapping, highlights. Plain text; colours only on a terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.cli.app import App
    from indexer.protocols import Progress

MIN_COLUMNS, MAX_COLUMNS = 60, 120  # of a terminal
PIPE_COLUMNS = 100
GAP = "  "
INDENT = "    "


def colours() -> bool:
    """Whether stdout shows styles."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return sys.stdout.isatty()


def columns() -> int:
    """Return the width of the output."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return min(MAX_COLUMNS, max(MIN_COLUMNS, shutil.get_terminal_size().columns))
    return PIPE_COLUMNS


# -- styles -------------------------------------------------------------------------------------------------


def bold(text: str) -> str:
    return click.style(text, bold=True) if text else ""


def dim(text: str) -> str:
    return click.style(text, dim=True) if text else ""


def mark(text: str) -> str:
    """Highlight a match: bold and green, or in double brackets without colours."""
    if not colours():
        return f"[[{text}]]"
    # Each word separately, so that a line break inside a phrase does not colour the margin.
    return re.sub(r"\S+", lambda word: click.style(word[0], bold=True, fg="green"), text)


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Highlight these ranges of `text`; of overlapping ones the earlier and longer."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < at or end <= start or end > len(text):
            continue
        parts += [clean(text[at:start], keep_lines=True), mark(clean(text[start:end]))]
        at = end
    return "".join([*parts, clean(text[at:], keep_lines=True)])


def near(message: str) -> str:
    """Remove the current folder from the start of a path, or of a message that starts with a path."""
    return message.removeprefix(f"{os.getcwd()}{os.sep}")


# -- layout -------------------------------------------------------------------------------------------------


def cells(text: str) -> int:
    """Return the width of the text on a terminal: 2 for a Chinese character, 0 for a combining mark."""
    plain = click.unstyle(text)
    if plain.isascii():
        return len(plain)
    from rich.cells import cell_len

    return cell_len(plain)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill with spaces up to `width`; `right` aligns on the right."""
    space = " " * max(0, width - cells(text))
    return space + text if right else text + space


def wrap(text: str, width: int) -> list[str]:
    """Break text at spaces into lines of at most `width` columns; a longer word, such as an id, stays whole."""
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
    """Wrap and indent text; `first` replaces the indentation of the first line."""
    lines = wrap(text, columns() - cells(by))
    return "\n".join(
        (first if i == 0 and first is not None else by) + line if line else "" for i, line in enumerate(lines)
    )


def indent(block: str, by: str = INDENT) -> str:
    """Indent lines that are already wrapped."""
    return "\n".join(by + line if line else "" for line in block.split("\n"))


def table(
    rows: Sequence[Sequence[str]],
    *,
    head: Sequence[str] = (),
    right: Sequence[int] = (),
    margin: int = 0,
    parts: str = "",
) -> str:
    """Align columns; the last one is wrapped. Cells are never cut, as those of `rich.table` would be.

    Args:
        head: Names of the columns.
        right: Indices of the columns aligned on the right.
        margin: Width of the indentation that the caller adds.
        parts: Separates the parts of the last column, of which those are shown that fit into one line.
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
        last = _fitting(row[-1], room, parts) if parts else row[-1]
        for i, text in enumerate(wrap(last, room)):
            lines.append(((begin if i == 0 else " " * before) + text).rstrip())
    return "\n".join(lines)


def _fitting(text: str, width: int, separator: str) -> str:
    fitting = ""
    for part in text.split(separator):
        longer = f"{fitting}{separator}{part}" if fitting else part
        if cells(longer) > width:
            break
        fitting = longer
    return fitting


def facts(rows: Iterable[tuple[str, str]], *, margin: int = 0) -> str:
    """Align names and values, one pair on a line."""
    return table([(dim(name), value) for name, value in rows], margin=margin)


# -- printing -----------------------------------------------------------------------------------------------


def say(text: str = "") -> None:
    """Print a result to stdout."""
    click.echo(text)


def warn(text: str) -> None:
    """Print a warning to stderr."""
    click.echo(f"Warning: {text}", err=True)


def print_json(value: Any) -> None:
    """Print one JSON value to stdout."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(value, indent=2, ensure_ascii=not unicode, default=_plain))


def _plain(value: Any) -> Any:
    """Convert dates, and numbers and arrays of numpy."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def show_result(value: Any, text: str, *, as_json: bool) -> None:
    """Print a result as JSON or as text."""
    if as_json:
        print_json(value)
    else:
        say(text)


@contextmanager
def working(app: App, *, resumable: bool = True, lines: bool = False) -> Iterator[Progress]:
    """Yield a progress callback for long work: a bar on a terminal, otherwise lines.

    Args:
        resumable: Whether the same command resumes the work after Ctrl-C.
        lines: Write lines from the beginning, not only when the work takes long.
    """
    app.resumable = resumable
    if sys.stderr.isatty():
        from indexer.cli.progress import ProgressBar

        with ProgressBar() as app.progress:
            yield app.progress
        app.progress = None
    else:
        from indexer.cli.progress import QUIET_S, ProgressLines

        with ProgressLines(0.0 if lines else QUIET_S) as progress:
            yield progress
