"""Progress as lines, for a log: where no terminal shows a bar."""

from __future__ import annotations

import threading
import time
from typing import Self

import click

EVERY = 60.0  # seconds between two lines of one stage
BEAT = 1.0  # seconds between two looks whether one is due

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
    "tag": "Finding phrases to learn from",
    "prepare": "Preparing lessons",
    "encode": "Encoding",
    "train": "Training",
    "train joint": "Training to rank and to write",
    "train present": "Training for what stands in the text",
    "train absent": "Training for what does not",
    "settle": "Settling document vectors",
    "probe": "Setting texts aside to judge by",
    "judge": "Comparing encoders",
    "wait": "Waiting until nobody indexes",
}


class Lines:
    """Implements `indexer.progress.Progress`: a line when a stage begins, and each minute that it lasts.

    Some stages tell nothing while they last: a thread says that they do. Close it, or use it in a `with` block.
    """

    def __init__(self) -> None:
        self._stage = ""
        self._said = ""  # how far it was when it told last
        self._next = 0.0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._beat, name="lines", daemon=True).start()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        name, _, more = stage.partition(": ")
        if name == "note":
            click.echo(more, err=True)
            return
        far = f"{done:,} of {total:,}" if total else f"{done:,}" if done else ""
        with self._lock:
            self._said = ", ".join(part for part in (named(name), far, more) if part)
            if name != self._stage or time.monotonic() >= self._next:
                self._stage = name
                self._say()

    def _say(self) -> None:
        self._next = time.monotonic() + EVERY
        click.echo(f"{time.strftime('%H:%M:%S')} {self._said}", err=True)

    def _beat(self) -> None:
        while not self._closed.wait(BEAT):
            with self._lock:
                if self._said and time.monotonic() >= self._next:
                    self._say()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()


def named(stage: str) -> str:
    """What people call a stage."""
    return NAMES.get(stage, stage.capitalize())
