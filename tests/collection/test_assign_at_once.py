"""Documents that are mined while there are topics get them when they are written."""

from __future__ import annotations

import pytest
from small_reports import SUBJECTS, made, opened, state, write

from indexer.engines.local import LocalEngine
from indexer.pipeline.run import Pipeline

SAMPLE = 64


def mined_in_two_steps(patch):
    """As when no document gets its topics before the end of the run."""
    whole = Pipeline.mine
    patch.setattr(Pipeline, "mine", lambda self, report, *_, **__: whole(self, report))


@pytest.fixture
def refined(monkeypatch):
    """Documents that are written a second time, to get their topics."""
    found = []
    whole = LocalEngine.refine

    def refine(self, rows):
        rows = list(rows)
        found.extend(row.id for row in rows)
        return whole(self, rows)

    monkeypatch.setattr(LocalEngine, "refine", refine)
    return found


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr("indexer.pipeline.topic_fit.SAMPLE_DOCUMENTS", SAMPLE)


def test_only_the_sample_is_written_twice_and_all_is_as_in_two_steps(tmp_path, monkeypatch, refined):
    source = write(tmp_path / "a.jsonl", made(150))
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        found = state(collection)
    assert len(refined) == SAMPLE
    with monkeypatch.context() as patch, opened(tmp_path / "other") as collection:
        mined_in_two_steps(patch)
        collection.index([source], topics=3)
        assert state(collection) == found
    assert len(refined) == SAMPLE + 150


def test_further_documents_are_written_once(tmp_path, monkeypatch, refined):
    more = write(tmp_path / "b.jsonl", [{"id": f"x{i}", "text": SUBJECTS["law"]} for i in range(5)])
    found = []
    for name, in_two_steps in (("home", False), ("other", True)):
        with monkeypatch.context() as patch, opened(tmp_path / name) as collection:
            collection.index([write(tmp_path / "a.jsonl", made(60))], topics=3)
            refined.clear()
            if in_two_steps:
                mined_in_two_steps(patch)
            report = collection.index([more])
            assert len(refined) == (5 if in_two_steps else 0)
            found.append((state(collection), report.without_topic))
    assert found[0] == found[1]


@pytest.mark.parametrize("batch", [1, 2])  # of 64 documents: the sample, and those that follow it
def test_a_run_that_was_killed_ends_as_another_one(tmp_path, monkeypatch, batch):
    source = write(tmp_path / "a.jsonl", made(150))
    with opened(tmp_path / "whole") as collection:
        collection.index([source], topics=3)
        expected = state(collection)
    calls, whole = [], LocalEngine.write_mined

    def killed(self, rows):
        calls.append(len(rows))
        if len(calls) > batch:
            raise KeyboardInterrupt
        return whole(self, rows)

    with opened(tmp_path / "home") as collection:
        with monkeypatch.context() as patch:
            patch.setattr(LocalEngine, "write_mined", killed)
            with pytest.raises(KeyboardInterrupt):
                collection.index([source], topics=3)
        collection.index([source], topics=3)
        assert state(collection) == expected
