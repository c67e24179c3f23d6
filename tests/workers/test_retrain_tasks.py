"""Retrains by workers, without a broker: messages lie in a tray, and a training is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from workers_site import articles, written

from indexer.collection import Collection
from indexer.errors import CatalogError, SettingsError
from indexer.protocols import Paused
from models.registry import SHIPPED, Registry
from trainer.retrain.report import RetrainOptions
from trainer.retrain.run import Retrainer
from workers import retrain_tasks
from workers.retrain_tasks import Slice

STEPS = 3


class Tray:
    def __init__(self, *_: object) -> None:
        self.messages: list[str] = []

    def check(self) -> None:
        pass

    def send_train(self, run: str) -> None:
        self.messages.append(run)

    def depth(self, queue: str) -> int:
        assert queue == "train"
        return len(self.messages)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory) -> Path:
    """A home with 48 documents, to be copied."""
    folder = tmp_path_factory.mktemp("indexed")
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        with Collection.open(home=folder / "home", broker="memory://") as opened:
            opened.index([written(folder / "a.jsonl", articles(48))], topics=3, workers=False)
    return folder / "home"


def small(patch: pytest.MonkeyPatch) -> None:
    from small_parts import PlainPreparer, WideHashEncoder

    patch.setattr("models.load.load_encoder", lambda *_, **__: WideHashEncoder())
    patch.setattr("indexer.text.pool._preparer", PlainPreparer)
    patch.setattr("trainer.retrain.probe.Preparer", PlainPreparer)
    patch.setattr("trainer.retrain.probe.MIN_DOCUMENTS", 10)
    patch.setattr("indexer.collection.TAGGERS", 0)


@pytest.fixture
def collection(tmp_path, indexed, monkeypatch) -> Iterator[Collection]:
    small(monkeypatch)
    copytree(indexed, tmp_path / "home")
    with Collection.open(home=tmp_path / "home", broker="memory://") as opened:
        yield opened


@pytest.fixture
def steps(monkeypatch) -> list[int]:
    """A training of three steps, each of which may be the last of its slice; its result is not better."""
    done: list[int] = []

    def candidates(live, snapshot, wanted, *, home, progress):
        while len(done) < STEPS:
            done.append(len(done) + 1)
            progress(f"train: loss {1 / len(done):.3f}", len(done), STEPS)
        yield Registry(home).get("minilm-base")

    monkeypatch.setattr("trainer.retrain.candidates.candidates", candidates)
    monkeypatch.setattr(retrain_tasks, "SLICE", 0.0)
    return done


def work(collection: Collection, tray: Tray, *, stopping: bool = False) -> None:
    """What a worker does with the first message."""
    retrain_tasks.work(collection.settings, collection.catalog, tray, tray.messages.pop(0), lambda: stopping)


@pytest.mark.slow
def test_one_message_follows_the_other_until_it_is_done(collection, steps, monkeypatch):
    tray = Tray()
    monkeypatch.setattr(retrain_tasks, "Sender", lambda settings: tray)
    report = retrain_tasks.enqueue(collection.settings, RetrainOptions())
    assert tray.messages == [report.run]
    for number in range(1, STEPS + 1):
        work(collection, tray)
        assert (steps[-1], tray.messages) == (number, [report.run])
        assert (
            collection.catalog.run(report.run).counts["reason"] == f"Workers are busy: train, {number} of 3."
        )
    work(collection, tray)
    assert tray.messages == []
    assert collection.catalog.run(report.run).state == "finished"
    assert collection.history()[0].counts["verdict"] == "refused"


def test_files_that_workers_need_are_named(collection, steps, tmp_path, monkeypatch):
    monkeypatch.setattr(retrain_tasks, "Sender", lambda settings: Tray())
    gold = written(tmp_path / "gold.jsonl", [])
    options = RetrainOptions(ground_truth=gold, candidate=str(SHIPPED / "minilm-base"))
    assert retrain_tasks.enqueue(collection.settings, options).notes == [
        f"{gold} must exist under the same path on the workers' machines.",
        f"{SHIPPED / 'minilm-base'} must exist under the same path on the workers' machines.",
    ]


def test_a_message_too_many_does_no_harm(collection, steps):
    tray = Tray()
    run = collection.begin_retrain(RetrainOptions()).run
    tray.messages = [run, run]
    work(collection, tray)
    assert tray.messages == [run]  # there is one: no other is sent
    with collection.catalog.lock("main@retrain", "indexer worker"):
        work(collection, tray)
    assert tray.messages == []
    assert steps == [1]


def test_what_nobody_works_on_gets_a_message_again(collection, steps):
    tray = Tray()
    retrain_tasks.sweep(collection.catalog, tray)
    assert tray.messages == []
    run = collection.begin_retrain(RetrainOptions()).run
    with collection.catalog.lock("main@retrain", "indexer worker"):
        retrain_tasks.sweep(collection.catalog, tray)
        assert tray.messages == []
    retrain_tasks.sweep(collection.catalog, tray)
    retrain_tasks.sweep(collection.catalog, tray)
    assert tray.messages == [run]


@pytest.mark.slow
def test_what_no_worker_is_at_can_be_given_up(collection, steps):
    run = collection.begin_retrain(RetrainOptions()).run
    with (
        collection.catalog.lock("main@retrain", "indexer worker"),
        pytest.raises(CatalogError, match="are being made or removed by indexer worker"),
    ):
        retrain_tasks.cancel(collection.catalog, "main")
    assert retrain_tasks.cancel(collection.catalog, "main") == [run]
    assert retrain_tasks.cancel(collection.catalog, "main") == []
    tray = Tray()
    tray.messages = [run]
    work(collection, tray)  # a message that came late
    assert steps == []
    report = collection.retrain(RetrainOptions())
    assert (report.run, report.resumed, steps) == (run, True, [1, 2, 3])


def test_a_catalog_that_was_away_at_the_end_of_a_slice_is_no_death(collection, steps, monkeypatch):
    def ends_without_a_word(self, run):
        self._catalog.detach_run(run, {"seconds": 5.0, "deaths": 1})
        raise CatalogError("gone")

    run = collection.begin_retrain(RetrainOptions()).run
    with monkeypatch.context() as patch:
        patch.setattr(Retrainer, "resume", ends_without_a_word)
        retrain_tasks.work(collection.settings, collection.catalog, Tray(), run, lambda: False)
    assert collection.catalog.run(run).counts == {"seconds": 5.0}


def test_an_index_run_is_none_of_its_business(collection, steps, tmp_path):
    collection.begin_retrain(RetrainOptions())
    assert collection.catalog.open_runs() == []
    assert [run.kind for run in collection.catalog.open_runs(retrains=True)] == ["retrain"]


def test_the_run_says_what_tagger_and_limits(collection, steps, monkeypatch):
    tray = Tray()
    monkeypatch.setattr(retrain_tasks, "SLICE", 60.0)
    own = {"gate_churn": 0.123, "keyphrases": 7, "absent_keyphrases": 2}
    collection.settings = collection.settings.model_copy(update=own)
    tray.messages = [collection.begin_retrain(RetrainOptions()).run]
    seen = []
    monkeypatch.setattr(Retrainer, "resume", lambda self, run: seen.append(self._settings))
    worker = collection.settings.model_copy(
        update={"gate_churn": 0.4, "keyphrases": 10, "absent_keyphrases": 5, "collection": "other"}
    )
    with pytest.raises(AttributeError):  # of the report that there is none
        retrain_tasks.work(worker, collection.catalog, tray, tray.messages.pop(), lambda: False)
    (told,) = seen
    assert {name: getattr(told, name) for name in own} == own
    assert told.collection == "main"


def test_the_schedule_begins_one_where_the_collection_has_drifted(collection, steps, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "indexer.pipeline.drift_check.TO_JUDGE_BY", 100
    )  # there are fewer than 200 texts here
    tray = Tray()
    retrain_tasks.begin(collection.settings, tray, "main")
    assert tray.messages == []
    assert collection.history()[0].counts["reason"].startswith("Not enough has drifted: 0 new and 48 old")
    collection.index([written(tmp_path / "b.jsonl", articles(120)[48:])], workers=False)  # more than doubled
    retrain_tasks.begin(collection.settings, tray, "main")
    (run,) = tray.messages
    assert collection.catalog.run(run).options["budget"] == 45 * 60
    retrain_tasks.begin(collection.settings, tray, "main")  # workers are at it
    retrain_tasks.begin(collection.settings, tray, "none")
    assert tray.messages == [run]


def test_without_a_broker_nothing_is_begun(collection, steps):
    collection.settings = collection.settings.model_copy(update={"broker": ""})
    with pytest.raises(SettingsError, match="Workers need a broker"):
        retrain_tasks.enqueue(collection.settings, RetrainOptions())
    assert collection.history() == []


def test_a_slice_ends_between_steps_and_not_once_topics_are_given(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("workers.retrain_tasks.time.monotonic", lambda: now[0])
    progress = Slice(lambda: False)
    progress("probe", 0, None)
    now[0] = 1_000.0  # what cannot be stopped does not count
    progress("train: loss 1.0", 1, 9)
    now[0] = 1_299.0
    progress("train: loss 0.9", 2, 9)
    now[0] = 1_300.0
    progress("judge", 0, None)
    with pytest.raises(Paused, match="train, 3 of 9"):
        progress("train: loss 0.8", 3, 9)
    progress("assign", 0, 100)
    progress("mine", 1, 2)


def test_a_worker_that_is_to_stop_ends_its_slice_at_once():
    progress = Slice(lambda: True)
    progress("judge", 0, None)
    with pytest.raises(Paused):
        progress("train: loss 1.0", 1, 9)
