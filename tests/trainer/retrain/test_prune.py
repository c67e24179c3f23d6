"""What is kept of generations and encoders after one has taken over."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indexer.catalog import Catalog, LedgerEntry
from indexer.engines.generations import Generation
from indexer.engines.local.generations import LocalGenerations
from indexer.errors import EngineForbidden
from indexer.settings import Settings, load_settings
from models.registry import SHIPPED, Registry
from trainer.retrain.prune import prune, superfluous

GB = 1_000_000_000
MADE = [
    f"main-0123456789a{digit}-abcdef-{how}" for digit, how in zip("12345", ["pairs", "ccl"] * 3, strict=False)
]
THEIRS = MADE[4]  # another collection was mined with it; the fourth was only tried


def generation(number: int, state: str = "kept", gigabytes: float = 1.0) -> Generation:
    return Generation(number, state, "", 2, 0, int(gigabytes * GB), datetime.now(UTC))  # type: ignore[arg-type]


def settings(home: Path, **values: float) -> Settings:
    return load_settings(home=home, **values)


@pytest.mark.parametrize(
    ("keep", "gigabytes", "way_back", "gone"),
    [
        (2, 0, 3, [1, 2]),
        (3, 0, 3, [1]),
        (4, 0, 3, []),
        (2, 0, 1, [2, 3]),  # 4 replaced 1, because a rollback had gone back to it
        (3, 0, 1, [2]),
        (9, 2, 3, [1]),  # two of the three fit
        (9, 0.5, 3, [1, 2]),  # the way back is kept, whatever it takes
        (2, 0, 7, [1, 2]),  # it was removed by hand
    ],
)
def test_the_newest_are_kept_and_the_way_back(tmp_path, keep, gigabytes, way_back, gone) -> None:
    there = [generation(1), generation(2), generation(3), generation(4, "live"), generation(5, "unfinished")]
    wanted = settings(tmp_path, keep_generations=keep, keep_gigabytes=gigabytes)
    assert [one.number for one in superfluous(there, way_back, wanted)] == gone


@pytest.fixture
def home(tmp_path):
    """Three generations, each with an encoder of its own, of which the second replaced the first, and so on."""
    found = settings(tmp_path)
    generations = LocalGenerations(found.collection_folder)
    with Catalog.open(found.database) as catalog:
        for number in (1, 2, 3):
            generations.make(2, bundle=MADE[number - 1]).close()
            if number > 1:
                catalog.plan_switch("main", number - 1, number, fit="", run="")
            generations.switch(number)
            if number > 1:
                catalog.switch_generation("main", number, topics=[], lineage=[])
        for name in (*MADE, "my-own"):
            shutil.copytree(SHIPPED / "minilm-base", found.home / "bundles" / name)
        catalog.record("other", [LedgerEntry("a", "1", "done", f"{THEIRS}@01234567+onnx-int8")])
        yield found, generations, catalog


def left(home) -> tuple[list[int], set[str]]:
    found, generations, _ = home
    numbers = [one.number for one in generations.all()]
    return numbers, {folder.name for folder in (found.home / "bundles").iterdir()}


def test_what_no_generation_needs_goes(home) -> None:
    found, generations, catalog = home
    prune(generations, catalog, Registry(found.home), found)
    _, second, third, _, _ = MADE
    assert left(home) == ([2, 3], {second, third, THEIRS, "my-own"})
    assert list(catalog.generations("main")) == [2, 3]
    assert list(catalog.ids("main@1")) == []
    prune(generations, catalog, Registry(found.home), found)
    assert left(home) == ([2, 3], {second, third, THEIRS, "my-own"})


def test_an_engine_that_removes_nothing_stops_nothing(home, monkeypatch) -> None:
    found, generations, catalog = home

    def refuses(self, number):
        raise EngineForbidden("Not you.")

    monkeypatch.setattr(LocalGenerations, "remove", refuses)
    prune(generations, catalog, Registry(found.home), found)
    assert left(home) == ([1, 2, 3], {*MADE, "my-own"})
