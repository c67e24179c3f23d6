"""Runs on an index of somebody else's, which is in memory here; with a server: tests/engines/elastic/test_enrich.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress

import pytest
from hash_encoder import HashEncoder, OtherEncoder
from lock_theft import steal_locks
from small_parts import PlainPreparer
from small_reports import made
from user_index import OPTIONS, UserIndexInMemory

from indexer.collection import Collection
from indexer.engines.elastic.bulk import Action, BulkFailure
from indexer.engines.registry import open_generations
from indexer.errors import CatalogError, EngineUnavailable
from indexer.pipeline.next_generation import MiningOptions, NextGeneration
from indexer.runs.enrich_watch import Enriching
from indexer.topics.models.registry import TopicRequest


@pytest.fixture
def index(monkeypatch) -> UserIndexInMemory:
    index = UserIndexInMemory()
    for record in made(12):
        index.put(record["id"], {"text": record["text"]})
    monkeypatch.setattr(Enriching, "_documents", index.opened)
    return index


@pytest.fixture
def collection(tmp_path, index, monkeypatch) -> Iterator[Collection]:
    monkeypatch.setattr("indexer.collection.base.POLL_INTERVAL_S", 0.0)
    with Collection.open(home=tmp_path / "home", encoder=HashEncoder(), tagger=PlainPreparer()) as opened:
        yield opened


def watched(collection: Collection, *looks: Callable[[], object]):
    """What a watch yields while these things happen, one before each look; nothing more is asked after them."""
    waiting = list(looks)

    class Over(Exception):
        pass

    def pause(seconds: float) -> None:
        if not waiting:
            raise Over
        waiting.pop(0)()

    with suppress(Over):
        yield from collection.watch("news", OPTIONS, every=0, pause=pause)


def swap(collection: Collection) -> None:
    """What a retrain does at its end, in another process."""
    recipe = MiningOptions(
        "hash_encoder.OtherEncoder", OtherEncoder.dims, OtherEncoder, tagger=PlainPreparer(), keyphrases=10
    )
    with (
        Collection.open(home=collection.settings.home) as other,
        closing(open_generations(other.settings)) as generations,
    ):
        run = other.catalog.start_run("main", "retrain", {})
        with closing(NextGeneration(generations, other.catalog, "main", run, recipe)) as following:
            following.take_over(following.build(TopicRequest(number=3)))
        other.catalog.finish_run(run, "finished", {})


def test_a_watch_tells_of_what_is_written_and_of_nothing_else(collection, index):
    def write() -> None:
        index.put("new", {"text": "A volcano erupts near the sea ice."})

    found = [(r.new + r.changed, r.written) for r in watched(collection, print, write, print)]
    assert found == [(12, 12), (1, 1)]
    assert index.ours("new")["topics"]


def test_a_watch_goes_on_with_the_generation_that_has_taken_over(collection, index):
    reports = list(watched(collection, lambda: swap(collection), print, print))
    assert [report.written for report in reports] == [12, 12]
    assert {index.ours(id_)["bundle"] for id_ in index.sources} == {OtherEncoder.bundle}


def test_a_watch_writes_what_topics_are_called_now(collection, index):
    def rename() -> None:
        collection.rename_topic(collection.topics()[0].id, "Named by hand")

    first, second = watched(collection, rename, print)
    assert first.written == 12
    labels = [label for id_ in index.sources for label in index.ours(id_)["topic_labels"]]
    assert labels.count("Named by hand") == second.written > 0


def test_a_watch_waits_for_a_lock_and_loses_nothing_of_what_it_saw_meanwhile(collection, index, capsys):
    with ExitStack() as held:

        def write_while_locked() -> None:
            held.enter_context(collection.catalog.lock("main", "somebody"))
            index.put("new", {"text": "A volcano erupts near the sea ice."})

        first, second = watched(collection, write_while_locked, print, held.close, print)
    assert (first.new, second.new, second.written) == (12, 1, 1)
    assert "is being written by somebody" in capsys.readouterr().err


@pytest.mark.parametrize("error", [EngineUnavailable("Away."), CatalogError("Away.")])
def test_a_watch_outlives_servers_that_are_away(collection, index, error):
    def go_away() -> None:
        index.put("new", {"text": "A volcano erupts near the sea ice."})
        index.refresh = fail

    def fail() -> None:
        del index.refresh
        raise error

    first, second = watched(collection, go_away, print, print)
    assert (first.new, second.new) == (12, 1)


def test_the_first_look_of_a_watch_tells_what_is_wrong(collection):
    with collection.catalog.lock("main", "somebody"), pytest.raises(CatalogError, match="somebody"):
        next(collection.watch("news", OPTIONS))


def unfinished(collection: Collection) -> list[str]:
    """What a retrain leaves that is killed while it builds; returns the states of all generations."""
    with closing(open_generations(collection.settings)) as generations:
        generations.make(HashEncoder.dims, bundle="hash_encoder.OtherEncoder").close()
        return [one.state for one in generations.all()]


def test_undoing_takes_back_all_beside_an_unfinished_generation(collection, index):
    collection.enrich("news", OPTIONS)
    assert unfinished(collection) == ["live", "unfinished"]
    assert collection.undo_enrich("news", OPTIONS) == 12
    assert not any(index.ours(id_) for id_ in index.sources)
    with closing(open_generations(collection.settings)) as generations:
        assert [(one.state, one.documents) for one in generations.all()] == [("live", 0)]
    assert collection.enrich("news", OPTIONS).new == 12


def test_undoing_waits_for_a_retrain_before_it_takes_anything_back(collection, index):
    collection.enrich("news", OPTIONS)
    with (
        collection.catalog.lock("main@retrain", "indexer retrain"),
        pytest.raises(CatalogError, match="are being made or removed by indexer retrain"),
    ):
        collection.undo_enrich("news", OPTIONS)
    collection.catalog.start_run("main", "retrain", {}, detached=True)
    with pytest.raises(CatalogError, match="Workers are at a retrain of 'main'"):
        collection.undo_enrich("news", OPTIONS)
    assert all(index.ours(id_) for id_ in index.sources)
    assert collection.status().documents["done"] == 12


def test_undoing_is_refused_while_somebody_watches(collection, index):
    def undo() -> None:
        with pytest.raises(
            CatalogError, match="'news' is kept up to date by indexer enrich --watch"
        ) as caught:
            collection.undo_enrich("news", OPTIONS)
        assert caught.value.hint.startswith("Stop that first, by Ctrl-C there.")
        assert collection.status().watching.startswith("indexer enrich --watch (pid ")
        said.append("refused")

    said: list[str] = []
    assert len(list(watched(collection, undo))) == 1
    assert said == ["refused"]
    assert all(index.ours(id_) for id_ in index.sources)
    assert collection.undo_enrich("news", OPTIONS) == 12  # nobody watches any more
    assert collection.status().watching == ""


def test_a_watch_that_slept_while_all_was_undone_ends(collection, index, monkeypatch):
    def sleep() -> None:
        steal_locks(collection.settings.database, monkeypatch)
        index.put("new", {"text": "A volcano erupts near the sea ice."})

    with pytest.raises(CatalogError, match="The lock on collection 'main' was lost"):
        list(watched(collection, sleep, print, print))
    assert not index.ours("new")


def test_a_watch_sees_a_text_that_goes_while_a_document_without_text_comes(collection, index):
    def change() -> None:
        index.delete("d03")
        index.put("picture", {"caption": "It has no text."})

    first, second = watched(collection, print, change, print)
    assert (first.new, second.deleted) == (12, 1)
    assert "d03" not in list(collection.engine.document_ids())


@pytest.mark.parametrize("text", ["", 7])  # gone, or none
def test_a_document_whose_text_goes_is_as_it_was_before_it_was_enriched(collection, index, text):
    def change() -> None:
        index.put("d03", {**index.sources["d03"], "text": text})

    _, second = watched(collection, change, print, print)
    assert second.written == 1
    assert index.sources["d03"] == {"text": text}
    assert "d03" not in list(collection.engine.document_ids())


def test_documents_whose_results_the_server_refuses_are_dead_letters(collection, index, monkeypatch):
    for number in range(12):
        index.put(f"more{number:02}", {"text": "A volcano erupts near the sea ice."})
    index.put("odd", {"text": 7})

    def refuse(wanted):
        codes = {row.id: 404 if row.id == "d00" else 400 for row, _ in wanted}  # one was deleted meanwhile
        return [
            BulkFailure(Action("update", "news", id_), code, "too many fields") for id_, code in codes.items()
        ]

    with monkeypatch.context() as patch:
        patch.setattr(index, "write", refuse)
        report = collection.enrich("news", OPTIONS)
    assert (report.mined, report.written, report.deleted, report.failed) == (24, 0, 1, 24)
    assert len(report.problems) == 20  # one was of reading
    assert report.problems[-1].endswith(": too many fields")
    assert "d00" not in list(collection.engine.document_ids())
    letters = {letter.document_id: letter for letter in collection.dead_letters()}
    assert (len(letters), letters["more00"].reason) == (24, "elasticsearch:news/more00: too many fields")


def test_empty_objects_of_earlier_versions_go(collection, index):
    index.put("none", {"text": "", "indexer": {"hash": "", "topics": [], "keyphrases": []}})
    assert collection.enrich("news", OPTIONS).written == 13
    assert index.sources["none"] == {"text": ""}


def test_a_watch_compares_ids_only_when_something_may_be_gone(collection, index, monkeypatch):
    asked = []
    monkeypatch.setattr(index, "ids", lambda: asked.append(len(asked)) or iter(index.sources))

    def write() -> None:
        index.put("new", {"text": "A volcano erupts near the sea ice."})

    reports = list(watched(collection, print, write, print, lambda: index.delete("new"), print))
    assert asked == [0, 1]  # in the first look, and when one was deleted
    assert [report.deleted for report in reports] == [0, 0, 1]
