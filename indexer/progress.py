"""How long work says how far it is."""

from __future__ import annotations

from typing import Protocol


class Paused(Exception):
    """Raised by who is told of progress: stop here. The same call goes on with what is written down."""


class Progress(Protocol):
    """Is told how far a stage is; `total` is None when nobody knows. ``stage: more`` adds what changes as it goes on.

    ``note: sentence`` is no stage, but something that is to be said once.
    """

    def __call__(self, stage: str, done: int, total: int | None) -> None: ...


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Say nothing."""
