"""The queues, and the number of processes for each.

Every process is a fresh interpreter with Celery's `solo` pool: one batch at a time, models loaded once, nothing forked.
So a CUDA context never crosses a fork, a document that crashes its process affects no other batch, and `--concurrency` is
the number of processes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from indexer.settings import Settings

Queue = Literal["prepare", "encode", "maintain", "train"]
QUEUES: tuple[Queue, ...] = get_args(Queue)
STARTED_BY_DEFAULT: tuple[Queue, ...] = ("prepare", "encode", "maintain")


@dataclass(frozen=True)
class WorkerProcess:
    """One process to start: its queue, and the variables that are added to the environment."""

    queue: Queue
    number: int  # from 1, within the queue
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.queue}-{self.number}"


def name_of(queue: Queue, settings: Settings) -> str:
    """Return the name of a queue in the broker, which may serve several installations."""
    return f"{settings.index_prefix}.{queue}"


def processes(
    queues: Sequence[Queue], concurrency: int | None, threads: int, gpus: Sequence[str]
) -> list[WorkerProcess]:
    """Return the processes to start for these queues.

    Args:
        concurrency: Processes for each queue; None: one, and for `encode` one for each GPU, or else two: while one waits
            for the engine to write, the other encodes. There is only one for `maintain`.
        threads: CPU threads of this machine; encoding processes share them.
        gpus: Their names as CUDA_VISIBLE_DEVICES has them. Each encoding process sees one of them.
    """
    found: list[WorkerProcess] = []
    usual = {"encode": len(gpus) or min(2, threads)}
    for queue in queues:
        number = 1 if queue == "maintain" else concurrency or usual.get(queue, 1)
        for at in range(number):
            environment = _share(at, number, threads, gpus) if queue == "encode" else {}
            found.append(WorkerProcess(queue, at + 1, environment))
    return found


def _share(at: int, number: int, threads: int, gpus: Sequence[str]) -> dict[str, str]:
    if gpus:
        return {"CUDA_VISIBLE_DEVICES": gpus[at % len(gpus)]}
    return {"INDEXER_THREADS": str(max(1, threads // number))} if number > 1 else {}


def gpus() -> list[str]:
    """The GPUs that this process may use, found without torch, which takes seconds to load."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    done = subprocess.run([program, "-L"], capture_output=True, text=True)
    listed = [line for line in done.stdout.splitlines() if line.startswith("GPU ")]
    return [str(at) for at in range(len(listed))] if done.returncode == 0 else []
