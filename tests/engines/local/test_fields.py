"""Which fields of the users' own there are."""

from __future__ import annotations

from indexer.engines.local import LocalEngine
from indexer.records import Document


def test_fields_are_those_that_some_document_has(engine: LocalEngine) -> None:
    """Regression: the field of a document that was deleted stayed, as an empty column and among those to choose from."""
    engine.store([Document("a", "Tides.", meta={"year": 2020, "none": None, "empty": []})])
    engine.store([Document("b", "Waves.", meta={"year": 2021, "accepted": True, "tags": ["x", "y"]})])
    assert engine.fields() == ["accepted", "tags", "year"]
    engine.delete(["b"])
    assert engine.fields() == ["year"]
    engine.store([Document("a", "Tides.", meta={"tags": ["y"]})])
    assert engine.fields() == ["tags"]
