"""Runs a server until our input ends, then stops it and removes its folder: ``guard.py FOLDER USER GROUP COMMAND…``

The input ends when the process that started us does, even when that is killed at once: no server is left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress

STOPPED_WITHIN = 30  # seconds


def main(folder: str, user: str, group: str, *command: str) -> int:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to everybody; the tests' process ends our input
    other = {"user": int(user), "group": int(group), "extra_groups": []} if user else {}
    server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, start_new_session=True, **other)
    threading.Thread(target=_stop_with_input, args=(server,), daemon=True).start()
    server.wait()
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)  # what may have outlived its launcher
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _stop_with_input(server: subprocess.Popen[bytes]) -> None:
    sys.stdin.read()
    for number in (int(os.environ.get("STOP_SIGNAL", signal.SIGTERM)), signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(server.pid, number)
            server.wait(STOPPED_WITHIN)
            return


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
