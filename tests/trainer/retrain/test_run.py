"""A retrain from beginning to end on a small collection; trainings and measurements are given."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from shutil import rmtree

import numpy as np
import pytest
from concerts import others
from hash_encoder import HashEncoder
from small_parts import PlainPreparer
from small_reports import made, write

from indexer.collection import Collection
from indexer.engines.local.generations import LocalGenerations
from indexer.errors import CatalogError, LossDiverged, QueryError, SettingsError
from models.bundle import write_bundle
from models.registry import Registry
from tests.trainer.retrain.test_gate import BETTER, OLD
from trainer.retrain.judge import Judge
from trainer.retrain.report import RetrainOptions

BASE = "minilm-base"


def generations(collection: Collection) -> list[tuple[int, str]]:
    found = LocalGenerations(collection.settings.collection_folder).all()
    return [(one.number, one.state) for one in found]


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("look_every", [0.0, 3_600.0])
def test_an_open_collection_goes_on_from_what_is_live_by_now(collection, trained, monkeypatch, look_every):
    monkeypatch.setattr("indexer.collection.base.POLL_INTERVAL_S", look_every)
    assert collection.retrain(RetrainOptions()).bundle == BASE
    with pytest.raises(QueryError, match=f"'{BASE}' is already the encoder of 'main'"):
        collection.retrain(RetrainOptions(candidate=BASE))
    assert collection.retrain(RetrainOptions(candidate="minilm-phrases", force=True)).replaced == 2


@pytest.mark.slow
def test_a_ranker_that_does_not_go_on_is_told(collection, trained, monkeypatch):
    rankers = {"minilm-phrases": object(), BASE: None}
    monkeypatch.setattr("trainer.retrain.run.read_ranker", lambda bundle: rankers[bundle.name])
    (note,) = collection.retrain(RetrainOptions()).notes
    assert note.startswith("Keyphrases are chosen without a ranker now: that of minilm-phrases ")


@pytest.mark.slow
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


@pytest.mark.slow
def test_it_does_not_wait_for_ever(collection, trained, monkeypatch):
    catalog = collection.catalog
    catalog.detach_run(catalog.start_run("main", "index", {}), {})
    monkeypatch.setattr("trainer.retrain.run.MAX_WAIT_S", 0.0)
    with pytest.raises(CatalogError, match="Workers are indexing into collection 'main'"):
        collection.retrain(RetrainOptions())
    assert generations(collection) == [(1, "live"), (2, "unfinished")]


@pytest.mark.slow
def test_an_encoder_that_is_not_better_is_refused_with_the_reason(collection, no_better):
    report = collection.retrain(RetrainOptions())
    assert report.verdict == "refused"
    assert report.reason.startswith("No significant improvement")
    assert generations(collection) == [(1, "live")]
    assert collection.retrain(RetrainOptions()).verdict == "nothing"
    assert collection.retrain(RetrainOptions(seed=1)).verdict == "refused"  # it was asked for something else
    assert collection.retrain(RetrainOptions(force=True)).verdict == "swapped"


@pytest.fixture
def made_anew(monkeypatch, trained) -> None:
    """Each training gives a bundle of its own, named as those of a retrain are."""

    def candidates(live, snapshot, wanted, *, home, progress):
        name = f"{wanted.name}-{wanted.seed:06d}-pairs"
        yield write_bundle(replace(Registry(home).get(BASE), name=name), home / "bundles" / name)

    monkeypatch.setattr("trainer.retrain.candidates.candidates", candidates)
    monkeypatch.setattr(Judge, "_measured", lambda _, b: BETTER if b.name.endswith("-pairs") else OLD)


@pytest.mark.slow
def test_another_machine_fetches_the_encoder_that_took_over(collection, made_anew):
    bundles = collection.settings.home / "bundles"
    report = collection.retrain(RetrainOptions(seed=1))
    before = Registry(collection.settings.home).get(report.bundle).fingerprint
    rmtree(bundles / report.bundle)  # it was another machine's, with a home of its own
    with Collection.open(home=collection.settings.home) as opened:
        assert opened.settings.bundle == report.bundle
        assert Registry(opened.settings.home).get(report.bundle).fingerprint == before
        assert [path.name for path in bundles.iterdir()] == [report.bundle]
        opened.rollback()
    rmtree(bundles / report.bundle)
    with Collection.open(home=collection.settings.home) as opened:
        assert opened.rollback(to=2).bundle == report.bundle
    with Collection.open(home=collection.settings.home) as opened:
        opened.retrain(RetrainOptions(candidate="minilm-phrases", force=True))
        assert opened.catalog.bundles_with_files("main") == {report.bundle}  # for the way back
        opened.retrain(RetrainOptions(candidate=BASE, force=True))
        assert opened.catalog.bundles_with_files("main") == set()


def test_refused_encoders_go_with_the_next_retrain(collection, made_anew, no_better):
    """Those of the last one stay: they can be had by force."""
    bundles = collection.settings.home / "bundles"
    left = []
    for night in (1, 2):
        assert collection.retrain(RetrainOptions(seed=night)).verdict == "refused"
        left.append([path.name[-12:] for path in bundles.iterdir()])
    assert left == [["000001-pairs"], ["000002-pairs"]]


def test_with_other_limits_it_is_judged_again(collection, trained, monkeypatch):
    monkeypatch.setattr(
        Judge, "_measured", lambda _, b: replace(BETTER, silhouette=0.3) if b.name == BASE else OLD
    )
    assert collection.retrain(RetrainOptions()).reason.startswith("Topics are less distinct")
    collection.settings = collection.settings.model_copy(update={"gate_silhouette": 0.2})
    assert collection.retrain(RetrainOptions(dry_run=True)).verdict == "accepted"


@pytest.mark.slow
def test_a_dry_run_changes_nothing(collection, trained):
    report = collection.retrain(RetrainOptions(dry_run=True))
    assert report.verdict == "accepted"
    assert generations(collection) == [(1, "live")]
    assert collection.retrain(RetrainOptions()).verdict == "swapped"  # what was tried is not what was done


def test_the_probe_stays_and_is_never_learned_from(collection, trained, tmp_path):
    collection.retrain(RetrainOptions(dry_run=True))
    folder = collection.settings.home / "retrain" / "main"
    before = (folder / "probe.json.gz").read_bytes()
    collection.index([write(tmp_path / "more.jsonl", made(80)[60:])])
    collection.retrain(RetrainOptions(dry_run=True))
    assert (folder / "probe.json.gz").read_bytes() == before
    assert trained == [45, 65]
    assert len(list(folder.glob("*/"))) == 1  # what was written down of the other state is gone


def test_what_is_deleted_leaves_the_probe(collection, trained, indexed):
    """Of 15 texts that judge, 10 are enough; with fewer, others are set aside."""
    before = [d.id for d in probe_of(collection)]
    source = indexed.parent / "docs.jsonl"  # which nobody else reads again

    def without(ids):
        records = [record for record in made(60) if record["id"] not in ids]
        collection.index([write(source, records)], delete_missing=True)
        return [d.id for d in probe_of(collection)]

    assert without(before[:5]) == before[5:]
    anew = without(before[:6])
    assert len(anew) == 13  # a quarter of 54
    assert not set(before[:6]) & set(anew)


def test_a_second_retrain_is_told_who_is_at_work(collection, trained):
    with (
        collection.catalog.lock("main@retrain", "indexer retrain"),
        pytest.raises(CatalogError, match="are being made or removed by indexer retrain"),
    ):
        collection.retrain(RetrainOptions())


# -- refused without a judgement ----------------------------------------------------------------------------


def test_a_loss_that_diverged_is_a_refusal_with_its_sentence(collection, trained, monkeypatch):
    def diverges(*_, **__):
        raise LossDiverged("The loss became nan at step 3.", hint="Try a learning rate below 1e-05.")
        yield

    monkeypatch.setattr("trainer.retrain.candidates.candidates", diverges)
    report = collection.retrain(RetrainOptions())
    assert report.verdict == "refused"
    assert report.reason == "The loss became nan at step 3. Try a learning rate below 1e-05."
    assert generations(collection) == [(1, "live")]
    assert collection.retrain(RetrainOptions()).verdict == "nothing"  # the same would diverge again


def test_too_little_data_is_a_refusal_with_its_sentence(collection, trained, monkeypatch):
    monkeypatch.setattr("trainer.retrain.probe.MIN_DOCUMENTS", 50)
    report = collection.retrain(RetrainOptions())
    assert report.verdict == "refused"
    assert report.reason.startswith("The collection has 60 documents; 200 are needed: one in 4 is set aside")


def test_an_encoder_that_gives_no_numbers_is_refused_even_by_force(collection, trained, monkeypatch):
    def measured(self, bundle):
        if bundle.name == BASE:
            raise LossDiverged("The vectors of 'minilm-base' are no numbers.")
        return OLD

    monkeypatch.setattr(Judge, "_measured", measured)
    report = collection.retrain(RetrainOptions(force=True))
    assert (report.verdict, report.reason) == ("refused", "The vectors of 'minilm-base' are no numbers.")


@pytest.mark.slow
def test_of_two_that_may_the_one_that_reads_contexts_better_takes_over(collection, trained, monkeypatch):
    def candidates(live, snapshot, wanted, *, home, progress):
        other = write_bundle(replace(live, name="other", window_tokens=99), home / "bundles" / "other")
        yield Registry(home).get(other.name)
        yield Registry(home).get(BASE)

    best = replace(BETTER, context=BETTER.context + np.float32(0.05))
    figures = {"minilm-phrases": OLD, "other": BETTER, BASE: best}
    monkeypatch.setattr("trainer.retrain.candidates.candidates", candidates)
    monkeypatch.setattr(Judge, "_measured", lambda _, bundle: figures[bundle.name])
    assert collection.retrain(RetrainOptions()).bundle == BASE


@pytest.mark.slow
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


# -- drift --------------------------------------------------------------------------------------------------


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr("indexer.topics.drift.MIN_DOCUMENTS", 6)


@pytest.mark.slow
def test_without_drift_nothing_is_trained_and_the_figures_are_told(
    collection, trained, tmp_path, small_samples
):
    collection.index([write(tmp_path / "more.jsonl", made(72)[60:])])
    report = collection.retrain(RetrainOptions(if_drifted=True))
    assert report.verdict == "nothing"
    assert report.reason.startswith("Not enough has drifted: 12 new and 60 old documents: phrases")
    assert trained == []
    assert [run.counts["verdict"] for run in collection.history()] == ["nothing"]
    again = collection.retrain(RetrainOptions(if_drifted=True))
    assert again.reason == "The collection has not changed since the last retrain."
    assert len(collection.history()) == 1
    assert collection.retrain(RetrainOptions()).verdict == "swapped"  # it is not asked whether


def test_drift_makes_it_train_once(collection, no_better, tmp_path, small_samples):
    collection.index([write(tmp_path / "more.jsonl", others(12))])
    assert collection.retrain(RetrainOptions(if_drifted=True)).verdict == "refused"
    collection.index([write(tmp_path / "one.jsonl", made(61)[60:])])
    report = collection.retrain(RetrainOptions(if_drifted=True))  # what was judged is not new any more
    assert report.reason.startswith("Not enough has drifted: 1 new and 72 old documents")


# -- candidates and labelled examples ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_candidate_is_judged_and_nothing_is_trained(collection, trained, tmp_path):
    report = collection.retrain(RetrainOptions(candidate=BASE, dry_run=True))
    assert (report.verdict, trained) == ("accepted", [])
    assert collection.retrain(RetrainOptions(candidate=BASE)).verdict == "swapped"
    assert generations(collection) == [(1, "kept"), (2, "live")]


@pytest.mark.slow
def test_a_candidate_may_lie_in_any_folder(collection, trained, tmp_path):
    folder = tmp_path / "mine"
    write_bundle(replace(Registry(collection.settings.home).get(BASE), window_tokens=99), folder)
    report = collection.retrain(RetrainOptions(candidate=str(folder)))
    assert (report.verdict, report.bundle) == ("swapped", str(folder))
    with Collection.open(home=collection.settings.home) as changed:
        assert changed.settings.bundle == str(folder)


def test_the_live_encoder_is_no_candidate(collection, trained):
    with pytest.raises(QueryError, match="'minilm-phrases' is already the encoder of 'main'"):
        collection.retrain(RetrainOptions(candidate="minilm-phrases"))


def test_labelled_documents_are_not_learned_from_and_what_is_wrong_is_told(collection, trained, tmp_path):
    probe = {d.id for d in probe_of(collection)}
    free = next(d for d in collection.engine.document_ids() if d not in probe)
    lines = [{"query": f"solar wind {n}", "documents": [free]} for n in range(10)]
    file = write(tmp_path / "gold.jsonl", [*lines, {"query": "x", "documents": []}])
    report = collection.retrain(RetrainOptions(dry_run=True, ground_truth=file))
    assert trained == [45, 44]
    assert report.notes == [f'{file}:11: "documents" is empty; it must name what the query should find.']
    file.write_text(file.read_text() + json.dumps(lines[0]) + "\n")
    assert collection.retrain(
        RetrainOptions(dry_run=True, ground_truth=file)
    ).run  # another file is another question


def probe_of(collection):
    from trainer.retrain.probe import load_probe

    collection.retrain(RetrainOptions(dry_run=True))
    return load_probe(collection.settings.home / "retrain" / "main" / "probe.json.gz").documents


def test_an_encoder_of_the_users_own_cannot_be_retrained(tmp_path):
    source = write(tmp_path / "docs.jsonl", made(3))
    with Collection.open(home=tmp_path / "own", encoder=HashEncoder(), tagger=PlainPreparer()) as collection:
        collection.index([source])
        with pytest.raises(SettingsError, match=r"'hash_encoder\.HashEncoder' is a class of your own"):
            collection.retrain(RetrainOptions(dry_run=True))
