"""A retrain by real workers, told by a real broker, whose trainer is killed on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import services.redis
from services.asking import asked_for, needs
from small_parts import PlainPreparer
from workers_site import PATIENCE, Site, articles, written

from indexer.collection import Collection
from trainer.retrain.report import RetrainOptions
from workers import retrain_tasks

pytestmark = needs("elasticsearch-8.19")  # with the other tests of workers

STEPS = 20


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    """The embedded engine and an SQLite catalog are enough; both stand in the home."""
    if not asked_for(request.config):
        pytest.skip("Needs Redis: run with -m live.")
    places = {"broker": services.redis.redis(), "index_prefix": f"training-{os.getpid()}"}
    return Site(tmp_path / "home", places)


def killed(collection: Collection) -> bool:
    """SIGKILL to who trains at this moment, once it has done some steps."""
    holder = collection.catalog.lock_holder("main@retrain")
    if holder is None or steps(collection) < 3:
        return False
    os.kill(holder.pid, signal.SIGKILL)
    return True


def steps(collection: Collection) -> int:
    return max(
        (file.stat().st_size for file in collection.settings.home.glob("retrain/main/*/steps")), default=0
    )


def test_a_trainer_that_is_killed_is_followed_by_another_one(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.retrain.probe.Preparer", PlainPreparer)
    source = written(tmp_path / "a.jsonl", articles(48))
    with site.workers("prepare", "encode", "maintain", "train", steps=STEPS):
        with site.indexing(source) as running:
            assert running.result(PATIENCE).mined == 48
        with site.opened() as collection:
            run = retrain_tasks.enqueue(collection.settings, RetrainOptions()).run
        site.wait_for(killed, "a trainer at work")
        site.wait_for(lambda c: c.catalog.run(run).state == "finished", "the end of the retrain")
    with site.opened() as collection:
        (found,) = collection.history()
        assert (found.id, found.counts["verdict"]) == (run, "refused")
        assert len(found.counts["judged"]) == 1
    log = (tmp_path / "workers.log").read_text()
    assert "worker_ended name=train-1" in log
    assert "retrain_sent_again" in log
    assert log.count("retrain_slice_done") >= 3  # four seconds of training, one for each slice
