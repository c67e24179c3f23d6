from __future__ import annotations

from dataclasses import replace

from indexer.catalog import BundleEntry, Catalog


def test_bundles_are_listed_newest_first_and_keep_the_time_of_their_first_record(catalog: Catalog) -> None:
    catalog.save_bundle("main", BundleEntry("base", "f0"))
    catalog.save_bundle("main", BundleEntry("tuned", "f1", "/b/tuned", "base", {"acc": 0.5}))
    (first,) = [bundle for bundle in catalog.bundles("main") if bundle.name == "base"]
    catalog.save_bundle("main", BundleEntry("base", "f0", scores={"acc": 0.4}))
    tuned, base = catalog.bundles("main")
    assert replace(tuned, created_at=None) == BundleEntry("tuned", "f1", "/b/tuned", "base", {"acc": 0.5})
    assert base == replace(first, scores={"acc": 0.4})
    assert catalog.bundles("other") == []
