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


@pytest.fixture
def two(tmp_path, monkeypatch):
    """The queues of two processes of one server, under identities of their own; the first is at work."""
    first, second = (Tasks(ServerState(tmp_path / "state.sqlite")) for _ in range(2))
    second._state.owner = "another"
    dead: set[str] = set()
    monkeypatch.setattr(module, "is_dead", dead.__contains__)
    started, go = Event(), Event()

    def work(progress):
        started.set()
        assert go.wait(10)
        return {"mined": 3}

    task = first.add("index", work, about="a.txt")
    assert started.wait(10)
    yield first, second, task.id, go, dead
    go.set()
    first.close()
    second.close()


def test_a_process_waits_for_the_tasks_of_the_others(two):
    first, second, id_, go, _ = two
    done = Event()
    later = second.add("delete", lambda progress: done.set() or {})
    assert [(task.kind, task.state) for task in first.all()] == [("delete", "waiting"), ("index", "running")]
    assert not done.wait(0.3)
    go.set()
    assert done.wait(10)
    second.close()
    found = second.get(id_)
    assert (found.state, found.result, found.about) == ("done", {"mined": 3}, "a.txt")
    assert first.get(later.id).state == "done"


def test_the_task_of_a_killed_process_is_stopped_and_holds_up_no_other(two):
    first, second, id_, _, dead = two
    dead.add(first._state.owner)
    done = Event()
    second.add("delete", lambda progress: done.set() or {})
    assert done.wait(10)
    assert second.get(id_).state == "stopped"


def test_an_upload_is_claimed_by_one_process_and_by_another_when_that_is_dead(tmp_path, monkeypatch):
    dead: set[str] = set()
    monkeypatch.setattr("indexer.web.server_state.is_dead", dead.__contains__)
    first, second = (ServerState(tmp_path / "state.sqlite") for _ in range(2))
    second.owner = "another"
    assert first.claim("u1")
    assert not second.claim("u1")
    assert second.claim("u2")
    dead.add(first.owner)
    assert second.claim("u1")
