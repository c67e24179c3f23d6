"""How long a query may occupy an engine. The engines stop what is not done by then, so that its thread is free again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from indexer.errors import QueryTimeout

_end: ContextVar[tuple[float, float] | None] = ContextVar("end", default=None)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limit the reads of the block to so many seconds, together. A block inside does not extend it.

    Raises:
        QueryTimeout: By a read that was not done.
    """
    if _end.get() is not None:
        yield
        return
    token = _end.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _end.reset(token)


def remaining() -> float | None:
    """Return the seconds that are left, 0 when there are none; None outside of such a block."""
    end = _end.get()
    return None if end is None else max(0.0, end[0] - time.monotonic())


def expired() -> bool:
    """Return whether no time is left."""
    return remaining() == 0


def timeout() -> QueryTimeout:
    """Return the error of a query that took too long."""
    end = _end.get()
    after = f" after {end[1]:g} seconds" if end else ""
    return QueryTimeout(
        f"The query was stopped{after}: it takes too long.",
        hint="Use fewer words that end in *, or fewer conditions; or raise the limit (search_timeout).",
    )
