from __future__ import annotations

from dataclasses import replace

from indexer.catalog import Catalog, Naming

SHOWN = {"phrases": ["solar wind", "corona"], "documents": [], "siblings": ["Tax law"]}
NAMED = Naming("t-000001", "Solar wind", "small", SHOWN, '{"name": "Space weather"}', "Space weather")


def test_what_a_model_was_shown_and_said_is_kept(catalog: Catalog) -> None:
    catalog.save_naming("main", NAMED)
    (found,) = catalog.namings("main", "t-000001")
    assert replace(found, at=None) == NAMED
    assert found.at is not None
    assert catalog.namings("main", "t-000002") == catalog.namings("other") == []


def test_one_is_kept_for_each_mined_name_and_model_newest_first(catalog: Catalog) -> None:
    for naming in (
        NAMED,
        replace(NAMED, mined="Corona", name="Corona of the sun"),
        replace(NAMED, model="large"),
        replace(NAMED, refused="a user has restored the mined name"),  # overwrites the first
    ):
        catalog.save_naming("main", naming)
    found = catalog.namings("main")
    assert [(n.mined, n.model, bool(n.refused)) for n in found] == [
        ("Solar wind", "small", True),
        ("Solar wind", "large", False),
        ("Corona", "small", False),
    ]


def test_a_text_that_no_database_takes_is_kept_readable(catalog: Catalog) -> None:
    catalog.save_naming("main", replace(NAMED, said="a\0b\ud800"))
    (found,) = catalog.namings("main")
    assert found.said == "a\\x00b\\ud800"
