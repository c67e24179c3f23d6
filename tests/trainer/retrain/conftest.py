"""A small collection to retrain, and trainings that take no time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from hash_encoder import HashEncoder
from small_parts import PlainPreparer
from small_reports import made, write

from indexer.collection import Collection
from models.registry import Registry
from tests.trainer.retrain.test_gate import BETTER, OLD
from trainer.retrain.judge import Judge

BASE = "minilm-base"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory) -> Iterator[Path]:
    """A home with 60 documents, to be copied."""
    folder = tmp_path_factory.mktemp("indexed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.load.load_encoder", lambda *_, **__: HashEncoder())
        patch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
        patch.setattr("indexer.collection.TAGGERS", 0)
        patch.setattr("indexer.text.pool._preparer", PlainPreparer)
        patch.setattr("trainer.retrain.probe.Preparer", PlainPreparer)
        patch.setattr("trainer.retrain.probe.MIN_DOCUMENTS", 10)
        with Collection.open(home=folder / "home") as opened:
            opened.index([write(folder / "docs.jsonl", made(60))], topics=3)
        yield folder / "home"


@pytest.fixture
def collection(tmp_path, indexed) -> Iterator[Collection]:
    copytree(indexed, tmp_path / "home")
    with Collection.open(home=tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def trained(monkeypatch, collection) -> list[str]:
    """What was trained; each training gives the shipped untrained encoder, and it is better."""
    seen: list[str] = []

    def candidates(live, snapshot, wanted, *, home, progress):
        seen.append(snapshot.read_text().count("\n"))
        yield Registry(home).get(BASE)

    monkeypatch.setattr("trainer.retrain.candidates.candidates", candidates)
    figures = {"minilm-phrases": OLD, BASE: BETTER}
    monkeypatch.setattr(Judge, "_measured", lambda self, bundle: figures[bundle.name])
    monkeypatch.setattr("trainer.retrain.judge.speed", lambda *_: 1.0)
    return seen


@pytest.fixture
def no_better(monkeypatch, trained) -> list[str]:
    monkeypatch.setattr(Judge, "_measured", lambda *_: OLD)
    return trained
