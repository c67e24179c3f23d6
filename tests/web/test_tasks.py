"""The queue of tasks: its limit, and its end."""

from __future__ import annotations

import time
from threading import Event

import pytest

from indexer.web import tasks as module
from indexer.web.errors import Refusal
from indexer.web.server_state import ServerState
from indexer.web.tasks import Tasks


@pytest.fixture
def busy(monkeypatch):
    """Two tasks may wait; one is running until the event is set, and the queue is full."""
    monkeypatch.setattr(module, "MAX_QUEUED", 2)
    tasks, started, go = Tasks(ServerState()), Event(), Event()

    def work(progress):
        started.set()
        assert go.wait(10)
        progress("work", 1, 1)
        return {}

    tasks.add("first", work)
    assert started.wait(10)
    tasks.add("second", lambda progress: {})
    tasks.add("third", lambda progress: {})
    yield tasks, go
    go.set()
    tasks.close()


def test_one_too_many_is_refused_and_not_listed(busy):
    tasks, _ = busy
    with pytest.raises(Refusal, match="2 tasks are waiting already"):
        tasks.add("fourth", lambda progress: {})
    assert [task.kind for task in tasks.all()] == ["third", "second", "first"]


def test_closing_with_a_full_queue_interrupts_the_running_task_and_starts_no_other(busy):
    tasks, go = busy
    tasks._stop.set()  # as `close` does, before the running task looks
    go.set()
    tasks.close()
    assert [task.state for task in tasks.all()] == ["waiting", "waiting", "stopped"]
    assert not tasks._thread.is_alive()


def test_an_idle_queue_closes_at_once():
    tasks = Tasks(ServerState())
    begin = time.perf_counter()
    tasks.close()
    assert time.perf_counter() - begin < 0.1
    assert not tasks._thread.is_alive()
