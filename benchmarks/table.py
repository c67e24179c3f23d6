"""Rows as an aligned table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]  # column ► value; "" is the name of the row


def table(rows: Sequence[Row]) -> str:
    """Names to the left, numbers to the right; a column is as wide as its widest cell."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    name, *numbers = zip(cells, widths, strict=True)
    return "  ".join([name[0].ljust(name[1]), *(text.rjust(width) for text, width in numbers)]).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return (
            f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
        )
    return f"{value:,}" if isinstance(value, int) else str(value)
