"""A retrain that is killed, stopped, asked again, or done by workers in slices."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_reports import made, write

from indexer.catalog import Catalog
from indexer.collection import Collection
from indexer.engines.local.generations import LocalGenerations
from indexer.errors import CatalogError, EngineUnavailable, TrainingError
from indexer.protocols import Paused, no_progress
from models.bundle import write_bundle
from models.registry import Registry
from trainer.retrain.judge import Judge
from trainer.retrain.report import RetrainOptions
from trainer.retrain.run import Retrainer

BASE = "minilm-base"


def generations(collection: Collection) -> list[tuple[int, str]]:
    found = LocalGenerations(collection.settings.collection_folder).all()
    return [(one.number, one.state) for one in found]


class Killed(BaseException):
    pass


@pytest.mark.slow
def test_killed_it_goes_on_as_the_same_run_and_says_so(collection, trained, monkeypatch):
    told = []
    with monkeypatch.context() as patch:
        patch.setattr("trainer.retrain.run.NextGeneration", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            collection.retrain(RetrainOptions())
    (stopped,) = collection.history()
    assert stopped.state == "interrupted"
    monkeypatch.setattr(Judge, "_measured", lambda *_: pytest.fail("the gate has answered that"))
    report = collection.retrain(RetrainOptions(), progress=lambda stage, *_: told.append(stage))
    assert (report.verdict, report.run, report.resumed) == ("swapped", stopped.id, True)
    assert [stage for stage in told if stage.startswith("note: Resumes the retrain of ")]
    assert [run.state for run in collection.history()] == ["finished"]


@pytest.mark.slow
def test_a_night_with_nothing_to_do_does_not_keep_it_from_going_on(collection, trained, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("trainer.retrain.run.NextGeneration", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            collection.retrain(RetrainOptions())
    (stopped,) = collection.history()
    assert collection.retrain(RetrainOptions(if_drifted=True)).verdict == "nothing"
    assert [run.id for run in collection.history(idle=False)] == [stopped.id]
    report = collection.retrain(RetrainOptions())
    assert (report.verdict, report.run) == ("swapped", stopped.id)


def test_what_was_refused_says_how_it_is_asked_anew(collection, no_better):
    assert collection.retrain(RetrainOptions()).verdict == "refused"
    again = collection.retrain(RetrainOptions())
    assert (again.verdict, "With a longer --budget" in again.reason) == ("nothing", True)
    assert collection.retrain(RetrainOptions(budget=60.0)).verdict == "refused"


def test_one_that_was_stopped_by_hand_says_so(collection, trained, monkeypatch):
    monkeypatch.setattr(
        "trainer.retrain.run.NextGeneration", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        collection.retrain(RetrainOptions())
    assert [(run.state, run.error) for run in collection.history()] == [
        ("interrupted", "Stopped by the user.")
    ]


def test_a_budget_that_was_enough_for_a_few_steps_is_told(collection, trained, monkeypatch):
    scores = {"steps": 1}
    of = Registry.get
    monkeypatch.setattr(Registry, "get", lambda self, name: replace(of(self, name), scores=scores))
    report = collection.retrain(RetrainOptions(dry_run=True))
    assert any("the budget was enough for 1 step." in note for note in report.notes)


@pytest.mark.slow
def test_only_another_network_is_timed(collection, trained, monkeypatch, tmp_path):
    monkeypatch.setattr("trainer.retrain.judge.speed", lambda *_: 0.5)  # perhaps because the machine is busy
    write_bundle(replace(Registry(collection.settings.home).get(BASE), window_tokens=99), tmp_path / "other")
    other = collection.retrain(RetrainOptions(candidate=str(tmp_path / "other"), dry_run=True))
    assert other.reason == "It is slower: 0.500; it must be 0.800 or more."
    assert collection.retrain(RetrainOptions()).verdict == "swapped"


@pytest.mark.slow
def test_a_changed_collection_begins_anew(collection, trained, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr("trainer.retrain.run.NextGeneration", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            collection.retrain(RetrainOptions())
    collection.index([write(tmp_path / "more.jsonl", made(61)[60:])])
    report = collection.retrain(RetrainOptions())
    assert (report.verdict, report.resumed) == ("swapped", False)
    assert len(collection.history()) == 2


def pausing(stage, done, total):
    if stage == "mine":
        raise Paused(f"Stopped at {stage}.")


@pytest.mark.slow
def test_workers_do_it_in_slices_of_one_run(collection, trained):
    begun = collection.begin_retrain(RetrainOptions())
    assert begun.verdict == "paused"
    first = collection.resume_retrain(begun.run, progress=pausing)
    assert (first.verdict, first.reason) == ("paused", "Stopped at mine.")
    (run,) = collection.history()
    assert (run.state, run.counts["reason"]) == ("running", "Stopped at mine.")
    with pytest.raises(CatalogError, match="Workers are at a retrain of 'main' since"):
        collection.retrain(RetrainOptions())
    assert collection.work().batches.documents == 0
    last = collection.resume_retrain(begun.run, progress=no_progress)
    assert (last.verdict, last.resumed) == ("swapped", True)
    assert [run.state for run in collection.history()] == ["finished"]
    assert trained == [45, 45]
    assert collection.resume_retrain(begun.run, progress=no_progress).judged == {}  # a late message


def test_workers_have_nothing_to_begin_in_an_unchanged_collection(collection, no_better):
    collection.retrain(RetrainOptions())
    report = collection.begin_retrain(RetrainOptions())
    assert (report.verdict, report.run) == ("nothing", "")


@pytest.mark.slow
@pytest.mark.parametrize("away", [EngineUnavailable, CatalogError])
def test_what_is_away_is_waited_for_by_workers(collection, trained, monkeypatch, away):
    run = collection.begin_retrain(RetrainOptions()).run
    with monkeypatch.context() as patch:
        patch.setattr(Judge, "judge", lambda *_, **__: (_ for _ in ()).throw(away("gone")))
        for _ in range(5):  # which is no death of a worker
            with pytest.raises(away):
                collection.resume_retrain(run, progress=no_progress)
    assert collection.resume_retrain(run, progress=no_progress).verdict == "swapped"


@pytest.mark.slow
def test_who_keeps_the_collection_for_too_long_ends_it(collection, trained, monkeypatch):
    run = collection.begin_retrain(RetrainOptions()).run
    monkeypatch.setattr("trainer.retrain.run.MAX_WAIT_S", 0.0)
    with collection.catalog.lock("main", "indexer index"), pytest.raises(CatalogError, match="indexer index"):
        collection.resume_retrain(run, progress=no_progress)
    assert collection.catalog.run(run).state == "failed"


@pytest.mark.slow
def test_a_catalog_that_goes_away_after_the_switch_costs_nothing(collection, trained, monkeypatch):
    run = collection.begin_retrain(RetrainOptions()).run
    with monkeypatch.context() as patch:
        for name in ("finish_run", "detach_run"):
            patch.setattr(Retrainer, "_count_crashes", lambda *_: None)
            patch.setattr(Catalog, name, lambda *_: (_ for _ in ()).throw(CatalogError("gone")))
        with pytest.raises(CatalogError):
            collection.resume_retrain(run, progress=no_progress)
    assert collection.catalog.run(run).state == "running"
    before = collection.catalog.generations("main")[1].fit
    report = collection.resume_retrain(run, progress=no_progress)
    assert (report.verdict, report.generation, report.replaced) == ("swapped", 2, 1)
    assert (report.fit, report.replaced_fit) == (collection.catalog.live_fit("main").run, before)
    assert (trained, generations(collection)) == ([45], [(1, "kept"), (2, "live")])
    assert collection.catalog.run(run).state == "finished"


def test_a_retrain_that_kills_its_workers_is_given_up(collection, trained, monkeypatch):
    run = collection.begin_retrain(RetrainOptions()).run
    with monkeypatch.context() as patch:
        patch.setattr("trainer.retrain.run.Retrainer._work", lambda *_, **__: (_ for _ in ()).throw(Killed))
        for _ in range(3):
            with pytest.raises(Killed):
                collection.resume_retrain(run, progress=no_progress)
    with pytest.raises(TrainingError, match="It has crashed its worker 3 times"):
        collection.resume_retrain(run, progress=no_progress)
    assert [one.state for one in collection.history()] == ["failed"]
