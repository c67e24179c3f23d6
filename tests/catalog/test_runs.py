from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import nan
from pathlib import Path

import numpy as np
import pytest

from indexer.catalog import Catalog
from indexer.catalog.locks import this_process
from indexer.errors import NotFound

Start = Callable[[Callable[[], object]], Callable[[], int]]


def test_a_run_is_recorded_from_start_to_end(catalog: Catalog) -> None:
    before = datetime.now(UTC)
    id_ = catalog.start_run("main", "index", {"sources": ["a", "b"], "path": Path("x")})
    running = catalog.run(id_)
    assert (running.state, running.kind, running.finished_at) == ("running", "index", None)
    assert running.options == {"sources": ["a", "b"], "path": "x"}
    assert before - timedelta(seconds=1) < running.started_at < datetime.now(UTC) + timedelta(seconds=1)

    catalog.finish_run(id_, "failed", {"stored": 3}, error="bad \0 byte")
    ended = catalog.run(id_)
    assert (ended.state, ended.counts, ended.error) == ("failed", {"stored": 3}, "bad \\x00 byte")
    assert ended.finished_at is not None
    assert ended.finished_at >= ended.started_at


def test_counts_may_hold_numpy_numbers_and_nan(catalog: Catalog) -> None:
    id_ = catalog.start_run("main", "evaluate", {})
    catalog.finish_run(
        id_, "finished", {"acc": np.float32(0.5), "n": np.int64(3), "nmi": nan, "all": [nan, 1]}
    )
    assert catalog.run(id_).counts == {"acc": 0.5, "n": 3, "nmi": None, "all": [None, 1]}


def test_finishing_an_unknown_run_says_so(catalog: Catalog) -> None:
    with pytest.raises(NotFound, match="no run 'x'"):
        catalog.finish_run("x", "finished", {})


def test_run_ids_sort_by_time_and_runs_come_newest_first(catalog: Catalog) -> None:
    ids = [catalog.start_run("main", "index", {}) for _ in range(5)]
    catalog.start_run("other", "index", {})
    assert ids == sorted(ids)
    assert {len(id_) for id_ in ids} == {26}
    assert [run.id for run in catalog.runs("main", limit=3)] == ids[:1:-1]


def test_runs_of_one_kind(catalog: Catalog) -> None:
    retrain = catalog.start_run("main", "retrain", {})
    for _ in range(3):
        catalog.start_run("main", "index", {})
    assert [run.id for run in catalog.runs("main", limit=2, kinds=["retrain"])] == [retrain]


def test_a_run_can_be_gone_on_with_by_another_process(
    catalog: Catalog, url: str, start_process: Start
) -> None:
    start_process(lambda: start_one(url))()
    (dead,) = catalog.interrupted_runs()
    with catalog.lock("main", "indexer retrain") as lock:
        catalog.resume_run(dead.id, lock)
        assert catalog.interrupted_runs() == []
        again = catalog.run(dead.id)
        assert (again.state, again.finished_at, again.started_at) == ("running", None, dead.started_at)
    assert [run.id for run in catalog.interrupted_runs()] == [dead.id]  # it works under the lock


def test_retrains_by_workers_are_no_runs_of_batches(catalog: Catalog) -> None:
    index = catalog.start_run("main", "index", {}, detached=True)
    retrain = catalog.start_run("main", "retrain", {}, detached=True)
    catalog.start_run("main", "retrain", {})  # by a command
    assert [run.id for run in catalog.open_runs("main")] == [index]
    assert [run.id for run in catalog.open_runs(retrains=True)] == [retrain]


def start_one(url: str, *, detached: bool = False) -> None:
    Catalog.open(url).start_run("main", "index", {}, detached=detached)


def test_a_run_of_a_dead_process_is_marked_interrupted(
    catalog: Catalog, url: str, start_process: Start
) -> None:
    mine = catalog.start_run("main", "index", {})
    start_process(lambda: start_one(url))()
    dead = catalog.runs("main", limit=1)[0].id
    assert catalog.interrupted_runs("other") == []
    assert [(run.id, run.state) for run in catalog.interrupted_runs("main")] == [(dead, "interrupted")]
    assert catalog.interrupted_runs() == []
    assert catalog.run(mine).state == "running"
    assert catalog.run(dead).finished_at is not None


def test_a_killed_run_is_read_as_interrupted_before_anybody_has_marked_it(
    catalog: Catalog, url: str, start_process: Start
) -> None:
    start_process(lambda: start_one(url))()
    (dead,) = catalog.runs("main")
    assert (dead.state, dead.finished_at) == ("interrupted", None)  # when it ended, nobody knows
    assert catalog.run(dead.id).state == "interrupted"


def test_a_detached_run_outlives_its_process(catalog: Catalog, url: str, start_process: Start) -> None:
    start_process(lambda: start_one(url, detached=True))()
    assert catalog.interrupted_runs() == []
    assert [run.state for run in catalog.runs("main")] == ["running"]


def test_a_run_ends_with_its_lock_wherever_it_ran(catalog: Catalog) -> None:
    with catalog.lock("main", "indexer index") as lock:
        id_ = catalog.start_run("main", "index", {}, lock=lock, detached=True)  # detached: no pid to look at
        assert catalog.interrupted_runs() == []
        assert catalog.run(id_).state == "running"
    assert catalog.run(id_).state == "interrupted"
    assert [run.id for run in catalog.interrupted_runs()] == [id_]


def test_only_a_process_that_is_certainly_dead_counts_as_dead() -> None:
    me = this_process()
    assert not me.is_dead()
    assert not replace(me, host="elsewhere", pid=2**22 + 1).is_dead()
    assert replace(me, pid=2**22 + 1).is_dead()  # above the largest pid of Linux


@pytest.mark.skipif(not this_process().birth, reason="This system does not tell when a process was born.")
def test_a_pid_that_another_process_has_now_counts_as_dead() -> None:
    assert replace(this_process(), birth="1").is_dead()


@pytest.mark.skipif(not this_process().boot, reason="This system does not tell one boot from another.")
def test_after_a_reboot_a_process_is_dead_unless_another_machine_has_the_same_name() -> None:
    before = replace(this_process(), boot="another-boot pid:[1]")
    assert before.is_probably_dead()
    assert not before.is_dead()
