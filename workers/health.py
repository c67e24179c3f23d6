"""Whether the workers of this container may be at work: ``python -m workers.health`` exits with 0. For health checks.

A worker that waits for a broker or a catalog that is away is not ill: it goes on by itself. So this asks whether the
supervisor's processes are there, and not whether they have anything to do.
"""

from __future__ import annotations

import sys
from pathlib import Path


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
