"""indexer generations, and what doctor says of one that was left unfinished."""

from __future__ import annotations

import json
import shutil
from contextlib import closing

import pytest

from indexer.catalog import Catalog
from indexer.cli.app import App
from indexer.cli.doctor.collection import generations as checked
from indexer.collection import Collection
from indexer.engines.local.generations import LocalGenerations
from indexer.records import Document
from indexer.settings import load_settings


@pytest.fixture
def own(indexed, tmp_path):
    """A copy of the indexed home, to write to."""
    shutil.copytree(indexed, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def generations(own):
    return LocalGenerations(own / "collections" / "main")


def test_generations_are_listed_and_removed(run, own, generations):
    with closing(generations.make(384, bundle="minilm-base")) as engine:
        engine.store([Document("x", "A new text.")])
    generations.switch(2)
    listed = json.loads(run("generations", "list", "--json", home=own).stdout)
    assert [(g["number"], g["state"], g["bundle"], g["documents"]) for g in listed] == [
        (1, "kept", "minilm-phrases", 21),
        (2, "live", "minilm-base", 1),
    ]
    assert "1  kept" in run("generations", home=own).stdout
    refused = run("generations", "remove", 2, home=own)
    assert refused.exit_code == 1
    assert "is live, and cannot be removed" in refused.stderr
    assert f"indexer --home {own} rollback --to" in refused.stderr
    assert run("generations", "remove", 1, home=own).stdout == "generation 1 removed\n"
    assert json.loads(run("search", "--json", home=own).stdout)["total"] == 1


def test_doctor_finds_what_was_left_unfinished_and_says_how_to_remove_it(own, generations):
    generations.make(384, bundle="left").close()
    with Collection.open(home=own) as collection:
        checks = list(checked(App(), collection))
        assert [(check.state, check.found.split(",")[0]) for check in checks] == [
            ("OK", "1 is live"),
            ("WARN", "2 was left unfinished"),
        ]
        assert checks[1].hint.endswith("doctor --remove-unfinished")
        for lock in ("main", "main@retrain"):
            with collection.catalog.lock(lock, "somebody"):  # it may be theirs
                assert [check.state for check in checked(App(), collection)] == ["OK"]
        collection.catalog.start_run("main", "retrain", {}, detached=True)  # workers hold no lock now
        assert [check.state for check in checked(App(), collection)] == ["OK"]


def test_what_a_retrain_is_building_is_not_removed(run, own, generations):
    generations.make(384, bundle="next").close()
    with Catalog.open(load_settings(home=own).database) as catalog:
        with catalog.lock("main@retrain", "indexer retrain"):
            refused = run("generations", "remove", 2, home=own)
            assert refused.exit_code == 1
            assert "are being made or removed by indexer retrain" in refused.stderr
        begun = catalog.start_run("main", "retrain", {}, detached=True)
        assert "Workers are at a retrain of 'main' since" in run("generations", "remove", 2, home=own).stderr
        assert [one.state for one in generations.all()] == ["live", "unfinished"]
        catalog.finish_run(begun, "failed", {})
    assert run("generations", "remove", 2, home=own).stdout == "generation 2 removed\n"


@pytest.mark.slow
def test_doctor_removes_what_was_left_unfinished_and_nothing_else(run, own, generations):
    with closing(generations.make(384, bundle="minilm-base")):
        pass
    generations.switch(2)
    generations.make(384, bundle="left").close()
    shown = run("doctor", "--remove-unfinished", home=own)
    assert "3 was left unfinished, and is removed: " in shown.stdout
    assert [(one.number, one.state) for one in generations.all()] == [(1, "kept"), (2, "live")]
    assert "unfinished" not in run("doctor", "--remove-unfinished", home=own).stdout


@pytest.mark.slow
def test_doctor_removes_nothing_that_is_being_built(run, own, generations):
    generations.make(384, bundle="next").close()
    with (
        Catalog.open(load_settings(home=own).database) as catalog,
        catalog.lock("main@retrain", "indexer retrain"),
    ):
        shown = run("doctor", "--remove-unfinished", home=own)
    assert shown.exit_code == 1
    assert "are being made or removed by indexer retrain" in " ".join(shown.stdout.split())
    assert [one.state for one in generations.all()] == ["live", "unfinished"]


def test_without_a_collection_there_are_none(run, home):
    result = run("generations", home=home)
    assert result.exit_code == 1
    assert "There is no collection" in result.stderr
    assert not home.exists()
