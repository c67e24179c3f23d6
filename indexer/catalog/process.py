"""Which process is this, and is that one still alive?

A pid alone is not enough: after a reboot or a long time another program has it. So a process is known by
host, boot and time of birth as well, where the system tells them (Linux does).
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    host: str
    boot: str  # "" where unknown
    birth: str  # ticks since boot; "" where unknown

    def is_dead(self) -> bool:
        """True when it certainly does not run any more. False when it does, or on another host: who knows."""
        if self.pid <= 0 or self.host != socket.gethostname():
            return False
        if self.boot and _boot() and self.boot != _boot():
            return True
        if not _exists(self.pid):
            return True
        birth = _birth(self.pid)
        return bool(self.birth and birth and self.birth != birth)


def this_process() -> Process:
    pid = os.getpid()
    return Process(pid, socket.gethostname(), _boot(), _birth(pid))


@cache
def _boot() -> str:
    return _read("/proc/sys/kernel/random/boot_id").strip()


def _birth(pid: int) -> str:
    stat = _read(f"/proc/{pid}/stat")
    # The second field is the program's name in brackets and may hold anything; the time of birth is field 22.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _exists(pid: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 is Ctrl-C there; the time limit of the lock must do
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, but somebody else's
        return True
    return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
