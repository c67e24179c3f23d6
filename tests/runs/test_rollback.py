"""The way back to an earlier generation, in the embedded engine, and with ``-m live`` in Elasticsearch."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from hash_encoder import HashEncoder, OtherEncoder
from services.asking import asked_for, needs
from services.elastic import elasticsearch, no_indices
from small_parts import PlainPreparer
from small_reports import made, write

from indexer.collection import Collection
from indexer.engines.registry import open_generations
from indexer.errors import BundleMissing, CatalogError, NotFound
from indexer.pipeline.next_generation import MiningOptions, NextGeneration, remove_generation
from indexer.runs.rollback import RollbackReport
from indexer.topics.models.registry import TopicRequest

OLD, NEW = "hash_encoder.HashEncoder", "hash_encoder.OtherEncoder"
ENCODERS = {OLD: HashEncoder, NEW: OtherEncoder}
MADE_BY = {HashEncoder.bundle: OLD, OtherEncoder.bundle: NEW, "": ""}


@dataclass(frozen=True)
class Place:
    """A collection of 30 documents on three subjects, with a topic of each, mined with `OLD`."""

    folder: Path
    source: Path
    flags: dict[str, Any]

    def open(self) -> Collection:
        return Collection.open(home=self.folder / "home", encoder=OLD, tagger=PlainPreparer(), **self.flags)

    def index(self, records: list[dict[str, Any]]) -> None:
        with self.open() as collection:
            collection.index([write(self.source, records)], delete_missing=True)

    def swap(self, topics: int = 3, bundle: str = NEW) -> None:
        """What a retrain does at its end."""
        with self.open() as collection, closing(open_generations(collection.settings)) as generations:
            recipe = MiningOptions(
                bundle, HashEncoder.dims, ENCODERS[bundle], tagger=PlainPreparer(), keyphrases=10
            )
            run = collection.catalog.start_run("main", "retrain", {})
            with closing(NextGeneration(generations, collection.catalog, "main", run, recipe)) as following:
                following.take_over(following.build(TopicRequest(number=topics)))
            collection.catalog.finish_run(run, "finished", {"verdict": "swapped"})

    def back(
        self, to: int | None = None, switched: Callable[[RollbackReport], None] = print
    ) -> RollbackReport:
        with self.open() as collection:
            return collection.rollback(to, switched=switched)

    def generations(self) -> list[tuple[int, str]]:
        with self.open() as collection, closing(open_generations(collection.settings)) as generations:
            return [(one.number, one.state) for one in generations.all()]


ELASTIC = pytest.param("9.2", marks=needs("elasticsearch-9.2"))
_made: dict[str, Path] = {}  # the source, and homes in the embedded engine that were made once, to be copied


@pytest.fixture
def made_place(tmp_path, tmp_path_factory) -> Iterator[Callable[[str, bool], Place]]:
    """Gives a place in an engine, with a swap and later documents or without."""
    prefix = "test-rollback"
    urls: list[str] = []

    source = _made.setdefault("source", tmp_path_factory.mktemp("source")) / "docs.jsonl"

    def make(folder: Path, flags: dict[str, Any], swapped: bool) -> Place:
        place = Place(folder, source, flags)
        with place.open() as collection:
            collection.index([write(source, made())], topics=3)
        if swapped:
            place.swap()
            place.index(later())
        return place

    def found(engine: str, swapped: bool = False) -> Place:
        if engine != "local":
            urls.append(elasticsearch(engine))
            return make(tmp_path, {"engine": urls[0], "index_prefix": prefix}, swapped)
        name = "swapped" if swapped else "indexed"
        if name not in _made:
            _made[name] = make(tmp_path_factory.mktemp(name), {}, swapped).folder
        shutil.copytree(_made[name] / "home", tmp_path / "home")
        return Place(tmp_path, source, {})

    yield found
    for url in urls:
        no_indices(url, f"{prefix}-*")


@pytest.fixture(params=["local", ELASTIC])
def engine(request) -> str:
    if request.param != "local" and not asked_for(request.config):
        pytest.skip("Needs Elasticsearch: run with -m live.")
    return str(request.param)


@pytest.fixture
def place(engine, made_place) -> Place:
    return made_place(engine)


@pytest.fixture
def local(made_place) -> Place:
    return made_place("local")


CHANGED = "A solar flare hit the magnetic field of the earth."


def later() -> list[dict[str, Any]]:
    """One document has gone, one has changed, six have come."""
    records = made(36)[1:]
    records[4]["text"] = CHANGED
    return records


def state(collection: Collection) -> dict[str, Any]:
    """Everything that a disturbed and an undisturbed way back must have in common."""
    documents = {
        s.document.id: (s.document.text, MADE_BY[s.bundle], [k.text for k in s.keyphrases], s.topics)
        for s in collection.documents()
    }
    fit = collection.catalog.live_fit("main")
    return {
        "documents": documents,
        "topics": sorted((t.id, t.label, t.size) for t in collection.topics()),
        "catalog": sorted((t.id, t.label, t.size) for t in collection.catalog.topics("main")),
        "fit": fit.run if fit else "",
        "ledger": collection.catalog.count("main"),
        "bundles": {e.bundle for e in collection.catalog.ledger("main", list(documents)).values()},
        "bundle": collection.settings.bundle,
    }


# -- what is there -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_old_answers_are_back_at_once_and_what_came_since_is_among_them(place):
    with place.open() as collection:
        before = state(collection)
    place.swap()
    place.index(later())
    seen: dict[str, Any] = {}

    def look(report: RollbackReport) -> None:
        """When searches see the earlier generation, and nothing of what came since has been mined."""
        with place.open() as collection:
            found = {s.document.id: s for s in collection.documents()}
            seen["ids"] = sorted(found)
            seen["not mined"] = sorted(id_ for id_, s in found.items() if not s.bundle)
            seen["same"] = {id_: s.topics for id_, s in found.items() if s.bundle}
            seen["words"] = {hit.stored.document.id for hit in collection.search("flare", mode="words").hits}
            seen["facet"] = {v: n for v, _, n in collection.search("", facets=("kind",)).facets[0].values}
            seen["report"] = (report.generation, report.replaced, report.written, report.removed)

    report = place.back(switched=look)
    assert seen["report"] == (1, 2, 7, 1)
    assert seen["ids"] == [record["id"] for record in later()]
    assert seen["not mined"] == ["d05", *(f"d{n}" for n in range(30, 36))]
    assert seen["same"] == {id_: before["documents"][id_][3] for id_ in seen["same"]}
    assert seen["words"] == {"d05"}
    assert seen["facet"] == {"law": 12, "sea": 12, "space": 11}
    assert (report.verdict, report.bundle, report.mined) == ("rolled back", OLD, 7)
    with place.open() as collection:
        after = state(collection)
        assert (after["fit"], after["bundle"]) == (before["fit"], OLD)
        assert after["bundles"] == {HashEncoder.bundle}
        assert after["ledger"] == {"stored": 0, "mined": 0, "done": 35}
        assert {id_: row[1] for id_, row in after["documents"].items()} == dict.fromkeys(
            after["documents"], OLD
        )
        assert all(row[3] for row in after["documents"].values())
        assert [t[:2] for t in after["topics"]] == [t[:2] for t in before["topics"]]
        assert sum(size for _, _, size in after["topics"]) == 35
        assert after["catalog"] == after["topics"]
        nearest = collection.search(CHANGED, mode="meaning", limit=1).hits
        assert nearest[0].stored.document.id == "d05"
        (run, _) = collection.history()
        assert (run.kind, run.options, run.counts["written"]) == ("rollback", {"from": 2, "to": 1}, 7)
        assert run.started_by.count("@") == 1
    assert place.generations() == [(1, "live"), (2, "kept")]


@pytest.mark.slow
def test_forward_again_is_the_same_way(place):
    place.swap()
    with place.open() as collection:
        there = state(collection)
    place.back()
    place.index(later())
    report = place.back(to=2)
    assert (report.generation, report.replaced, report.written, report.removed) == (2, 1, 7, 1)
    with place.open() as collection:
        again = state(collection)
        assert (again["fit"], again["bundle"]) == (there["fit"], NEW)
        assert again["ledger"] == {"stored": 0, "mined": 0, "done": 35}
        assert [t[:2] for t in again["topics"]] == [t[:2] for t in there["topics"]]
    assert place.generations() == [(1, "kept"), (2, "live")]


@pytest.mark.slow
def test_names_that_were_given_by_hand_since_stay(place):
    with place.open() as collection:
        first, second, _ = (topic.id for topic in collection.topics())
        collection.rename_topic(first, "Before")
    place.swap()
    with place.open() as collection:
        collection.rename_topic(second, "After")
    place.back()
    with place.open() as collection:
        labels = {topic.id: topic.label for topic in collection.topics()}
        assert (labels[first], labels[second]) == ("Before", "After")
        assert state(collection)["catalog"] == state(collection)["topics"]


@pytest.mark.slow
def test_topics_of_the_later_generation_lead_to_those_that_are_back(place):
    with place.open() as collection:
        old = {topic.id for topic in collection.topics()}
    place.swap(topics=5)
    with place.open() as collection:
        new = {topic.id for topic in collection.topics()} - old
        assert len(new) == 2
    place.back()
    with place.open() as collection:
        assert {topic.id for topic in collection.topics()} == old
        for id_ in new:
            found = collection.topic_history(id_)
            assert found.entry.state == "retired"
            assert [event.by for event in found.events] == ["retrain", "rollback"]
            kind = found.events[-1].entry.kind
            assert (kind == "retired") == (not found.successors)
            assert set(found.successors) <= old
            if found.successors:
                assert collection.topic_id(id_) in old
    place.swap(topics=5)  # the same vectors once more
    with place.open() as collection:
        born = {topic.id for topic in collection.topics()} - old
        assert born
        assert not born & new  # no id is given out twice


@pytest.mark.slow
def test_a_generation_goes_back_to_the_one_that_it_replaced(place):
    place.swap()
    place.back()
    place.swap()  # generation 3, beside 2
    assert place.back().generation == 1
    with pytest.raises(NotFound, match="Generation 1 of 'main' replaced none") as caught:
        place.back()
    assert caught.value.hint.endswith("(2, 3)")


def test_the_live_one_needs_no_way(place):
    report = place.back(to=1)
    assert (report.verdict, report.reason) == ("nothing", "Generation 1 is live, and complete.")
    with place.open() as collection:
        assert collection.history() == []


# -- what stands in the way ----------------------------------------------------------------------------------


def test_what_is_not_there_is_named(local):
    local.swap()
    with pytest.raises(NotFound, match="no generation 7 of 'main' to go to") as caught:
        local.back(to=7)
    assert caught.value.hint == "Name one of these: indexer rollback --to NUMBER (1)"
    with local.open() as collection, closing(open_generations(collection.settings)) as generations:
        remove_generation(generations, collection.catalog, "main", 1)
    with pytest.raises(NotFound, match="no generation 1 of 'main' to go to"):
        local.back()


def test_a_generation_whose_encoder_is_gone_stays_where_it_is(local, monkeypatch):
    local.swap()

    def gone(name, home):
        raise BundleMissing(f"There is no bundle '{name}'.")

    with local.open() as collection:
        monkeypatch.setattr("models.load.encoder_dims", gone)
        with pytest.raises(BundleMissing, match=OLD):
            collection.rollback()
    monkeypatch.undo()
    assert local.generations() == [(1, "kept"), (2, "live")]


def test_nobody_goes_back_while_a_retrain_or_workers_are_at_it(local):
    local.swap()
    with local.open() as collection:
        with (
            collection.catalog.lock("main@retrain", "indexer retrain"),
            pytest.raises(CatalogError, match="are being made or removed by indexer retrain"),
        ):
            collection.rollback()
        collection.catalog.start_run("main", "index", {}, detached=True)
        with pytest.raises(CatalogError, match=r"Workers are at the run \w+ \(index\) of collection 'main'"):
            collection.rollback()
    assert local.generations() == [(1, "kept"), (2, "live")]


# -- killed --------------------------------------------------------------------------------------------------

BEFORE, AFTER = "before", "after"
STEPS = [  # where the process dies, and which generation is live then
    ("indexer.pipeline.next_generation:Catalog.record", BEFORE, 2),
    ("indexer.runs.rollback:carry_over_labels", BEFORE, 2),
    ("indexer.runs.rollback:Catalog.plan_switch", BEFORE, 2),
    ("indexer.runs.rollback:Catalog.plan_switch", AFTER, 2),
    ("GENERATIONS.switch", AFTER, 1),
    ("indexer.pipeline.next_generation:Catalog.switch_generation", AFTER, 1),
    ("indexer.pipeline.run:write_chunk", BEFORE, 1),
    ("indexer.pipeline.run:write_chunk", AFTER, 1),
    ("indexer.pipeline.run:Pipeline.finish", BEFORE, 1),
    ("indexer.pipeline.finalize:Finisher._mark_done", BEFORE, 1),
    ("indexer.runs.rollback:Catalog.finish_run", BEFORE, 1),
]
GENERATIONS = {
    "local": "indexer.engines.local.generations:LocalGenerations",
    "9.2": "indexer.engines.elastic.generations:ElasticGenerations",
}


# Of the twenty-two ways one before, one during and one after the switch are fast enough for every run of the tests.
FAST = (
    (("indexer.runs.rollback:Catalog.plan_switch", AFTER, 2), "rollback"),
    (("GENERATIONS.switch", AFTER, 1), "index"),
    (("indexer.pipeline.run:write_chunk", AFTER, 1), "rollback"),
)
KILLS = [
    pytest.param(*step, by, marks=() if (step, by) in FAST else pytest.mark.slow)
    for step in STEPS
    for by in ("rollback", "index")
]


def die(where: str, when: str) -> None:
    """End this process without a word when it comes to a function."""
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    real = getattr(owner, name)

    @wraps(real)
    def dies(*args: Any, **kwargs: Any) -> Any:
        if when == AFTER:
            real(*args, **kwargs)
        os._exit(9)

    setattr(owner, name, dies)


def killed(place: Place, where: str, when: str) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            die(where, when)
            place.back()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


_undisturbed: dict[str, Any] = {}


@pytest.fixture
def undisturbed(made_place, tmp_path) -> dict[str, Any]:
    """How it ends when nothing comes in between; in the embedded engine, which is fast."""
    if not _undisturbed:
        place = made_place("local", True)
        place.back()
        with place.open() as collection:
            _undisturbed.update(state(collection))
        shutil.rmtree(place.folder / "home")
    return _undisturbed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="There is no fork on this system.")
@pytest.mark.parametrize(("where", "when", "live", "by"), KILLS)
def test_killed_anywhere_the_next_command_ends_it(undisturbed, made_place, engine, where, when, live, by):
    place = made_place(engine, True)
    with place.open() as collection:
        before = state(collection)
    killed(place, where.replace("GENERATIONS", GENERATIONS[engine]), when)
    assert dict(place.generations())[live] == "live"
    if by == "rollback":
        place.back()
    else:
        place.index(later())
    with place.open() as collection:
        after = state(collection)
        assert collection.catalog.lock_holder("main") is None
    if by == "index" and live == 2:  # nothing had happened, and nobody asked for it again
        assert after == before
        return
    assert after == {**undisturbed, "fit": after["fit"]}  # the run that fitted this collection's topics
    assert place.generations() == [(1, "live"), (2, "kept")]


@pytest.mark.slow
def test_ctrl_c_while_mining_is_gone_on_with(local, monkeypatch):
    local.swap()
    local.index(later())

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("indexer.pipeline.run.write_chunk", interrupted)
        with pytest.raises(KeyboardInterrupt):
            local.back()
    report = local.back()
    assert (report.verdict, report.generation, report.replaced, report.mined) == ("resumed", 1, 0, 7)
    with local.open() as collection:
        assert [run.state for run in collection.history()] == ["finished", "interrupted", "finished"]


# -- runs that are left between the switch and the catalog ---------------------------------------------------


@pytest.mark.slow
def test_an_empty_generation_that_replaced_all_others_is_no_riddle(local):
    """What `enrich --undo` does, killed before it told the catalog."""
    local.swap()
    with local.open() as collection, closing(open_generations(collection.settings)) as generations:
        generations.make(HashEncoder.dims, bundle=NEW).close()
        generations.switch(3)
        for number in (1, 2):
            generations.remove(number)
    local.index(made(3))
    with local.open() as collection:
        assert collection.catalog.generations("main") == {}
        assert collection.catalog.count("main")["done"] == 3


@pytest.mark.slow
def test_json_of_a_report_is_plain(local):
    local.swap()
    counts = local.back().counts()
    assert json.loads(json.dumps(counts)) == counts
