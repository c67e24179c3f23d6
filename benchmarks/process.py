"""Run one program in a separate process; measure its time and memory from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent
POLL_INTERVAL_S = 0.05  # seconds between two looks at the memory
THREAD_SETTINGS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS",
    "INDEXER_THREADS",
)  # fmt: skip


@dataclass(frozen=True)
class Conditions:
    """What is the same for all programs."""

    threads: int
    gpu: bool = False

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("INDEXER_")}
        return {
            **inherited,
            **dict.fromkeys(THREAD_SETTINGS, str(self.threads)),
            **({} if self.gpu else {"CUDA_VISIBLE_DEVICES": ""}),
            "HF_HUB_OFFLINE": "1",
        }


@dataclass(frozen=True)
class Measured:
    """One run of one program.

    Attributes:
        seconds: From the start of the process to its end: Python, imports, loading the model, everything.
        megabytes: Most memory of the process and its children together (resident; shared pages count in each).
        unmapped: The same without pages of mapped files, which the system takes back when it needs them (Linux).
        answer: What the program printed: `work`, its own seconds without imports and loading, and results.
    """

    seconds: float
    megabytes: float
    unmapped: float
    answer: dict[str, Any]

    @property
    def work(self) -> float:
        return float(self.answer["work"])


def run(program: str, *arguments: object, conditions: Conditions) -> Measured:
    """Run ``python -m benchmarks.programs.<program>``; the last line it prints is its answer, as JSON."""
    command = [sys.executable, "-m", f"benchmarks.programs.{program}", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        with subprocess.Popen(
            command, cwd=ROOT, env=conditions.environment(), stdout=out, stderr=err
        ) as process:
            megabytes, unmapped = watch(process)
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{err.read()[-3000:]}")
        return Measured(seconds, megabytes, unmapped, json.loads(out.read().strip().splitlines()[-1]))


def watch(process: subprocess.Popen[Any]) -> tuple[float, float]:
    """Most memory of a process and its children until its end, in MB: all of it, and without mapped files."""
    most, most_unmapped = 0, 0
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        with suppress(psutil.Error):
            found = [_resident(one) for one in [watched, *watched.children(recursive=True)]]
            most = max(most, sum(resident for resident, _ in found))
            most_unmapped = max(most_unmapped, sum(resident - mapped for resident, mapped in found))
        time.sleep(POLL_INTERVAL_S)
    return most / 1e6, most_unmapped / 1e6


def _resident(process: psutil.Process) -> tuple[int, int]:
    """Bytes in memory, and those of them that are pages of files."""
    try:
        memory = process.memory_info()
    except psutil.Error:  # it has just ended
        return 0, 0
    return int(memory.rss), int(getattr(memory, "shared", 0))
