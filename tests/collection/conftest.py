"""Real tagger, catalog and engine; an encoder without a model."""

from __future__ import annotations

import pytest
from hash_encoder import HashEncoder


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    fake = HashEncoder()
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: fake)
    monkeypatch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
    return fake


@pytest.fixture(autouse=True)
def no_worker_process(monkeypatch):
    """Tagging in this process: starting another one takes a second."""
    monkeypatch.setattr("indexer.collection.TAGGERS", 0)
