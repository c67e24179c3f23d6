"""Starts worker processes, starts those again that died, and stops them gracefully.

Whether the workers of this container may be at work: ``python -m workers.supervisor`` exits with 0. For health checks.

A worker that waits for a broker or a catalog that is away is not ill: it goes on by itself. So this asks whether the
supervisor's processes are there, and not whether they have anything to do.
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
POLL_INTERVAL_S = 0.2  # seconds
HEALTHY = 30.0  # seconds that a process must have lived for the next one to be started at once
FIRST_PAUSE = (
    0.5  # seconds before a process that died soon after its start is started anew; then twice as long
)
MAX_PAUSE_S = 30.0  # seconds before a process that dies again and again is started anew
AT_ONCE = 2.0  # seconds in which a process ends that has nothing in hand
FIRST_END = "Stops when what is in hand is finished. Ctrl-C again: it is given back, and done later."
SECOND_END = "Gives back what is in hand."

logger = get_logger(__name__)


@dataclass
class _Slot:
    """A process that is to be there."""

    process: WorkerProcess
    running: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.0  # seconds before it may start
    ended: float = field(default=-1e9)


class Supervisor:
    """Keeps processes running until it is told to stop.

    Args:
        settings: INDEXER_… for all of them, where the environment does not say so already.
        command: What starts one; queue and name are added.
        say: Told what is waited for, once the end has come.
    """

    def __init__(
        self,
        processes: Sequence[WorkerProcess],
        settings: Mapping[str, str],
        *,
        command: Sequence[str] = COMMAND,
        say: Callable[[str], object] = lambda sentence: None,
    ) -> None:
        self._places = [_Slot(process) for process in processes]
        self._settings = settings
        self._command = command
        self._say = say
        self._stop = threading.Event()
        self._signals = 0

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, and then until the processes have finished what they have in hand.

        A second signal does not wait: what is in hand is given back.
        """
        before = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            while not self._stop.wait(POLL_INTERVAL_S):
                for place in self._places:
                    self._look_after(place)
            self._end()
        finally:
            for place in self._places:
                if place.running is not None:
                    with suppress(ProcessLookupError):
                        place.running.kill()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        self._signals += 1
        self._stop.set()

    def _look_after(self, place: _Slot) -> None:
        if place.running is not None and place.running.poll() is not None:
            self._note_end(place)
        if place.running is None and time.monotonic() - place.ended >= place.pause:
            self._start(place)

    def _start(self, place: _Slot) -> None:
        process = place.process
        environment = {**os.environ, **self._settings, **process.environment}
        place.running = subprocess.Popen(
            [*self._command, process.queue, process.name],
            env=environment,
            start_new_session=True,  # Ctrl-C is for us, and we tell them once
        )
        place.started = time.monotonic()

    def _note_end(self, place: _Slot) -> None:
        code = place.running.returncode if place.running else 0
        lived = time.monotonic() - place.started
        place.running, place.ended = None, time.monotonic()
        place.pause = 0.0 if lived > HEALTHY else min(max(FIRST_PAUSE, 2 * place.pause), MAX_PAUSE_S)
        logger.error(
            "worker_ended", name=place.process.name, status=code, lived=round(lived, 1), again_in=place.pause
        )

    def _end(self) -> None:
        """Tell every process to stop, and wait for it."""
        told = 0
        start, said = time.monotonic(), ""
        while running := self._running():
            if told < self._signals:
                self._say(FIRST_END if self._signals == 1 else SECOND_END)
                for process in running.values():
                    with suppress(ProcessLookupError):
                        process.send_signal(signal.SIGTERM if self._signals == 1 else signal.SIGQUIT)
                told = self._signals
            waits = f"Waits for {', '.join(running)}."
            if waits != said and time.monotonic() - start > AT_ONCE:  # who is idle has gone by then
                self._say(waits)
                said = waits
            time.sleep(POLL_INTERVAL_S)

    def _running(self) -> dict[str, subprocess.Popen[bytes]]:
        """Those that have not ended, by name."""
        there = {place.process.name: place.running for place in self._places if place.running is not None}
        return {name: process for name, process in there.items() if process.poll() is None}


def working(processes: Path = Path("/proc")) -> int:
    """How many worker processes there are."""
    lines = (_command(folder) for folder in processes.iterdir() if folder.name.isdecimal())
    return sum("workers.process" in line for line in lines)


def _command(folder: Path) -> list[str]:
    try:
        return (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:  # it has ended meanwhile
        return []


if __name__ == "__main__":
    sys.exit(0 if working() else 1)
