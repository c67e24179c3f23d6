"""With processes that are a line of shell: those that die are started again, those that are told to stop may finish."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest
from services.ports import wait_until

from workers.queues import WorkerProcess
from workers.supervisor import Supervisor

# Each start leaves a line in $LOG; what it then does is $1 of the script.
SCRIPT = 'echo "$1 $CUDA_VISIBLE_DEVICES" >> "$LOG"; {then}'
WAITS = "trap 'echo told >> \"$LOG\"; exit 0' TERM; while :; do sleep 0.05; done"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def supervised(log, then: str, meanwhile: Callable[[], None], *processes: WorkerProcess) -> list[str]:
    """Run a supervisor in this thread, and `meanwhile` in another one; then tell it to stop. Returns what it says."""

    def watch() -> None:
        try:
            meanwhile()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    command = ["/bin/sh", "-c", SCRIPT.format(then=then)]
    said: list[str] = []
    supervisor = Supervisor(processes, {"LOG": str(log)}, command=command, say=said.append)
    thread = threading.Thread(target=watch)
    thread.start()
    supervisor.run()
    thread.join()
    return said


def lines(log) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def test_every_process_runs_with_its_environment_and_is_told_to_stop(log, monkeypatch):
    monkeypatch.setattr("workers.supervisor.POLL_INTERVAL_S", 0.02)
    two = [WorkerProcess("encode", n, {"CUDA_VISIBLE_DEVICES": str(n)}) for n in (1, 2)]
    supervised(log, WAITS, lambda: wait_until(lambda: len(lines(log)) == 2, 20, "two starts"), *two)
    assert sorted(lines(log)) == ["encode-1 1", "encode-2 2", "told", "told"]


@pytest.mark.slow
def test_at_the_end_it_says_what_it_waits_for(log, monkeypatch):
    monkeypatch.setattr("workers.supervisor.POLL_INTERVAL_S", 0.02)
    monkeypatch.setattr("workers.supervisor.IDLE_END_S", 0.2)
    # The second one has something in hand for a second.
    busy = WAITS.replace("exit 0", 'case "$1" in encode-2) sleep 1;; esac; exit 0')
    two = [WorkerProcess("encode", n) for n in (1, 2)]
    said = supervised(log, busy, lambda: wait_until(lambda: len(lines(log)) == 2, 20, "two starts"), *two)
    assert said[0] == "Stops when the current work is finished. Ctrl-C again: it is released, and done later."
    assert said[-1] == "Waits for encode-2."


def test_a_process_that_dies_is_started_again_and_later_each_time(log, monkeypatch, capsys):
    monkeypatch.setattr("workers.supervisor.POLL_INTERVAL_S", 0.02)
    monkeypatch.setattr("workers.supervisor.FIRST_PAUSE", 0.1)
    start = time.monotonic()
    meanwhile = lambda: wait_until(lambda: len(lines(log)) == 3, 20, "three starts")  # noqa: E731
    supervised(log, "kill -9 $$", meanwhile, WorkerProcess("encode", 1))
    assert time.monotonic() - start > 0.3
    assert "worker_ended name=encode-1 status=-9" in capsys.readouterr().err
