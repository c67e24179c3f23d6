"""A next generation beside the live one, made with another encoder, in the embedded engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest
from hash_encoder import OtherEncoder
from lock_theft import steal_locks
from small_reports import made, opened, write

from indexer.catalog import Catalog
from indexer.catalog.vocabulary import Term
from indexer.collection import Collection
from indexer.engines.local.generations import LocalGenerations
from indexer.errors import CatalogError, EngineUnavailable
from indexer.pipeline.next_generation import MiningOptions, NextGeneration, as_in, complete
from indexer.text import Preparer
from indexer.topics.fits import live_fit
from indexer.topics.models.registry import TopicRequest


@pytest.fixture(scope="module")
def indexed(tmp_path_factory) -> Path:
    """A home with 30 documents and three topics, to be copied."""
    folder = tmp_path_factory.mktemp("indexed")
    with opened(folder / "home") as collection:
        collection.index([write(folder / "docs.jsonl", made())], topics=3)
        collection.rename_topic(collection.topics()[0].id, "Named by hand")
    return folder / "home"


@pytest.fixture
def collection(tmp_path, indexed) -> Iterator[Collection]:
    copytree(indexed, tmp_path / "home")
    with opened(tmp_path / "home") as found:
        yield found


def generations(collection: Collection) -> LocalGenerations:
    return LocalGenerations(collection.settings.collection_folder)


def succession(collection: Collection, catalog: Catalog | None = None) -> NextGeneration:
    recipe = MiningOptions(
        "hash_encoder.OtherEncoder", OtherEncoder.dims, OtherEncoder, tagger="auto", taggers=0, keyphrases=10
    )
    run = collection.catalog.start_run("main", "retrain", {})
    return NextGeneration(generations(collection), catalog or collection.catalog, "main", run, recipe)


def again(collection: Collection) -> Collection:
    return Collection.open(home=collection.settings.home, tagger=Preparer())


def first_topics(collection: Collection) -> dict[str, str]:
    return {s.document.id: s.topics[0].topic_id for s in collection.documents() if s.topics}


def test_topics_and_names_survive_another_encoder(collection):
    before = {topic.id: topic.label for topic in collection.topics()}
    placed = first_topics(collection)
    with closing(succession(collection)) as following:
        named = following.build(TopicRequest(number=3))
        assert {s.bundle for s in collection.documents()} == {"hash@00000000+test"}  # nobody has seen it yet
        following.take_over(named)
    with again(collection) as changed:
        assert {s.bundle for s in changed.documents()} == {"other@00000000+test"}
        assert first_topics(changed) == placed
        assert {topic.id for topic in changed.topics()} == set(before)
        assert "Named by hand" in {topic.label for topic in changed.topics()}
        assert changed.status().documents == {"stored": 0, "mined": 0, "done": 30}
        events = changed.topic_history(next(iter(before))).events
        assert [(e.entry.kind, e.by) for e in events] == [
            ("born", "index"),
            ("renamed", ""),
            ("kept", "retrain"),
        ]
        assert changed.search("solar wind", mode="words").hits


def test_a_continued_topic_has_the_names_and_phrases_of_the_new_fit(collection):
    before = {topic.id: (topic.label, topic.phrases) for topic in collection.topics()}
    with closing(succession(collection)) as following:
        named = following.build(TopicRequest(number=3))
        with closing(generations(collection).open(following.number)) as engine:
            built = {topic.id: (topic.label, topic.phrases) for topic in engine.topics()}
        following.take_over(named)
    with again(collection) as changed:
        assert {topic.id: (topic.label, topic.phrases) for topic in changed.topics()} == built
    assert built != before
    assert built.keys() == before.keys()


@pytest.mark.slow
def test_who_has_it_open_goes_on_with_the_other_encoder(collection, monkeypatch, tmp_path):
    monkeypatch.setattr("indexer.collection.base.POLL_INTERVAL_S", 0.0)
    id_ = collection.search("", mode="words").hits[0].stored.document.id
    text = collection.document(id_).document.content
    with closing(succession(collection)) as following:
        following.take_over(following.build(TopicRequest(number=3)))
    best = collection.search(text, mode="meaning").hits[0]
    assert best.stored.document.id == id_
    assert best.score > 0.95  # of vectors of different encoders it would be near 0
    assert collection.encoder.bundle == "other@00000000+test"
    report = collection.index([write(tmp_path / "later.jsonl", [{"id": "later", "text": text}])])
    assert report.bundle == collection.document("later").bundle == "other@00000000+test"


@pytest.mark.slow
def test_a_rename_is_of_the_topics_that_are_live_by_now(collection, monkeypatch):
    id_ = collection.topics()[0].id
    monkeypatch.setattr(
        "indexer.collection.base.POLL_INTERVAL_S", 3_600.0
    )  # nobody has looked for another generation
    with closing(succession(collection)) as following:
        following.take_over(following.build(TopicRequest(number=3)))
    collection.rename_topic(id_, "Of the next one")
    with again(collection) as changed:
        assert {topic.id: topic.label for topic in changed.topics()}[id_] == "Of the next one"


@pytest.mark.slow
def test_what_happens_meanwhile_is_there_afterwards(collection, indexed):
    source = indexed.parent / "docs.jsonl"  # which nobody else reads again
    with closing(succession(collection)) as following:
        named = following.build(TopicRequest(number=3))
        records = made(36)[1:]  # one is gone, six are new
        records[4]["text"] = "A solar flare hit the magnetic field of the earth."
        collection.index([write(source, records)], delete_missing=True)
        collection.rename_topic(collection.topics()[-1].id, "Renamed meanwhile")
        following.take_over(named)
    with again(collection) as changed:
        found = {s.document.id: s for s in changed.documents()}
        assert sorted(found) == [record["id"] for record in records]
        assert found["d05"].document.text.startswith("A solar flare")
        assert {s.bundle for s in found.values()} == {"other@00000000+test"}
        assert all(s.topics for s in found.values())
        assert {"Named by hand", "Renamed meanwhile"} <= {topic.label for topic in changed.topics()}
        assert changed.status().documents == {"stored": 0, "mined": 0, "done": 35}


def test_nothing_takes_over_under_a_lock_that_was_lost(collection, monkeypatch):
    with closing(succession(collection)) as following:
        named = following.build(TopicRequest(number=3))
        with collection.catalog.lock("main", "indexer retrain"):
            steal_locks(collection.settings.database, monkeypatch)
            with pytest.raises(CatalogError, match="was lost"):
                following.take_over(named)
        assert generations(collection).live() == 1
        assert [e.live for e in collection.catalog.generations("main").values()] == []


@pytest.mark.slow
def test_topics_that_are_merged_meanwhile_stay_one(collection):
    into, other, _ = (topic.id for topic in collection.topics())
    with closing(succession(collection)) as following:
        named = following.build(TopicRequest(number=3))
        assert other in named.ids  # it continues both
        collection.merge_topics(into, [other])
        following.take_over(named)
    with again(collection) as changed:
        assert other not in {topic.id for topic in changed.topics()}
        assert other not in set(first_topics(changed).values())
        assert changed.topic_history(other).successors == (into,)


@pytest.mark.slow
def test_topics_that_are_fitted_anew_meanwhile_are_continued(collection, tmp_path):
    """Three topics become five while the next generation is built, and it goes on with the five."""
    with closing(succession(collection)) as following:
        named = following.build(TopicRequest(number=3))
        collection.index([], refit=True, topics=5)
        between = {topic.id for topic in collection.topics()}
        assert len(between) == 5
        last = following.take_over(named)
    told = [entry for entry in collection.catalog.all_lineage("main") if entry.run == last.run]
    assert {entry.old_id for entry in told if entry.old_id} == between
    with again(collection) as changed:
        assert len(changed.topics()) == 5
        assert collection.catalog.live_fit("main").run == last.run


def test_a_second_build_goes_on_where_the_first_was_killed(collection, monkeypatch):
    class Killed(BaseException):
        pass

    def dies(self):
        raise Killed

    with monkeypatch.context() as patch, closing(succession(collection)) as following:
        patch.setattr(NextGeneration, "_ancestors", dies)
        with pytest.raises(Killed):
            following.build(TopicRequest(number=3))
    assert [one.state for one in generations(collection).all()] == ["live", "unfinished"]
    encoder = OtherEncoder()
    with closing(succession(collection)) as following:
        monkeypatch.setattr(
            following,
            "_options",
            MiningOptions("hash_encoder.OtherEncoder", encoder.dims, lambda: encoder, "auto", 0, 10),
        )
        following.take_over(following.build(TopicRequest(number=3)))
    assert encoder.windows == []  # no document was encoded again
    assert [one.state for one in generations(collection).all()] == ["kept", "live"]


@pytest.mark.slow
def test_a_leftover_of_other_weights_under_the_same_name_is_removed(collection, monkeypatch):
    """One generation never has vectors of two encoders."""
    with closing(succession(collection)) as following:
        following.keep_up()
        following.mine()
    monkeypatch.setattr(OtherEncoder, "bundle", "other@11111111+test")
    with closing(succession(collection)) as following:
        following.take_over(following.build(TopicRequest(number=3)))
    with again(collection) as changed:
        assert {s.bundle for s in changed.documents()} == {"other@11111111+test"}


def test_a_leftover_of_another_backend_is_gone_on_with(collection, monkeypatch):
    with closing(succession(collection)) as following:
        following.keep_up()
        following.mine()
    monkeypatch.setattr(OtherEncoder, "bundle", "other@00000000+faster")
    monkeypatch.setattr(OtherEncoder, "encode", lambda *_: pytest.fail("all is mined"))
    with closing(succession(collection)) as following:
        assert following.build(TopicRequest(number=3)) is not None


def test_a_leftover_of_another_bundle_is_removed(collection):
    with closing(generations(collection).make(16, bundle="third")):
        pass
    with closing(succession(collection)) as following:
        assert following.number == 2
    assert [one.bundle for one in generations(collection).all() if one.state == "unfinished"] == [
        "hash_encoder.OtherEncoder"
    ]


def test_killed_after_the_switch_the_catalog_is_told_later(collection, monkeypatch):
    monkeypatch.setattr("indexer.pipeline.next_generation.complete", lambda *_: False)
    with closing(succession(collection)) as following:
        following.take_over(following.build(TopicRequest(number=3)))
    assert collection.catalog.live_fit("main").run != following._run
    assert complete(generations(collection), collection.catalog, "main")
    assert not complete(generations(collection), collection.catalog, "main")  # nothing is left to do
    assert collection.catalog.live_fit("main").run == following._run
    with again(collection) as changed:
        assert changed.status().documents == {"stored": 0, "mined": 0, "done": 30}


def test_before_the_switch_nothing_of_it_shows(collection, monkeypatch):
    before = json.dumps([vars(run) for run in collection.catalog.runs("main")][1:], default=str)

    def fails(*_):
        raise EngineUnavailable("gone")

    with closing(succession(collection)) as following:
        named = following.build(TopicRequest(number=3))
        monkeypatch.setattr(following._generations.__class__, "switch", fails)
        with pytest.raises(EngineUnavailable):
            following.take_over(named)
    assert collection.status().documents == {"stored": 0, "mined": 0, "done": 30}
    assert {s.bundle for s in collection.documents()} == {"hash@00000000+test"}
    assert json.dumps([vars(run) for run in collection.catalog.runs("main")][2:], default=str) in before


def test_tree_vocabulary_and_corrections_survive_another_encoder_and_the_way_back(collection):
    terms = [
        Term("earth", "On earth"),
        Term("law", "Taxes", ("tax law", "income tax", "tax court"), "earth"),
        Term("sea", "Sea", ("deep sea fish", "ocean floor", "marine bacteria"), "earth"),
        Term("space", "Space", ("solar wind", "solar corona", "magnetic field")),
    ]
    collection.add_terms(terms, strict=True)
    collection.correct_topic("Taxes", ["d00"])  # which is about space

    def tree(of):
        (taxes,) = [topic.id for topic in of.topics() if topic.term == "law"]
        assert [weight.topic_id for weight in of.document("d00").topics] == [taxes]
        return {(t.id, t.label, t.parent, t.term, t.size) for t in of.topic_tree().topics}

    before = tree(collection)
    assert {label for _, label, *_ in before} == {"On earth", "Taxes", "Sea", "Space"}
    assert any(parent for _, _, parent, *_ in before)
    with closing(succession(collection)) as following:
        following.take_over(following.build(as_in(live_fit(collection.catalog, "main"))))
    with again(collection) as changed:
        assert {s.bundle for s in changed.documents()} == {"other@00000000+test"}
        assert tree(changed) == before
        (run,) = changed.catalog.runs("main", 1, kinds=("retrain",))
        changed.catalog.finish_run(run.id, "finished", {})
        changed.rollback()
    with opened(collection.settings.home) as back:
        assert tree(back) == before
        assert not back.index([]).new_fit
