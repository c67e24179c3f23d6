"""One worker process: what it has open while it works, and how it begins and ends. With real servers: test_live.py."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from celery import Celery
from kombu.transport.memory import Transport

from indexer.catalog import Catalog
from indexer.settings import Settings, load_settings
from workers import process
from workers.resources import Resources


@pytest.fixture
def settings(tmp_path):
    yield load_settings(home=tmp_path, broker="memory://", retrain_at="03:00")
    Transport.global_state.clear()


@pytest.fixture
def niceness(monkeypatch) -> list[int]:
    """What was asked for; the tests themselves go on as they are."""
    found: list[int] = []
    monkeypatch.setattr(os, "nice", found.append)
    return found


def worked(monkeypatch, work: Callable[[], object], exitcode: int | None = None) -> type:
    """Celery's worker of which only the work is made up."""

    class Worker:
        def __init__(self, **options: object) -> None:
            self.exitcode = exitcode
            type(self).options = options

        def start(self) -> None:
            work()

    monkeypatch.setattr(Celery, "Worker", Worker)
    return Worker


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()} & {"schedule", "beat"}


def test_the_catalog_is_closed_when_the_work_ends_also_by_an_error(monkeypatch, settings: Settings):
    closed: list[str] = []
    made: list[Resources] = []
    monkeypatch.setattr(process, "Resources", lambda *given: made.append(Resources(*given)) or made[-1])
    monkeypatch.setattr(Catalog, "close", lambda self: closed.append("catalog"))

    def work() -> None:
        _ = made[-1].catalog
        assert closed == []
        raise KeyboardInterrupt

    worked(monkeypatch, work)
    with suppress(KeyboardInterrupt):
        process.run("encode", "encode-1", settings)
    assert closed == ["catalog"]


@pytest.mark.parametrize(("exitcode", "status"), [(None, 0), (70, 70)])
def test_the_exit_status_is_that_of_celerys_worker(monkeypatch, settings, exitcode, status):
    worker = worked(monkeypatch, lambda: None, exitcode)
    assert process.run("encode", "encode-1", settings) == status
    assert worker.options["queues"] == ["indexer.encode"]
    assert worker.options["hostname"] == f"encode-1@{os.uname().nodename}"


@pytest.mark.parametrize(
    ("queue", "running", "nice"),
    [("encode", set(), []), ("maintain", {"schedule", "beat"}, []), ("train", set(), [10])],
)
def test_one_process_keeps_the_schedule_and_training_lets_others_go_first(
    monkeypatch, settings, niceness, queue, running, nice
):
    found: list[set[str]] = []
    worked(monkeypatch, lambda: found.append(threads()))
    process.run(queue, f"{queue}-1", settings)
    assert (found, niceness, threads()) == ([running], nice, set())


@pytest.mark.slow
def test_a_process_with_unusable_settings_says_so_and_fails():
    command = [sys.executable, "-m", "workers.process", "encode", "encode-1"]
    environment = {**os.environ, "INDEXER_THREADS": "many"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "INDEXER_THREADS" in ended.stderr
