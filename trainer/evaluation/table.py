"""What a task finds, beside what was published: one object for programs, one table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from trainer.evaluation.figures import Figure

T = TypeVar("T")


Figures = Mapping[str, Figure]  # metric ► figure
Published = Mapping[str, Mapping[str, float]]  # name of a method ► metric ► figure


@dataclass(frozen=True)
class Table:
    """The figures of one file.

    Attributes:
        task: As on the command line.
        size: What the file has, e.g. ``{"mentions": 3890, "labels": 6}``.
        rows: Name of a method ► its figures; ours.
        main: The row whose figures are the metrics of this task.
        published: What others have reported; in the same units.
        protocol: One sentence: what is counted and what was chosen how.
        seeds: Empty where nothing depends on one.
        digits: After the point.
        columns: Metrics that are printed; all where empty.
        more: Further facts for programs.
    """

    task: str
    data: str
    size: Mapping[str, int]
    bundle: str
    protocol: str
    rows: Mapping[str, Figures]
    main: str
    published: Published = field(default_factory=dict)
    seeds: Sequence[int] = ()
    digits: int = 3
    columns: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """One object."""
        return {
            "task": self.task,
            "data": self.data,
            **self.size,
            "bundle": self.bundle,
            **self.more,
            "protocol": self.protocol,
            "seeds": list(self.seeds),
            "metrics": _plain(self.rows[self.main]),
            "rows": {name: _plain(figures) for name, figures in self.rows.items()},
            "published": {name: dict(figures) for name, figures in self.published.items()},
        }

    def render(self) -> str:
        """The table as text."""
        columns = self.columns or list(dict.fromkeys(m for figures in self.rows.values() for m in figures))
        names = [*self.rows, *(f"{name} (published)" for name in self.published)]
        cells = [[self._cell(figures.get(m)) for m in columns] for figures in self.rows.values()]
        cells += [[self._cell(figures.get(m)) for m in columns] for figures in self.published.values()]
        heads = [m.upper() if len(m) <= 5 else m for m in columns]
        widths = [max(len(head), *(len(row[i]) for row in cells)) for i, head in enumerate(heads)]
        width = max(map(len, names))
        size = ", ".join(f"{number:,} {noun}" for noun, number in self.size.items())
        lines = [f"{self.data}: {size}", f"Encoder: {self.bundle}", f"Protocol: {self.protocol}", ""]
        for name, row in zip(["", *names], [heads, *cells], strict=True):
            shown = "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
            lines.append(f"{name:{width}}  {shown}".rstrip())
        return "\n".join(lines)

    def _cell(self, value: Figure | float | None) -> str:
        """``0.434 ± 0.012``; the spread where there is one, or seeds to spread over."""
        spread = ""
        if isinstance(value, Figure):
            if value.mean is not None and (value.spread or len(self.seeds) > 1):
                spread = f" ± {value.spread:.{self.digits}f}"
            value = value.mean
        return "-" if value is None else f"{value:.{self.digits}f}{spread}"


def _plain(figures: Figures) -> dict[str, dict[str, float | None]]:
    return {metric: figure.as_json() for metric, figure in figures.items()}


def known(path: Path, tables: Mapping[str, Mapping[str, T]]) -> Mapping[str, T]:
    """What is published for a file: the first of `tables` whose key is a part of the file's name."""
    name = path.name.lower()
    return next((rows for word, rows in tables.items() if word in name), {})
