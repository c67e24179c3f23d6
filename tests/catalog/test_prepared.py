from __future__ import annotations

from indexer.catalog import Catalog
from indexer.records import Mention, Prepared, Sentence

ONE = Prepared((Sentence(0, 20), Sentence(21, 40)), (Mention(3, 9, "wärmepumpe"), Mention(22, 30, "tax law")))


def test_what_was_prepared_comes_back_with_the_hash_of_its_text(catalog: Catalog) -> None:
    catalog.save_prepared("main", {"a": ("h1", ONE), "b": ("h2", Prepared((), ()))})
    assert catalog.prepared("main", ["a", "b", "c"]) == {"a": ("h1", ONE), "b": ("h2", Prepared((), ()))}
    catalog.save_prepared("main", {"b": ("h3", ONE)})
    assert catalog.prepared("main", ["b"]) == {"b": ("h3", ONE)}
    catalog.drop_prepared("main", ["a", "unknown"])
    assert list(catalog.prepared("main", ["a", "b"])) == ["b"]
