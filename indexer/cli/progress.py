"""Progress: a bar on a terminal, lines in a log. Imports rich: import it inside commands."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Self

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from indexer.protocols import Progress as Listener

PATIENCE = 0.7  # seconds that nobody needs a bar for


class _Far(ProgressColumn):
    """How far: ``128/600  14.2/s  0:33 left``; only what is known."""

    def render(self, task: Task) -> Text:
        parts = []
        if task.total:
            parts.append(f"{task.completed:,.0f}/{task.total:,.0f}")
        elif task.completed:
            parts.append(f"{task.completed:,.0f}")
        if task.speed and task.completed:
            parts.append(f"{task.speed:,.1f}/s")
        if not task.finished and task.completed and task.time_remaining is not None:
            parts.append(f"{timedelta(seconds=round(task.time_remaining))} left")
        return Text("  ".join(parts), style="progress.data.speed")


class Bars:
    """One bar, which shows the stage that is being worked on; drawn once the work has taken a moment."""

    def __init__(self) -> None:
        self._state: tuple[str, int, int | None] | None = None  # the last that was told
        self._progress: Progress | None = None
        self._stage = ""
        self._task = TaskID(0)
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        name, _, note = stage.partition("note: ")
        if note and not name:
            click.echo(note, err=True)  # rich writes it above the bar
            return
        with self._lock:
            self._state = stage, done, total
            self._draw()

    def _begin(self) -> None:
        with self._lock:
            self._progress = _progress()
            self._progress.start()
            self._draw()

    def _draw(self) -> None:
        if self._progress is None or self._state is None:
            return
        stage, done, total = self._state
        stage, _, more = stage.partition(": ")  # "train: loss 1.234" is the stage "train"
        if stage != self._stage:
            if self._stage:
                self._progress.remove_task(self._task)
            self._stage = stage
            self._task = self._progress.add_task("", total=None)
        name = ", ".join(part for part in (named(stage), more) if part)
        # An estimate may be too low: a bar that is over its end says nothing.
        self._progress.update(
            self._task, description=name, completed=done, total=max(total, done) if total else None
        )

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            if self._progress is not None:
                self._progress.stop()


def _progress() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        _Far(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def bars() -> Iterator[Listener]:
    """A bar for the length of a with block."""
    shown = Bars()
    try:
        yield shown
    finally:
        shown.close()


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
    "align": "Aligning document vectors",
    "probe": "Setting texts aside to judge by",
    "judge": "Comparing encoders",
    "wait": "Waiting until nobody indexes",
}


class ProgressLines:
    """Implements `indexer.protocols.Progress`: a line when a stage begins, and each minute that it lasts.

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
