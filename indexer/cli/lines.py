"""Progress as lines, for a log: where no terminal shows a bar."""

from __future__ import annotations

import time

import click

EVERY = 60.0  # seconds between two lines of one stage

NAMES = {
    "read": "Reading",
    "load": "Loading the encoder",
    "measure": "Measuring what encodes fastest here, once",
    "mine": "Finding phrases",
    "fit topics": "Finding topics",
    "assign": "Choosing keyphrases",
    "consolidate": "Counting phrases",
    "compact": "Giving space back",
    "write back": "Writing to your index",
    "take back": "Taking back from your index",
    "copy": "Bringing it up to date",
    "evaluate": "Evaluating",
    "prepare": "Preparing lessons",
    "train": "Training",
    "settle": "Settling document vectors",
    "probe": "Setting texts aside to judge by",
    "judge": "Comparing encoders",
    "wait": "Waiting until nobody indexes",
}


class Lines:
    """Implements `indexer.progress.Progress`: a line when a stage begins, and each minute that it lasts."""

    def __init__(self) -> None:
        self._stage = ""
        self._next = 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        name, _, more = stage.partition(": ")
        if name == "note":
            click.echo(more, err=True)
        elif name != self._stage or time.monotonic() >= self._next:
            self._stage, self._next = name, time.monotonic() + EVERY
            far = f"{done:,} of {total:,}" if total else ""
            said = ", ".join(part for part in (named(name), far, more) if part)
            click.echo(f"{time.strftime('%H:%M:%S')} {said}", err=True)


def named(stage: str) -> str:
    """What people call a stage."""
    return NAMES.get(stage, stage.capitalize())
