from __future__ import annotations

import os

import pytest

from models import hardware

CPUINFO = """processor\t: 0
cpu family\t: 6
model\t\t: 143
model name\t: Some(R) Processor
flags\t\t: fpu avx2 avx512_vnni amx_bf16

processor\t: 1
flags\t\t: fpu
"""


@pytest.fixture
def cpu(tmp_path, monkeypatch):
    """Write what Linux would say; give the functions a way to it."""
    cpus = tmp_path / "cpu"
    monkeypatch.setattr(hardware, "CPUS", cpus)
    monkeypatch.setattr(hardware, "CGROUP_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "cpuinfo")
    hardware._cpuinfo.cache_clear()

    def write(
        *, siblings: list[str] = (), mine: set[int] = frozenset({0}), quota: str = "", info: str = ""
    ) -> None:
        for number, text in enumerate(siblings):
            (cpus / f"cpu{number}" / "topology").mkdir(parents=True)
            (cpus / f"cpu{number}" / "topology" / "thread_siblings_list").write_text(
                text + "\n", encoding="ascii"
            )
        if quota:
            (tmp_path / "cpu.max").write_text(quota + "\n", encoding="ascii")
        (tmp_path / "cpuinfo").write_text(info, encoding="ascii")
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(mine), raising=False)

    yield write
    hardware._cpuinfo.cache_clear()


def test_hyper_threads_of_a_core_count_once(cpu):
    cpu(siblings=["0,2", "1,3", "0,2", "1,3"], mine={0, 1, 2, 3})
    assert hardware.physical_cores() == 2


def test_only_the_cores_of_this_process_count(cpu):
    cpu(siblings=["0", "1", "2", "3"], mine={1, 3})
    assert hardware.physical_cores() == 2


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 4), ("200000 100000", 2), ("50000 100000", 1), ("?", 4)]
)
def test_a_container_quota_counts(cpu, quota, cores):
    cpu(siblings=["0", "1", "2", "3"], mine={0, 1, 2, 3}, quota=quota)
    assert hardware.physical_cores() == cores


def test_without_topology_every_cpu_is_a_core(cpu):
    cpu(mine={0, 1, 2})
    assert hardware.physical_cores() == 3


def test_cpu_model_tells_what_matters(cpu):
    cpu(info=CPUINFO)
    assert hardware.cpu_model() == "Some(R) Processor (6 143 avx2 avx512_vnni amx_bf16)"
    assert hardware.multiplies_bfloat16()


@pytest.mark.parametrize(
    ("machine", "flags", "exactly"),
    [
        ("x86_64", "avx2", False),
        ("x86_64", "avx2 avx_vnni", True),
        ("x86_64", "avx512f avx512_vnni", True),
        ("AMD64", "", False),
        ("arm64", "", True),
        ("aarch64", "asimddp", True),
    ],
)
def test_x86_without_vnni_overflows(cpu, monkeypatch, machine, flags, exactly):
    cpu(info=f"flags\t: {flags}\n")
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert hardware.multiplies_int8_exactly() is exactly


def test_nothing_is_known_without_cpuinfo(cpu, tmp_path):
    (tmp_path / "cpuinfo").unlink(missing_ok=True)
    assert hardware.cpu_flags() == frozenset()
    assert hardware.cpu_model()
