"""Figures with their spread, in a table with published ones: one object for programs, one text for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.evaluation.published import Published

SEED = 20220227
RESAMPLES = 1_000


@dataclass(frozen=True)
class Figure:
    """A mean, and its standard deviation over repetitions; 0 where there is nothing to repeat.

    `mean` is None where nothing could be measured.
    """

    mean: float | None
    spread: float = 0.0

    def as_json(self) -> dict[str, float | None]:
        return {"mean": None if self.mean is None else round(self.mean, 4), "spread": round(self.spread, 4)}

    def __str__(self) -> str:
        if self.mean is None:
            return "-"
        return f"{self.mean:.3f} ± {self.spread:.3f}" if self.spread else f"{self.mean:.3f}"


def repeated(values: Sequence[float]) -> Figure:
    """Mean and standard deviation of repeated measurements, each with another seed."""
    return Figure(float(np.mean(values)), float(np.std(values))) if values else Figure(None)


def bootstrapped(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED) -> Figure:
    """The mean of `values`; the spread is its standard deviation over resamples with replacement.

    NaN, a missing value, is left out.

    Source: Efron 1979, Bootstrap methods: another look at the jackknife.
    """
    known = np.array([value for value in values if not math.isnan(value)])
    if not len(known):
        return Figure(None)
    return resampled(len(known), lambda rows: float(known[rows].mean()), resamples=resamples, seed=seed)


def resampled(
    size: int, measure: Callable[[NDArray[np.intp]], float], *, resamples: int = RESAMPLES, seed: int = SEED
) -> Figure:
    """The bootstrap of a figure that is measured on `size` rows: `measure` gets int [size], the rows to measure it on."""
    random = np.random.default_rng(seed)
    drawn = [measure(random.integers(0, size, size)) for _ in range(resamples)]
    spread = float(np.std(drawn)) if min(drawn) < max(drawn) else 0.0  # no rounding error of equal figures
    return Figure(measure(np.arange(size)), spread)


Figures = Mapping[str, Figure]  # metric ► figure


@dataclass(frozen=True)
class Table:
    """The figures of one file.

    Attributes:
        task: Name of the command.
        size: Counts of the file, e.g. ``{"mentions": 3890, "labels": 6}``.
        rows: Name of a method ► its figures, measured here.
        main: The row whose figures are the metrics of this task.
        published: Figures that others have reported, in the same units.
        published_set: The data set that they are of.
        protocol: One sentence: how figures are counted and choices were made.
        seeds: Empty where nothing depends on one.
        digits: After the decimal point.
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
    published_set: str = ""
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
            "metrics": _as_json(self.rows[self.main]),
            "rows": {name: _as_json(figures) for name, figures in self.rows.items()},
            "published": {name: dict(figures) for name, figures in self.published.items()},
            "published_set": self.published_set,
        }

    def render(self) -> str:
        """The table as text."""
        columns = self.columns or list(dict.fromkeys(m for figures in self.rows.values() for m in figures))
        names = [*self.rows, *(f"{name} (published for {self.published_set})" for name in self.published)]
        cells = [[self._cell(figures.get(m)) for m in columns] for figures in self.rows.values()]
        cells += [[self._cell(figures.get(m)) for m in columns] for figures in self.published.values()]
        heads = [m.upper() if len(m) <= 5 else m for m in columns]
        widths = [max(len(head), *(len(row[i]) for row in cells)) for i, head in enumerate(heads)]
        width = max(map(len, names))
        size = ", ".join(f"{number:,} {noun}" for noun, number in self.size.items())
        lines = [f"{self.data}: {size}", f"Encoder: {self.bundle}", f"Protocol: {self.protocol}", ""]
        for name, row in zip(["", *names], [heads, *cells], strict=True):
            line = "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
            lines.append(f"{name:{width}}  {line}".rstrip())
        return "\n".join(lines)

    def _cell(self, value: Figure | float | None) -> str:
        """``0.434 ± 0.012``; the spread where there is one, or seeds to spread over."""
        spread = ""
        if isinstance(value, Figure):
            if value.mean is not None and (value.spread or len(self.seeds) > 1):
                spread = f" ± {value.spread:.{self.digits}f}"
            value = value.mean
        return "-" if value is None else f"{value:.{self.digits}f}{spread}"


def _as_json(figures: Figures) -> dict[str, dict[str, float | None]]:
    return {metric: figure.as_json() for metric, figure in figures.items()}
