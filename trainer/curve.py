"""The course of a training as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

SMOOTHED = 25  # steps of the moving mean

Point = Mapping[str, float | None]  # step, loss, seconds, score (None when not measured)


def draw(steps: Sequence[Point], path: Path) -> None:
    """Loss (dots, and its moving mean) and dev score over the steps, as PNG or whatever the name ends in."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    number = np.array([step["step"] for step in steps], float)
    loss = np.array([step["loss"] for step in steps], float)
    scored = [(step["step"], step["score"]) for step in steps if step["score"] is not None]
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axes.plot(number, loss, ".", markersize=2, color="tab:blue", alpha=0.4)
    width = min(SMOOTHED, len(loss))
    mean = np.convolve(loss, np.ones(width) / width, "valid")
    axes.plot(number[width - 1 :], mean, color="tab:blue", label=f"loss, mean of {width} steps")
    axes.set(xlabel="step", ylabel="loss", ylim=(0, None))
    right = axes.twinx()
    right.plot(*zip(*scored, strict=True), "o-", color="tab:orange", label="pairs found, held back")
    right.set(ylabel="share of held-back pairs found", ylim=(0, 1))
    figure.legend(loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=120)
    plt.close(figure)
