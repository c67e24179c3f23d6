"""Processes that a run starts for tagging and parsing. They are spawned, and end with the process that started them."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

POLL_INTERVAL_S = 1.0  # seconds between two looks at whether the parent still lives


@contextmanager
def main_left_alone() -> Iterator[None]:
    """Keep spawned workers from running the caller's script.

    Spawning imports the main module again in the child; a script of a few lines without a
    `if __name__ == "__main__":` would index again in there, and so on. Our workers need nothing of it.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        with _ctrl_c_later():
            yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block. A child that is born in it is not torn from its imports by one."""
    pressed: list[int] = []
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = (
        signal.signal(signal.SIGINT, lambda number, _: pressed.append(number)) if in_main_thread else None
    )
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # children inherit it, but no handler
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if in_main_thread:
            signal.signal(signal.SIGINT, handler)
        if pressed:
            signal.raise_signal(signal.SIGINT)


def end_with_parent(parent: int) -> None:
    """Make this freshly spawned process end when its parent does, and not by Ctrl-C, which is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


@contextmanager
def killed_after(seconds: float) -> Iterator[None]:
    """Have the kernel end this process when the block takes longer: no thread of it may get a turn until then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def limit_memory(most: int) -> None:
    """Let requests for more than `most` bytes of memory fail with a `MemoryError` in this process, on Linux.

    The data segment is limited, not the address space: of that, CUDA reserves far more than it uses.
    """
    with suppress(ValueError, OSError):  # the limit of the whole program may be lower
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _watch(parent: int) -> None:
    """Exit when the parent is gone: after a SIGKILL no process is left to end the pool.

    Not prctl(PR_SET_PDEATHSIG): that fires when the parent's *thread* ends, and pools are filled by threads.
    """
    while os.getppid() == parent:
        time.sleep(POLL_INTERVAL_S)
    os._exit(1)
