"""Which process is this, and is that one still alive?

A pid alone is not enough: another program may have it by now, another container counts its own, and two
machines may have one name. So a process is also known by host, boot with container, and birth, where the
system tells them (Linux does).
"""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    host: str
    boot: str  # one start of the machine, and the container in it; "" where unknown
    birth: str  # ticks since boot; "" where unknown

    def is_dead(self) -> bool:
        """True only when it is certain. A process of another boot may live on a machine of the same name."""
        if self.pid <= 0 or self.host != socket.gethostname() or self.boot != _boot():
            return False
        return not _exists(self.pid) or self.birth != _birth(self.pid)

    def is_probably_dead(self) -> bool:
        """Also true for a process of this host from before the last start of the machine."""
        rebooted = self.boot.split()[:1] != _boot().split()[:1]
        return self.is_dead() or (self.pid > 0 and self.host == socket.gethostname() and rebooted)


def this_process() -> Process:
    pid = os.getpid()
    return Process(pid, socket.gethostname(), _boot(), _birth(pid))


def this_user() -> str:
    """USER@HOST, for people who ask later who did it."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number that has no name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _boot() -> str:
    try:
        return f"{_read('/proc/sys/kernel/random/boot_id').strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


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
