from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from indexer.catalog import Catalog, LedgerEntry, LineageEntry, TopicEntry
from indexer.catalog.entries import GenerationEntry
from indexer.errors import CatalogError, NotFound

ARRAYS = {"centroids": np.zeros((1, 2), np.float32)}
ONE, TWO = TopicEntry(1, "one"), TopicEntry(2, "two")


def done(id_: str, fit: str, content: str = "1", run: str = "") -> LedgerEntry:
    return LedgerEntry(id_, content, "done", f"bundle of {fit}", run, "s", fit)


@pytest.fixture
def turned(catalog: Catalog) -> Catalog:
    """Generation 1 with fit R1, replaced by 2 with fit R2; `c` came meanwhile, and 2 has another text of `b`."""
    catalog.save_fit("main", "R1", "", ARRAYS, {})
    catalog.install_fit("main", "R1", topics=[ONE])
    catalog.save_fit("main", "R2", "", ARRAYS, {})
    catalog.record("main", [done("a", "R1", run="R0"), done("b", "R1", "2"), done("c", "R1")])
    catalog.record("main@2", [done("a", "R2"), done("b", "R2", "1"), done("gone", "R2")])
    catalog.plan_switch("main", 1, 2, fit="R2", run="R2")
    assert catalog.generations("main")[1] == GenerationEntry(1, True, "", 0, "")  # planned is not done
    catalog.switch_generation("main", 2, topics=[TWO], lineage=[])
    return catalog


def live_fit(catalog: Catalog) -> str:
    fit = catalog.live_fit("main")
    return fit.run if fit else ""


def test_a_turn_takes_over_the_documents_that_are_the_same(turned: Catalog) -> None:
    found = turned.ledger("main", ["a", "b", "c", "gone"])
    assert found == {
        "a": replace(done("a", "R2"), run="R0"),
        "b": LedgerEntry("b", "2", "stored", source="s"),
        "c": LedgerEntry("c", "1", "stored", source="s"),
    }
    assert list(turned.ids("main@2")) == []
    assert turned.generations("main") == {
        1: GenerationEntry(1, False, "R1", 0, ""),
        2: GenerationEntry(2, True, "R2", 1, "R2"),
    }


def test_a_turn_changes_fit_and_topics_too(turned: Catalog) -> None:
    assert live_fit(turned) == "R2"
    assert [topic.id for topic in turned.topics("main")] == [TWO.id]
    assert turned.topic("main", ONE.id).retired_run == "R2"


def test_the_way_back_finds_the_documents_as_they_were(turned: Catalog) -> None:
    turned.record("main", [done("b", "R2", "3")])
    turned.plan_switch("main", 2, 1, fit="R1", run="R3")
    turned.switch_generation("main", 1, topics=[ONE], lineage=[])
    assert turned.ledger("main", ["a", "b"]) == {
        "a": replace(done("a", "R1"), run="R0"),
        "b": LedgerEntry("b", "3", "stored", source="s"),
    }
    assert turned.ledger("main@2", ["b"])["b"].topic_fit == "R2"
    assert (live_fit(turned), turned.topic("main", TWO.id).retired_run) == ("R1", "R3")
    assert turned.generations("main") == {
        1: GenerationEntry(1, True, "R1", 0, "R3"),
        2: GenerationEntry(2, False, "R2", 1, "R2"),
    }


def test_a_generation_without_topics_has_no_fit(turned: Catalog) -> None:
    turned.plan_switch("main", 2, 1, fit="", run="R3")
    turned.switch_generation("main", 1, topics=[], lineage=[])
    assert live_fit(turned) == ""
    assert turned.topics("main") == []


def test_a_turn_that_fails_changes_nothing(turned: Catalog) -> None:
    before = turned.ledger("main", ["a", "b", "c"])
    turned.plan_switch("main", 2, 1, fit="R1", run="R3")
    with pytest.raises(CatalogError):  # there is no such topic
        turned.switch_generation(
            "main", 1, topics=[ONE], lineage=[LineageEntry("R3", "t-000099", None, "retired")]
        )
    with pytest.raises(NotFound, match="No switch to generation 7"):
        turned.switch_generation("main", 7, topics=[], lineage=[])
    assert turned.ledger("main", ["a", "b", "c"]) == before
    assert live_fit(turned) == "R2"
    assert turned.generations("main")[2].live


def test_the_same_turn_again_changes_nothing(turned: Catalog) -> None:
    before = turned.ledger("main", ["a", "b", "c"])
    turned.switch_generation("main", 2, topics=[], lineage=[])
    assert turned.ledger("main", ["a", "b", "c"]) == before
    assert live_fit(turned) == "R2"


def test_what_is_forgotten_leaves_the_live_documents_alone(turned: Catalog) -> None:
    turned.forget_generation("main", 1)
    assert list(turned.ids("main@1")) == []
    assert list(turned.generations("main")) == [2]
    turned.forget_generations("main")
    assert turned.generations("main") == {}
    assert list(turned.ids("main")) == ["a", "b", "c"]
