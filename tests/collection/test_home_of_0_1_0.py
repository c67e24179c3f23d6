"""A home that version 0.1.0 made opens, is upgraded, and goes on working.

`tests/data/home-0.1.0.zip` was made with 0.1.0 by `indexer index documents.jsonl --topics 3` and
`indexer topics rename 2 "Sea freight"`: eight short documents written for this test, in the public domain (CC0).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hash_encoder import HashEncoder

from indexer.collection import Collection

HOME = Path(__file__).parent.parent / "data" / "home-0.1.0.zip"


class StoredEncoder(HashEncoder):
    """Has the name and the vector length of the bundle that the home was indexed with; needs no model."""

    dims = 384
    bundle = "minilm-phrases@be7905da+onnx-int8"


@pytest.fixture
def collection(tmp_path, monkeypatch):
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: StoredEncoder())
    monkeypatch.setattr("models.bundle.Bundle.dims", StoredEncoder.dims)
    zipfile.ZipFile(HOME).extractall(tmp_path / "home")
    with Collection.open(home=tmp_path / "home") as collection:
        yield collection


def test_it_is_searched_by_words(collection):
    hits = collection.search("harbour pilot", mode="words").hits
    assert {hit.stored.document.id for hit in hits} == {"cargo-ship", "winter-storms"}


def test_a_label_that_a_user_set_is_locked(collection):
    labels = {topic.id: (topic.label, topic.label_locked) for topic in collection.topics()}
    assert labels == {
        "t-000001": ("Sourdough starter", False),
        "t-000002": ("Sea freight", True),
        "t-000003": ("Magnetic field", False),
    }
    entries = collection.catalog.topics(collection.name)
    assert [entry.label for entry in entries if entry.label_locked] == ["Sea freight"]


def test_a_topic_is_pinned(collection):
    collection.mark_topic("Magnetic field", "pinned")
    assert collection.topics()[0].label == "Magnetic field"
    assert collection.catalog.lineage(collection.name, "t-000003")[-1].kind == "pinned"


def test_its_status_and_history_are_there(collection):
    status = collection.status()
    assert (status.engine.documents, status.engine.mentions, status.topics) == (8, 56, 3)
    assert [(run.kind, run.state) for run in collection.catalog.runs(collection.name)] == [
        ("index", "finished")
    ]
    assert [entry.kind for entry in collection.catalog.lineage(collection.name, "t-000002")] == [
        "born",
        "renamed",
    ]


def test_another_document_is_indexed(collection, tmp_path):
    source = tmp_path / "more.jsonl"
    row = {"id": "tide", "text": "The tide lifts each cargo ship in the harbour."}
    source.write_text(json.dumps(row), encoding="utf-8")
    report = collection.index([source])
    assert (report.new, report.mined) == (1, 1)
    assert "tide" in {hit.stored.document.id for hit in collection.search("tide", mode="words").hits}
    assert [topic.label for topic in collection.topics() if topic.label_locked] == ["Sea freight"]
