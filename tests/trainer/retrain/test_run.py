"""A retrain from beginning to end on a small collection; trainings and measurements are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest
from hash_encoder import HashEncoder
from test_collection import made, write

from indexer.collection import Collection
from indexer.engines.local.generations import LocalGenerations
from indexer.errors import CatalogError, LossDiverged, NotEnoughData
from models.registry import Registry
from tests.trainer.retrain.test_gate import BETTER, OLD
from trainer.retrain.run import Retrainer, RetrainOptions

BASE = "minilm-base"


@pytest.fixture
def collection(tmp_path, monkeypatch) -> Iterator[Collection]:
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: HashEncoder())
    monkeypatch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
    monkeypatch.setattr("indexer.collection.TAGGERS", 0)
    monkeypatch.setattr("trainer.retrain.probe.LEAST_DOCUMENTS", 10)
    with Collection.open(home=tmp_path / "home") as opened:
        opened.index([write(tmp_path / "docs.jsonl", made(60))], topics=3)
        yield opened


@pytest.fixture
def trained(monkeypatch, collection) -> list[str]:
    """What was trained; each training gives the shipped untrained encoder, and it is better."""
    seen: list[str] = []

    def candidates(live, snapshot, wanted, *, home, progress):
        seen.append(snapshot.read_text().count("\n"))
        yield Registry(home).get(BASE)

    monkeypatch.setattr("trainer.retrain.run.candidates", candidates)
    figures = {"minilm-phrases": OLD, BASE: BETTER}
    monkeypatch.setattr(Retrainer, "_measured", lambda self, bundle, probe: figures[bundle.name])
    return seen


def generations(collection: Collection) -> list[tuple[int, str]]:
    found = LocalGenerations(collection.settings.collection_folder).all()
    return [(one.number, one.state) for one in found]


def test_a_better_encoder_takes_over_and_the_next_night_has_nothing_to_do(collection, trained):
    before = collection.catalog.live_fit("main").run
    report = collection.retrain(RetrainOptions())
    assert (report.verdict, report.bundle, report.replaced, report.generation) == ("swapped", BASE, 1, 2)
    assert (report.replaced_fit, report.fit) == (before, collection.catalog.live_fit("main").run)
    assert trained == [45]  # of 60 documents 15 judge
    assert generations(collection) == [(1, "kept"), (2, "live")]
    with Collection.open(home=collection.settings.home) as changed:
        assert changed.settings.bundle == BASE
        again = changed.retrain(RetrainOptions())
        assert (again.verdict, again.bundle) == ("nothing", BASE)
        assert trained == [45]
        (run,) = changed.history()
        assert run.counts["judged"][BASE]["accepted"] is True
        assert changed.catalog.bundles("main")[0].parent == "minilm-phrases"


def test_it_waits_for_workers_and_for_others_who_index_before_it_takes_over(collection, trained, monkeypatch):
    catalog = collection.catalog
    run = catalog.start_run("main", "index", {})
    catalog.detach_run(run, {})  # workers go on with it
    others = ExitStack()
    waited = []

    def pause(seconds):
        waited.append([state for _, state in generations(collection)])
        if len(waited) == 1:
            catalog.finish_run(run, "finished", {})
            others.enter_context(catalog.lock("main", "indexer index"))
        else:
            others.close()

    monkeypatch.setattr("trainer.retrain.run.time.sleep", pause)
    assert collection.retrain(RetrainOptions()).verdict == "swapped"
    assert waited == [["live", "unfinished"]] * 2


def test_it_does_not_wait_for_ever(collection, trained, monkeypatch):
    catalog = collection.catalog
    catalog.detach_run(catalog.start_run("main", "index", {}), {})
    monkeypatch.setattr("trainer.retrain.run.LONGEST_WAIT", 0.0)
    with pytest.raises(CatalogError, match="Workers are indexing into collection 'main'"):
        collection.retrain(RetrainOptions())
    assert generations(collection) == [(1, "live"), (2, "unfinished")]


def test_an_encoder_that_is_not_better_is_refused_with_the_reason(collection, trained, monkeypatch):
    monkeypatch.setattr(Retrainer, "_measured", lambda *_: OLD)
    report = collection.retrain(RetrainOptions())
    assert report.verdict == "refused"
    assert report.reason.startswith("Nothing is surely better")
    assert generations(collection) == [(1, "live")]
    assert collection.retrain(RetrainOptions()).verdict == "nothing"
    assert collection.retrain(RetrainOptions(seed=1)).verdict == "refused"  # it was asked for something else
    assert collection.retrain(RetrainOptions(force=True)).verdict == "swapped"


def test_a_dry_run_changes_nothing(collection, trained):
    report = collection.retrain(RetrainOptions(dry_run=True))
    assert report.verdict == "accepted"
    assert generations(collection) == [(1, "live")]
    assert collection.retrain(RetrainOptions()).verdict == "swapped"  # what was tried is not what was done


def test_the_probe_stays_and_is_never_learned_from(collection, trained, tmp_path):
    collection.retrain(RetrainOptions(dry_run=True))
    file = collection.settings.home / "retrain" / "main" / "probe.json.gz"
    before = file.read_bytes()
    collection.index([write(tmp_path / "more.jsonl", made(80)[60:])])
    collection.retrain(RetrainOptions(dry_run=True))
    assert file.read_bytes() == before
    assert trained == [45, 65]


def test_a_second_retrain_is_told_who_is_at_work(collection, trained):
    with (
        collection.catalog.lock("main@retrain", "indexer retrain"),
        pytest.raises(CatalogError, match="is being written by indexer retrain"),
    ):
        collection.retrain(RetrainOptions())


def test_a_training_that_fails_is_told_and_the_next_one_tries_again(collection, trained, monkeypatch):
    def diverges(*_, **__):
        raise LossDiverged("The loss became nan at step 3.")
        yield

    with monkeypatch.context() as patch:
        patch.setattr("trainer.retrain.run.candidates", diverges)
        with pytest.raises(LossDiverged):
            collection.retrain(RetrainOptions())
    (run,) = collection.history()
    assert (run.state, run.error) == ("failed", "The loss became nan at step 3.")
    assert generations(collection) == [(1, "live")]
    assert collection.retrain(RetrainOptions()).verdict == "swapped"


def test_a_collection_that_is_too_small_is_not_judged(collection, trained, monkeypatch):
    monkeypatch.setattr("trainer.retrain.probe.LEAST_DOCUMENTS", 50)
    with pytest.raises(NotEnoughData, match="15 documents have phrases; 50 are needed"):
        collection.retrain(RetrainOptions())


def test_of_two_that_may_the_one_that_reads_contexts_better_takes_over(collection, trained, monkeypatch):
    def candidates(live, snapshot, wanted, *, home, progress):
        yield live
        yield Registry(home).get(BASE)

    best = np.float32(0.05)
    measured = iter([OLD, BETTER, BETTER.__class__(**{**vars(BETTER), "context": BETTER.context + best})])
    monkeypatch.setattr("trainer.retrain.run.candidates", candidates)
    monkeypatch.setattr(Retrainer, "_measured", lambda *_: next(measured))
    assert collection.retrain(RetrainOptions()).bundle == BASE


def test_after_a_rollback_an_unchanged_collection_is_not_swapped_again(collection, trained):
    collection.retrain(RetrainOptions())
    with Collection.open(home=collection.settings.home) as swapped:
        assert swapped.rollback().bundle == "minilm-phrases"
    with Collection.open(home=collection.settings.home) as back:
        assert back.retrain(RetrainOptions()).verdict == "nothing"
        assert trained == [45]
        assert back.retrain(RetrainOptions(force=True)).generation == 3
        assert [run.kind for run in back.history()] == ["retrain", "rollback", "retrain"]
    assert generations(collection) == [(1, "kept"), (3, "live")]  # 3 replaced 1; nobody goes back to 2
