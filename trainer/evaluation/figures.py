"""A figure with its spread: how far it would move with another seed, or with other topics, documents or queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """Mean and standard deviation of a figure that was measured several times, with another seed each."""
    return Figure(float(np.mean(values)), float(np.std(values))) if values else Figure(None)


def bootstrapped(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED) -> Figure:
    """The mean of `values`; the spread is its standard deviation when as many are drawn again with replacement.

    NaN, a value that could not be measured, is left out.

    Source: Efron 1979, Bootstrap methods: another look at the jackknife.
    """
    known = np.array([value for value in values if not math.isnan(value)])
    if not len(known):
        return Figure(None)
    return resampled(len(known), lambda rows: float(known[rows].mean()), resamples=resamples, seed=seed)


def resampled(
    size: int,
    measure: Callable[[NDArray[np.intp]], float],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Figure:
    """The same for any figure that is measured on `size` rows: `measure` gets int [size], the rows to measure it on."""
    random = np.random.default_rng(seed)
    drawn = [measure(random.integers(0, size, size)) for _ in range(resamples)]
    spread = float(np.std(drawn)) if min(drawn) < max(drawn) else 0.0  # not the rounding error of equal ones
    return Figure(measure(np.arange(size)), spread)
