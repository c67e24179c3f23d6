"""Drift of a real, small collection: what is new, since when, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from concerts import others
from hash_encoder import HashEncoder
from small_parts import PlainPreparer
from small_reports import made, write

from indexer.collection import Collection
from indexer.limits import DriftLimits
from indexer.pipeline import drift_check
from indexer.pipeline.drift_check import Drift, measure
from indexer.topics.drift import Sign, Signs

More = Callable[[list[dict[str, Any]]], None]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home to be copied."""
    folder = tmp_path_factory.mktemp("indexed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indexer.topics.drift.MIN_DOCUMENTS", 6)
        patch.setattr(drift_check, "REFERENCE", 18)
        patch.setattr(drift_check, "EACH", 6)
        with Collection.open(home=folder / "home", encoder=HashEncoder(), tagger=PlainPreparer()) as opened:
            opened.index([write(folder / "docs.jsonl", made())], topics=3)
    return folder / "home"


@pytest.fixture
def collection(tmp_path: Path, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collection]:
    """Thirty documents, ten on each of three subjects; six are enough to compare."""
    monkeypatch.setattr("indexer.topics.drift.MIN_DOCUMENTS", 6)
    monkeypatch.setattr(drift_check, "REFERENCE", 18)
    monkeypatch.setattr(drift_check, "EACH", 6)
    copytree(indexed, tmp_path / "home")
    with Collection.open(home=tmp_path / "home", encoder=HashEncoder(), tagger=PlainPreparer()) as opened:
        yield opened


@pytest.fixture
def more(collection: Collection, tmp_path: Path) -> More:
    def index(records: list[dict[str, Any]]) -> None:
        collection.index([write(tmp_path / f"{records[0]['id']}.jsonl", records)])

    return index


def test_documents_of_the_old_subjects_are_no_drift(collection: Collection, more: More) -> None:
    assert (collection.status().drift.new, collection.status().drift.signs) == (0, None)
    more(made(42)[30:])
    found = collection.status()
    assert (found.drift.new, found.drift.old) == (12, 30)
    assert found.drift.signs is not None
    assert found.drift.signs.topic_shares.more == 0.0
    assert not found.worth_a_retrain


def test_documents_of_another_subject_are(collection: Collection, more: More) -> None:
    more(others(12))
    found = collection.status()
    assert found.drift.signs is not None
    assert found.drift.signs.new_vocabulary.new == 1.0
    assert found.drift.signs.new_vocabulary.old < 0.6
    assert found.worth_a_retrain
    assert "12 new and 30 old documents: phrases beyond topics " in str(found.drift)


def test_a_few_more_documents_are_not_measured_again(
    collection: Collection, more: More, monkeypatch: pytest.MonkeyPatch
) -> None:
    more(made(42)[30:])
    with monkeypatch.context() as patch:
        patch.setattr(drift_check, "compare", lambda *_: pytest.fail("13 are not a tenth more than 12"))
        more(made(43)[42:])
        assert collection.status().drift.new == 12
    more(made(44)[43:])
    assert collection.status().drift.new == 14


def test_with_new_topics_nothing_is_new(collection: Collection, more: More) -> None:
    more(others(12))
    collection.index([], refit=True)
    assert (collection.status().drift.new, collection.status().drift.old) == (0, 42)


def test_topics_that_were_merged_know_what_they_were_fitted_to(collection: Collection, more: More) -> None:
    more(others(12))
    first, second, *_ = (topic.id for topic in collection.topics())
    collection.merge_topics(first, [second])
    found = measure(collection.engine, collection.catalog, "main")
    assert (found.new, found.old) == (12, 30)


@pytest.mark.parametrize(("verdict", "new"), [("refused", 0), ("nothing", 12)])
def test_what_a_retrain_has_judged_is_not_new_any_more(
    collection: Collection, more: More, verdict: str, new: int
) -> None:
    more(others(12))
    run = collection.catalog.start_run("main", "retrain", {})
    collection.catalog.finish_run(run, "finished", {"verdict": verdict})
    assert collection.status().drift.new == new


def test_a_bundle_that_was_judged_makes_no_document_old(collection: Collection, more: More) -> None:
    more(others(12))
    run = collection.catalog.start_run("main", "retrain", {"candidate": "mine"})
    collection.catalog.finish_run(run, "finished", {"verdict": "refused"})
    assert collection.status().drift.new == 12


# -- limits -------------------------------------------------------------------------------------------------

LIMITS = DriftLimits(beyond_topics=0.1, topic_shares=0.2, new_vocabulary=0.1, fewest=0.02, growth=1.0)
SAME = Signs(Sign(0.03, 0.03), Sign(0.1, 0.1), Sign(0.7, 0.7))
UNLIKE = Signs(Sign(0.03, 0.03), Sign(0.35, 0.1), Sign(0.7, 0.7))  # 25 points of topic shares


@pytest.mark.parametrize(
    ("found", "beyond"),
    [
        (Drift("", 100, 1_000, SAME), ()),
        (Drift("", 100, 1_000, UNLIKE), ("shares of topics",)),
        (Drift("", 20, 1_000, UNLIKE), ()),  # two in a hundred
        (Drift("", 21, 1_000, UNLIKE), ("shares of topics",)),
        (Drift("", 1_001, 1_000, SAME), ("how many are new",)),  # more than doubled
        (Drift("", 1_001, 1_000, UNLIKE), ("shares of topics", "how many are new")),
        (Drift("", 160, 40, None), ("how many are new",)),
        (Drift("", 159, 40, None), ()),  # 199: a retrain would be refused
        (Drift("", 5_000, 0, None), ()),  # nothing is finished yet
        (Drift("", 0, 0, None), ()),
    ],
)
def test_when_a_retrain_is_worth_it_and_why(found: Drift, beyond: tuple[str, ...]) -> None:
    assert found.beyond(LIMITS) == beyond


def test_it_is_said_in_numbers() -> None:
    assert str(Drift("", 1_200, 40_000, UNLIKE)) == (
        "1,200 new and 40,000 old documents: phrases beyond topics 3 % (old ones 3 %), "
        "shares of topics 35 % (old ones 10 %), new vocabulary 70 % (old ones 70 %)"
    )
    assert str(Drift("", 5, 600)) == "5 new and 600 old documents; too few to compare"
