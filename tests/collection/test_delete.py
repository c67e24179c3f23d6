"""Documents are taken out, with everything that was mined from them; also when that is stopped halfway."""

from __future__ import annotations

import json
from shutil import copytree

import pytest
from hash_encoder import HashEncoder
from small_parts import PlainPreparer
from web_client import made, written

from indexer.collection import Collection
from indexer.errors import NotFound


def opened(home):
    return Collection.open(home=home, encoder=HashEncoder(), tagger=PlainPreparer())


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A home to be copied, and the file of its documents."""
    folder = tmp_path_factory.mktemp("indexed")
    source = written(folder / "docs.jsonl", made())
    with opened(folder / "home") as found:
        found.index([source], topics=3)
    return folder


@pytest.fixture
def collection(tmp_path, indexed):
    copytree(indexed, tmp_path, dirs_exist_ok=True)
    with opened(tmp_path / "home") as found:
        yield found


def sizes(collection):
    """Topic ► how many documents have it, as it says and as they say."""
    having: dict[str, int] = {}
    for stored in collection.documents():
        for one in stored.topics:
            having[one.topic_id] = having.get(one.topic_id, 0) + 1
    said = {topic.id: topic.size for topic in collection.topics()}
    recorded = {topic.id: topic.size for topic in collection.catalog.topics(collection.name)}
    return having, said, recorded


def test_a_deleted_document_leaves_nothing_behind(collection):
    gone = [f"d{i:02d}" for i in range(1, 21, 3)]  # all about oceans
    report = collection.delete(gone)
    assert (report.deleted, collection.engine.info().documents) == (7, 14)
    having, said, recorded = sizes(collection)
    assert {id_: size for id_, size in said.items() if size} == having
    assert said == recorded
    assert collection.mentions("d01") == []
    assert all(row.phrase != "sea ice" for row, _ in collection.phrases("sea ice", limit=50))
    assert collection.catalog.ledger("main", gone) == {}
    assert collection.search("salinity", mode="words").total == 0
    run = collection.catalog.runs("main")[0]
    assert (run.kind, run.state, run.counts["deleted"]) == ("delete", "finished", 7)


def test_of_documents_of_which_one_is_not_there_none_is_deleted(collection):
    with pytest.raises(NotFound, match="There is no document 'nowhere'"):
        collection.delete(["d01", "nowhere"])
    assert collection.document("d01")


class Killed(BaseException):
    """Ends a process where nobody expects it."""


@pytest.mark.parametrize(
    "step",
    ["pipeline.run.Pipeline.finish", "pipeline.finalize.Finisher._consolidate",
     "pipeline.finalize.Finisher._write_topics",
     "catalog.ledger.Ledger.forget"],
)  # fmt: skip
def test_a_delete_that_was_killed_goes_on_when_it_is_called_again(collection, step):
    def killed(*args, **kwargs):
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"indexer.{step}", killed)
        with pytest.raises(Killed):
            collection.delete(["d01"])
    assert collection.delete(["d01"]).deleted == 1
    having, said, recorded = sizes(collection)
    assert having == said == recorded
    assert collection.catalog.ledger("main", ["d01"]) == {}
    assert list(collection.engine.changed_phrases()) == []


def test_a_refit_deletes_the_phrases_that_a_killed_delete_has_left(collection, tmp_path):
    def killed(*args, **kwargs):
        raise Killed

    gone = [f"d{i:02d}" for i in range(1, 21, 3)]  # all about oceans
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indexer.pipeline.run.Pipeline.finish", killed)
        with pytest.raises(Killed):
            collection.delete(gone)
    assert any(row.phrase == "sea ice" for row, _ in collection.phrases("sea ice", limit=50))
    lines = (tmp_path / "docs.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    rest = tmp_path / "rest.jsonl"
    rest.write_text("".join(line for line in lines if json.loads(line)["id"] not in gone), encoding="utf-8")
    assert collection.index([rest], refit=True).new_fit
    assert list(collection.engine.changed_phrases()) == []
    assert all(row.phrase != "sea ice" for row, _ in collection.phrases("sea ice", limit=50))


def test_a_document_that_is_deleted_comes_back_with_its_file(collection, tmp_path):
    collection.delete(["d01"])
    assert collection.index([tmp_path / "docs.jsonl"]).new == 1
    assert collection.document("d01").keyphrases
