"""A copy of the live generation takes its place, with everything in it, in the embedded engine."""

from __future__ import annotations

import pytest
from small_reports import made, opened, state, write

from indexer.engines.base import Engine
from indexer.errors import CatalogError, EngineUnavailable
from indexer.runs.reindex import Reindex


@pytest.fixture
def collection(tmp_path):
    with opened(tmp_path / "home") as found:
        found.index([write(tmp_path / "docs.jsonl", made())], topics=3)
        found.rename_topic(found.topics()[0].id, "Named by hand")
        yield found


def vectors(collection):
    ids = sorted(collection.engine.document_ids())
    rows = sorted(collection.engine.mentions(ids), key=lambda row: (row.document_id, row.phrase_id))
    return [
        (r.document_id, r.phrase, r.sentence, r.score, r.topic, r.keyphrase, r.vector.tolist()) for r in rows
    ]


def test_everything_is_there_in_the_next_generation(collection, tmp_path):
    before, rows = state(collection), vectors(collection)
    report = collection.reindex()
    assert (report.replaced, report.generation, report.documents) == (1, 2, 30)
    with opened(tmp_path / "home") as copied:
        assert state(copied) == before
        assert vectors(copied) == rows
        assert "Named by hand" in {topic.label for topic in copied.topics()}
        assert copied.status().documents == {"stored": 0, "mined": 0, "done": 30}
        assert copied.index([tmp_path / "docs.jsonl"]).nothing_changed
        assert [(g.number, g.state) for g in copied.generations()] == [(1, "kept"), (2, "live")]
        assert copied.rollback().generation == 1


def test_what_happens_while_it_is_stopped_is_copied_by_the_next_call(collection, tmp_path, monkeypatch):
    def fails(self, source: Engine, target: Engine) -> None:
        raise EngineUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(Reindex, "_copy_phrases", fails)
        with pytest.raises(EngineUnavailable, match="gone"):
            collection.reindex()
    assert [(g.number, g.state) for g in collection.generations()] == [(1, "live"), (2, "unfinished")]
    records = made(33)[2:]
    records[0]["text"] = "A solar flare hit the magnetic field of the earth."
    collection.index([write(tmp_path / "docs.jsonl", records)], delete_missing=True)
    before = state(collection)
    assert collection.reindex().documents == 31
    with opened(tmp_path / "home") as copied:
        assert state(copied) == before
        assert copied.status().documents == {"stored": 0, "mined": 0, "done": 31}


def test_phrases_whose_rows_are_out_of_date_are_made_anew(collection, tmp_path):
    gone = [f"d{number:02}" for number in range(0, 30, 3)]
    collection.engine.delete(gone)  # as in a run that was killed before it wrote phrases
    collection.catalog.forget("main", gone)
    assert list(collection.engine.changed_phrases())
    collection.reindex()
    with opened(tmp_path / "home") as copied:
        rows = copied.engine.phrases(list(copied.engine.phrase_ids()))
        counts = {row.phrase_id: row.documents for row in rows}
        mentions: dict[str, int] = {}
        for row in copied.engine.mentions(sorted(copied.engine.document_ids())):
            mentions[row.phrase_id] = mentions.get(row.phrase_id, 0) + 1
        assert counts == {id_: mentions[id_] for id_ in counts}
        assert all(id_ in counts for id_, number in mentions.items() if number > 1)


def test_it_waits_for_no_retrain(collection):
    from indexer.pipeline.next_generation import building

    with (
        building(collection.catalog, "main", "indexer retrain"),
        pytest.raises(CatalogError, match="retrain"),
    ):
        collection.reindex()
