"""What this machine has: cores that this process may use, and the name of the processor."""

from __future__ import annotations

import os
import platform
import shutil
from functools import cache
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
CPUINFO = Path("/proc/cpuinfo")
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
    """The processor and what decides the speed of an encoder on it, e.g. ``Intel(R) Xeon(R) (6 207 avx512_vnni)``."""
    facts = _cpuinfo()
    flags = cpu_flags()
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
    name = facts.get("model name") or platform.processor() or platform.machine()
    # The name alone does not tell: hypervisors call very different processors by the same one.
    marks = [
        facts.get("cpu family", ""),
        facts.get("model", ""),
        *(flag for flag in telling if flag in flags),
    ]
    return f"{name} ({' '.join(mark for mark in marks if mark)})"


def cpu_flags() -> frozenset[str]:
    """Instruction sets as Linux names them; empty where it is not known."""
    facts = _cpuinfo()
    return frozenset((facts.get("flags") or facts.get("Features") or "").split())


def multiplies_int8_exactly() -> bool:
    """Whether products of 8-bit numbers are summed in 32 bits.

    x86 without VNNI sums pairs of them in 16 bits first, which overflow. Where nothing is known, assume that.
    """
    x86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")
    return not x86 or bool({"avx512_vnni", "avx_vnni", "amx_int8"} & cpu_flags())


def multiplies_bfloat16() -> bool:
    """Whether there are units that make bfloat16 faster than float32. (AVX-512's instructions alone do not.)"""
    return bool({"amx_bf16", "bf16"} & cpu_flags())


def has_gpu() -> bool:
    """Whether an NVIDIA driver is there. torch would know for sure, and takes seconds to import."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


@cache
def _cpuinfo() -> dict[str, str]:
    """What Linux says about the first CPU; empty elsewhere."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}
