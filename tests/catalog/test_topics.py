from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import create_engine, text

from indexer.catalog import Catalog, LineageEntry, TopicEntry, topic_id
from indexer.errors import CatalogError, NotFound, QueryError


def topic(number: int, label: str = "", **values: object) -> TopicEntry:
    return TopicEntry(number, label or f"topic {number}", **values)  # type: ignore[arg-type]


def became(run: str, kind: str, old: int | None, new: int | None, score: float = 0.0) -> LineageEntry:
    ids = [topic_id(number) if number is not None else None for number in (old, new)]
    return LineageEntry(run, ids[0], ids[1], kind, score)  # type: ignore[arg-type]


def recorded(catalog: Catalog, entries: list[LineageEntry]) -> None:
    """Record what became of topics, with a fit that leaves the live ones live."""
    run = entries[0].run
    catalog.save_fit("main", run, "", {}, {})
    catalog.install_fit("main", run, topics=catalog.topics("main"), lineage=entries)


def test_numbers_are_never_given_out_twice_even_when_topics_are_deleted(catalog: Catalog, url: str) -> None:
    assert catalog.next_topic_number("main") == 1
    assert catalog.next_topic_number("main", 10) == 2
    catalog.save_topics("main", [topic(12)])
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM topics"))
    engine.dispose()
    assert catalog.next_topic_number("main") == 12
    assert catalog.next_topic_number("other") == 1


def test_topics_are_saved_and_overwritten(catalog: Catalog) -> None:
    full = TopicEntry(
        2, "heat pumps", ("heat pump", "boiler"), 17, state="retired", born_run="R1", retired_run="R2"
    )
    catalog.save_topics("main", [full, topic(1)])
    assert full.id == "t-000002"
    assert catalog.topics("main") == [topic(1)]
    assert catalog.topics("main", state=None) == [topic(1), full]
    assert catalog.topic("main", "t-000002") == full
    catalog.save_topics("main", [topic(1, "new", size=3)])
    assert catalog.topics("main") == [topic(1, "new", size=3)]


def test_a_name_given_by_hand_stays_when_topics_are_mined_again(catalog: Catalog) -> None:
    catalog.save_topics("main", [topic(1, "mined")])
    renamed = catalog.rename_topic("main", "t-000001", "  My \n name ")
    assert (renamed.label, renamed.label_locked) == ("My name", True)
    catalog.save_topics("main", [topic(1, "mined again", size=9)])
    assert catalog.topics("main") == [topic(1, "My name", size=9, label_locked=True)]
    catalog.rename_topic("main", "t-000001", "mined", locked=False)
    catalog.save_topics("main", [topic(1, "mined again")])
    assert catalog.topics("main") == [topic(1, "mined again")]


def test_renaming_refuses_an_unknown_topic_and_an_empty_name(catalog: Catalog) -> None:
    catalog.save_topics("main", [topic(1)])
    with pytest.raises(NotFound, match="no topic 't-000009' in collection 'main'"):
        catalog.rename_topic("main", "t-000009", "x")
    with pytest.raises(QueryError, match="label of topic t-000001 is empty"):
        catalog.rename_topic("main", "t-000001", " ")


def test_lineage_lists_all_that_happened_to_a_topic(catalog: Catalog) -> None:
    catalog.save_topics("main", [topic(1), topic(2), topic(3)])
    first = [became("R1", "born", None, 1), became("R1", "born", None, 2)]
    second = [
        became("R2", "split", 1, 1, 0.9),
        became("R2", "split", 1, 3, 0.6),
        became("R2", "kept", 2, 2, 0.8),
    ]
    recorded(catalog, first)
    recorded(catalog, second)
    recorded(catalog, second)  # a task that runs again
    found = [(e.run, e.kind, e.old_id, e.new_id, e.score) for e in catalog.lineage("main", "t-000001")]
    assert found == [
        ("R1", "born", None, "t-000001", 0.0),
        ("R2", "split", "t-000001", "t-000001", 0.9),
        ("R2", "split", "t-000001", "t-000003", 0.6),
    ]
    assert all(entry.at is not None for entry in catalog.lineage("main", "t-000001"))


def test_lineage_of_a_topic_that_was_never_saved_is_refused(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match=r"(?i)foreign key"):
        recorded(catalog, [became("R1", "born", None, 1)])


def test_successors_lead_from_retired_topics_to_the_live_ones(catalog: Catalog) -> None:
    catalog.save_topics(
        "main", [*(topic(n, state="retired") for n in (1, 2, 3)), topic(4), topic(5), topic(6)]
    )
    recorded(catalog, [became("R1", "merged", 1, 2, 0.7)])
    recorded(catalog, [became("R2", "split", 2, 4, 0.5), became("R2", "split", 2, 5, 0.8)])
    recorded(catalog, [became("R2", "retired", 3, None)])
    assert catalog.successors("main", "t-000001") == ["t-000005", "t-000004"]  # better match first
    assert catalog.successors("main", "t-000006") == ["t-000006"]
    assert catalog.successors("main", "t-000003") == []
    with pytest.raises(NotFound):
        catalog.successors("main", "t-000099")


