"""Starts worker processes, restarts those that died, and stops them gracefully.

For health checks: ``python -m workers.supervisor`` exits with 0 while worker processes run in this container. A worker
that waits for a broker or a catalog is healthy: it resumes without help. So the check counts processes, not work.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from indexer.log import get_logger
from workers.queues import WorkerProcess

COMMAND = (sys.executable, "-m", "workers.process")
POLL_INTERVAL_S = 0.2
HEALTHY = 30.0  # seconds of life after which a process is restarted at once
FIRST_PAUSE = 0.5  # seconds before a process that died soon after its start is restarted; doubled each time
MAX_PAUSE_S = 30.0
IDLE_END_S = 2.0  # seconds in which an idle process ends
FIRST_END = "Stops when the current work is finished. Ctrl-C again: it is released, and done later."
SECOND_END = "Releases the current work."

logger = get_logger(__name__)


@dataclass
class _Slot:
    """A process that must be running."""

    process: WorkerProcess
    running: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.0  # seconds before it may start
    ended: float = field(default=-1e9)


class Supervisor:
    """Keeps processes running until a signal stops it.

    Args:
        settings: INDEXER_… variables for all processes.
        command: Starts a process; queue and name are added.
        say: Called with sentences about the shutdown.
    """

    def __init__(
        self,
        processes: Sequence[WorkerProcess],
        settings: Mapping[str, str],
        *,
        command: Sequence[str] = COMMAND,
        say: Callable[[str], object] = lambda sentence: None,
    ) -> None:
        self._slots = [_Slot(process) for process in processes]
        self._settings = settings
        self._command = command
        self._say = say
        self._stop = threading.Event()
        self._signals = 0

    def run(self) -> None:
        """Supervise until SIGTERM or SIGINT, and then until the processes have finished their current work.

        A second signal does not wait: the current work is released.
        """
        before = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            while not self._stop.wait(POLL_INTERVAL_S):
                for slot in self._slots:
                    self._supervise(slot)
            self._end()
        finally:
            for slot in self._slots:
                if slot.running is not None:
                    with suppress(ProcessLookupError):
                        slot.running.kill()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        self._signals += 1
        self._stop.set()

    def _supervise(self, slot: _Slot) -> None:
        if slot.running is not None and slot.running.poll() is not None:
            self._note_end(slot)
        if slot.running is None and time.monotonic() - slot.ended >= slot.pause:
            self._start(slot)

    def _start(self, slot: _Slot) -> None:
        process = slot.process
        environment = {**os.environ, **self._settings, **process.environment}
        slot.running = subprocess.Popen(
            [*self._command, process.queue, process.name],
            env=environment,
            start_new_session=True,  # Ctrl-C reaches this process alone, which signals them once
        )
        slot.started = time.monotonic()

    def _note_end(self, slot: _Slot) -> None:
        code = slot.running.returncode if slot.running else 0
        lived = time.monotonic() - slot.started
        slot.running, slot.ended = None, time.monotonic()
        slot.pause = 0.0 if lived > HEALTHY else min(max(FIRST_PAUSE, 2 * slot.pause), MAX_PAUSE_S)
        logger.error(
            "worker_ended", name=slot.process.name, status=code, lived=round(lived, 1), again_in=slot.pause
        )

    def _end(self) -> None:
        """Signal every process to stop, and wait for it."""
        handled = 0
        start, reported = time.monotonic(), ""
        while running := self._running():
            if handled < self._signals:
                self._say(FIRST_END if self._signals == 1 else SECOND_END)
                for process in running.values():
                    with suppress(ProcessLookupError):
                        process.send_signal(signal.SIGTERM if self._signals == 1 else signal.SIGQUIT)
                handled = self._signals
            waiting = f"Waits for {', '.join(running)}."
            if waiting != reported and time.monotonic() - start > IDLE_END_S:
                self._say(waiting)
                reported = waiting
            time.sleep(POLL_INTERVAL_S)

    def _running(self) -> dict[str, subprocess.Popen[bytes]]:
        """Processes that have not ended, by name."""
        started = {slot.process.name: slot.running for slot in self._slots if slot.running is not None}
        return {name: process for name, process in started.items() if process.poll() is None}


def working(processes: Path = Path("/proc")) -> int:
    """Return the number of worker processes."""
    lines = (_command(folder) for folder in processes.iterdir() if folder.name.isdecimal())
    return sum("workers.process" in line for line in lines)


def _command(folder: Path) -> list[str]:
    try:
        return (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:  # it has ended
        return []


if __name__ == "__main__":
    sys.exit(0 if working() else 1)
