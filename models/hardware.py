"""What this machine has: cores that this process may use, and the name of the processor."""

from __future__ import annotations

import os
import platform
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def physical_cores() -> int:
    """Physical cores available to this process, at least 1.

    Hyper-threads of one core share its matrix units, so more threads than cores only get in each other's way.
    A container's quota counts too: sixteen threads in two cores' worth of time are stopped most of the time.
    """
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = {_siblings(cpu) for cpu in mine}
    return max(1, min(len(cores), _quota() or len(cores)))


def _siblings(cpu: int) -> str:
    """The hyper-threads of this CPU's core as the kernel lists them, the same text for all of them."""
    try:
        return (CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text(encoding="ascii").strip()
    except OSError:
        return str(cpu)


def _quota() -> int | None:
    """Whole cores of CPU time that the container grants, None when there is no limit."""
    try:
        quota, period = CGROUP_QUOTA.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, int(quota) // int(period))


def cpu_model() -> str:
    """The processor with what decides the speed of an encoder on it, e.g. ``Intel(R) Xeon(R) (avx512_bf16 amx_int8)``."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = set(facts.get("flags", facts.get("Features", "")).split())
    telling = (
        "avx2",
        "avx512f",
        "avx512_vnni",
        "avx512_bf16",
        "amx_bf16",
        "amx_int8",
        "asimddp",
        "i8mm",
        "bf16",
    )
    name = facts.get("model name", platform.machine())
    # The name alone does not tell: hypervisors call very different processors by the same one.
    marks = [
        facts.get("cpu family", ""),
        facts.get("model", ""),
        *(flag for flag in telling if flag in flags),
    ]
    return f"{name} ({' '.join(mark for mark in marks if mark)})"
