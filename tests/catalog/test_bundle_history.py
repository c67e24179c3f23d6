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


def test_files_of_a_bundle_are_kept_until_they_are_forgotten(catalog: Catalog) -> None:
    catalog.save_bundle("main", BundleEntry("tuned", "f1"))
    assert catalog.bundle_files("tuned") is None
    catalog.keep_bundle_files("main", "tuned", b"packed")
    catalog.save_bundle("main", BundleEntry("tuned", "f1", scores={"acc": 0.5}))
    assert catalog.bundle_files("tuned") == b"packed"
    assert (catalog.bundles_with_files("main"), catalog.bundles_with_files("other")) == ({"tuned"}, set())
    catalog.keep_bundle_files("main", "tuned", None)
    assert catalog.bundle_files("tuned") is None
    assert [bundle.name for bundle in catalog.bundles("main")] == ["tuned"]
