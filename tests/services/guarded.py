"""A server program that ends when the tests do, however they end; it can be stopped and started again on its port."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from services.ports import free_port, listens, wait_until

GUARD = Path(__file__).parent / "guard.py"
STARTED_WITHIN = 60  # seconds


class Guarded:
    """One server on one port, with a folder that stays when it is stopped.

    Args:
        command: Makes the command line from folder and port.
        user: Name of the user to run it as, who owns the folder then; "" means ours.
        answers: Whether the server on a port is ready.
        stop_signal: What makes it stop without waiting for its clients.
    """

    def __init__(
        self,
        name: str,
        command: Callable[[Path, int], list[str]],
        *,
        user: str = "",
        answers: Callable[[int], bool] = listens,
        stop_signal: int = signal.SIGTERM,
    ) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"indexer-{name}-"))
        self._name = name
        self._command = command
        self._user = _ids(user)
        self._answers = answers
        self._stop_signal = stop_signal
        self._guard: subprocess.Popen[bytes] | None = None
        if user:
            shutil.chown(self.folder, user)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        folder = Path(tempfile.mkdtemp(prefix=f"indexer-{self._name}-run-"))  # the guard removes it
        if self._user[0]:
            shutil.chown(folder, int(self._user[0]), int(self._user[1]))
        with (self.folder / "output").open("ab") as output:
            self._guard = subprocess.Popen(
                [sys.executable, str(GUARD), str(folder), *self._user, *self._command(self.folder, self.port)],
                stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
                env={**os.environ, "STOP_SIGNAL": str(int(self._stop_signal))},
            )  # fmt: skip
        try:
            wait_until(lambda: self._answers(self.port), STARTED_WITHIN, f"the start of {self._name}")
        except TimeoutError as error:
            said = (self.folder / "output").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{error}\n{said}") from error

    def stop(self) -> None:
        """Stop it; what it has on disk stays."""
        if self._guard is not None:
            self._guard.communicate()  # its input ends, and it ends the server
            self._guard = None

    def remove(self) -> None:
        """Stop it, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _ids(user: str) -> tuple[str, str]:
    if not user:
        return "", ""
    import pwd

    entry: Any = pwd.getpwnam(user)
    return str(entry.pw_uid), str(entry.pw_gid)
