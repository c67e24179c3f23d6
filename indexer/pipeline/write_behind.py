"""Writing in a thread while the caller reads and computes what is written next: so that none waits for the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType


class WriteBehind:
    """Runs writes in order, one at a time; while one runs, the caller prepares the next. All are done at the block's end.

    An error of a write is raised by the next call, or at the end of the block.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._running: Future[object] | None = None

    def __call__(self, write: Callable[[], object]) -> None:
        """Wait for the write before, and begin this one."""
        self._wait()
        self._running = self._thread.submit(write)

    def __enter__(self) -> WriteBehind:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._wait()
        finally:
            self._thread.shutdown()

    def _wait(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.result()