def test_successors_follow_only_the_last_thing_that_happened(catalog: Catalog) -> None:
    """Merged in R1, rolled back in R2, ended for good in R3."""
    catalog.save_topics("main", [topic(1, state="retired"), topic(2)])
    recorded(catalog, [became("R1", "merged", 1, 2)])
    recorded(catalog, [became("R2", "kept", 1, 1)])
    recorded(catalog, [became("R3", "retired", 1, None)])
    assert catalog.successors("main", "t-000001") == []


def test_successors_end_when_two_retired_topics_point_at_each_other(catalog: Catalog) -> None:
    catalog.save_topics("main", [topic(1, state="retired"), topic(2, state="retired")])
    recorded(catalog, [became("R1", "merged", 1, 2), became("R1", "merged", 2, 1)])
    assert catalog.successors("main", "t-000001") == []


ARRAYS: dict[str, NDArray[Any]] = {
    "centroids": np.arange(6, dtype=np.float32).reshape(2, 3),
    "map": np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not contiguous
    "numbers": np.array([1, 2], dtype=np.int64),
}


def test_a_fit_comes_back_as_it_was_saved(catalog: Catalog) -> None:
    catalog.save_fit("main", "R1", "b@1", ARRAYS, {"topics": ["t-000001"], "limit": np.float32(0.5)})
    fit = catalog.fit("main", "R1")
    assert (fit.run, fit.bundle, fit.live, fit.info) == (
        "R1",
        "b@1",
        False,
        {"topics": ["t-000001"], "limit": 0.5},
    )
    assert {name: array.dtype for name, array in fit.arrays.items()} == {
        name: array.dtype for name, array in ARRAYS.items()
    }
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(fit.arrays[name], array)
    assert catalog.live_fit("main") is None
    with pytest.raises(NotFound, match="no fit of run 'R2'"):
        catalog.fit("main", "R2")


def test_more_can_be_said_of_a_fit(catalog: Catalog) -> None:
    catalog.save_fit("main", "R1", "b@1", ARRAYS, {"asked": 3, "drift": 1})
    catalog.add_to_fit("main", "R1", {"drift": {"new": 2}})
    assert catalog.fit("main", "R1").info == {"asked": 3, "drift": {"new": 2}}
    with pytest.raises(NotFound, match="no fit of run 'R2'"):
        catalog.add_to_fit("main", "R2", {"drift": 1})


def test_installing_a_fit_changes_fit_topics_and_lineage_together(catalog: Catalog) -> None:
    catalog.save_fit("main", "R1", "b@1", ARRAYS, {})
    catalog.install_fit(
        "main",
        "R1",
        topics=[topic(1), topic(2)],
        lineage=[became("R1", "born", None, 1), became("R1", "born", None, 2)],
    )
    catalog.save_fit("main", "R2", "b@2", ARRAYS, {})
    catalog.install_fit(
        "main",
        "R2",
        topics=[topic(1), topic(3)],
        lineage=[became("R2", "kept", 1, 1), became("R2", "merged", 2, 3), became("R2", "born", None, 3)],
    )
    live = catalog.live_fit("main")
    assert live is not None
    assert (live.run, live.bundle) == ("R2", "b@2")
    assert [(fit.run, fit.live) for fit in catalog.fits("main")] == [("R2", True)]
    assert [entry.id for entry in catalog.topics("main")] == ["t-000001", "t-000003"]
    assert catalog.topic("main", "t-000002").retired_run == "R2"
    assert catalog.successors("main", "t-000002") == ["t-000003"]


def test_a_fit_that_cannot_be_installed_changes_nothing(catalog: Catalog) -> None:
    catalog.save_fit("main", "R1", "b", ARRAYS, {})
    catalog.install_fit("main", "R1", topics=[topic(1)])
    catalog.save_fit("main", "R2", "b", ARRAYS, {})
    with pytest.raises(CatalogError):
        catalog.install_fit("main", "R2", topics=[topic(2)], lineage=[became("R2", "kept", 1, 77)])
    with pytest.raises(NotFound):
        catalog.install_fit("main", "R3", topics=[])
    live = catalog.live_fit("main")
    assert live is not None
    assert live.run == "R1"
    assert catalog.topics("main", state=None) == [topic(1)]


def test_each_collection_has_its_own_live_fit(catalog: Catalog) -> None:
    for collection in ("one", "two"):
        catalog.save_fit(collection, "R1", "b", ARRAYS, {})
        catalog.install_fit(collection, "R1", topics=[topic(1)])
    catalog.save_fit("one", "R2", "b", ARRAYS, {})
    catalog.install_fit("one", "R2", topics=[])
    assert [fit.live for fit in catalog.fits("two")] == [True]
    assert len(catalog.topics("two")) == 1
