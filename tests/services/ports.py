"""Ports of this machine that nobody uses."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def listens(port: int) -> bool:
    """Whether somebody accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(reached: Callable[[], bool], seconds: float, what: str) -> None:
    """Ask again and again.

    Raises:
        TimeoutError: It did not come true in time.
    """
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:g} seconds.")
        time.sleep(0.05)
