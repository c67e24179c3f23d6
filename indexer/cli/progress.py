"""Progress: a bar on a terminal, lines in a log. Imports rich: import it inside commands."""

from __future__ import annotations

import threading
import time
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

DRAW_AFTER_S = 0.7  # shorter work draws no bar
LINE_INTERVAL_S = 60.0  # between two lines of one stage
QUIET_S = 30.0  # shorter work has no lines
POLL_INTERVAL_S = 1.0

NAMES = {
    "read": "Reading",
    "load": "Loading the encoder",
    "measure": "Measuring which backend is fastest here, once",
    "mine": "Finding phrases",
    "duplicates": "Comparing documents",
    "fit topics": "Finding topics",
    "assign": "Choosing keyphrases",
    "consolidate": "Counting phrases",
    "name topics": "Asking for names of topics",
    "compact": "Freeing disk space",
    "write back": "Writing to your index",
    "take back": "Removing from your index",
    "copy": "Copying recent changes",
    "evaluate": "Evaluating",
    "tag": "Finding training phrases",
    "prepare": "Preparing pseudo-labels",
    "encode": "Encoding",
    "train": "Training",
    "train joint": "Training to rank and to generate",
    "train present": "Training on present keyphrases",
    "train absent": "Training on absent keyphrases",
    "align": "Aligning document vectors",
    "probe": "Selecting held-out texts",
    "judge": "Comparing encoders",
    "wait": "Waiting for a running index",
}


class _Position(ProgressColumn):
    """Shows ``128/600  14.2/s  0:33 left``, as far as it is known."""

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


class ProgressBar:
    """Implements `indexer.protocols.Progress`: one bar with the current stage, drawn after `DRAW_AFTER_S`.

    Use it in a `with` block.
    """

    def __init__(self) -> None:
        self._state: tuple[str, int, int | None] | None = None  # the last report
        self._progress: Progress | None = None
        self._stage = ""
        self._task = TaskID(0)
        self._lock = threading.Lock()
        self._timer = threading.Timer(DRAW_AFTER_S, self._begin)
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
        # An estimate may be too low: the total grows with the work.
        self._progress.update(
            self._task, description=name, completed=done, total=max(total, done) if total else None
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        _Position(),
        console=Console(stderr=True),
        transient=True,
    )


class ProgressLines:
    """Implements `indexer.protocols.Progress`: a line when a stage begins, and each minute that it lasts.

    A thread repeats the line of a stage that reports no progress. Use it in a `with` block.

    Args:
        quiet: Seconds at the beginning that have no lines: cron mails whatever a command prints.
    """

    def __init__(self, quiet: float = 0.0) -> None:
        self._stage = ""
        self._line = ""  # the last line
        self._first = self._next = time.monotonic() + quiet
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._repeat, name="lines", daemon=True).start()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        name, _, more = stage.partition(": ")
        if name == "note":
            click.echo(more, err=True)
            return
        position = f"{done:,} of {total:,}" if total else f"{done:,}" if done else ""
        with self._lock:
            self._line = ", ".join(part for part in (named(name), position, more) if part)
            now = time.monotonic()
            if now >= self._next or (now >= self._first and name != self._stage):
                self._print()
            self._stage = name

    def _print(self) -> None:
        self._next = time.monotonic() + LINE_INTERVAL_S
        click.echo(f"{time.strftime('%H:%M:%S')} {self._line}", err=True)

    def _repeat(self) -> None:
        while not self._closed.wait(POLL_INTERVAL_S):
            with self._lock:
                if self._line and time.monotonic() >= self._next:
                    self._print()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()


def named(stage: str) -> str:
    """Return the name of a stage for people."""
    return NAMES.get(stage, stage.capitalize())
