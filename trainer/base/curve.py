"""The course of a training as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SMOOTHED = 25  # steps of the moving mean

Point = Mapping[str, float | None]  # step, loss, seconds, score (None when not measured)


def draw(steps: Sequence[Point], path: Path) -> None:
    """Loss (dots, and its moving mean) and dev score over the steps, as PNG or whatever the name ends in."""
    draw_all({"": steps}, path)


def draw_all(curves: Mapping[str, Sequence[Point]], path: Path) -> None:
    """Several trainings, two in a row, under their names."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    columns = min(2, len(curves))
    rows = -(-len(curves) // columns)
    figure, places = plt.subplots(
        rows, columns, figsize=(8 * columns, 4.5 * rows), layout="constrained", squeeze=False
    )
    for axes in places.flat[len(curves) :]:
        axes.set_axis_off()
    for axes, (name, steps) in zip(places.flat, curves.items(), strict=False):
        axes.set_title(name)
        right = _panel(axes, steps)
    handles = [
        line for one in (axes, right) for line in one.get_lines() if not line.get_label().startswith("_")
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=120 // columns)
    plt.close(figure)


def _panel(axes: Any, steps: Sequence[Point]) -> Any:
    """One training; returns the axes of its dev score."""
    number = np.array([step["step"] for step in steps], float)
    loss = np.array([step["loss"] for step in steps], float)
    scored = [(step["step"], step["score"]) for step in steps if step["score"] is not None]
    axes.plot(number, loss, ".", markersize=2, color="tab:blue", alpha=0.4)
    width = min(SMOOTHED, len(loss))
    mean = np.convolve(loss, np.ones(width) / width, "valid")
    axes.plot(number[width - 1 :], mean, color="tab:blue", label="loss, moving mean")
    axes.set(xlabel="step", ylabel="loss")
    right = axes.twinx()
    right.plot(*zip(*scored, strict=True), "o-", color="tab:orange", label="dev score")
    right.set(ylabel="dev score, on what is held back", ylim=(0, 1))
    return right
