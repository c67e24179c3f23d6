"""How many examples are tried by the tests that take any input: a few, or `FUZZ_TIMES` times as many (make fuzz)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

TIMES = int(os.environ.get("FUZZ_TIMES", "1"))


def examples(few: int) -> int:
    return few * TIMES


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail when the block takes longer."""

    def fail(number: int, frame: object) -> None:
        raise AssertionError(f"took more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
