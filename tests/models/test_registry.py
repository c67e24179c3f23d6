from __future__ import annotations

from dataclasses import replace

import pytest

from indexer.errors import BundleIncompatible, BundleMissing, ModelError
from models.bundle import CARD, read_bundle, write_bundle
from models.registry import SHIPPED, Registry
from tests.models.conftest import encoder_of


@pytest.fixture
def registry(tmp_path) -> Registry:
    return Registry(tmp_path / "home")


@pytest.fixture
def mine(bundle, tmp_path):
    """A bundle outside of the home."""
    write_bundle(replace(bundle, name="mine"), tmp_path / "outside")
    return tmp_path / "outside"


def test_a_new_home_has_the_shipped_bundles(registry):
    assert "minilm-base" in registry.list()
    assert registry.get("minilm-base").folder == SHIPPED / "minilm-base"


def test_every_shipped_bundle_can_be_read(registry):
    for name in registry.list():
        assert registry.get(name).name == name
        assert registry.get(name).licence


def test_add_copies_under_its_own_name(registry, mine):
    added = registry.add(mine)
    assert added.folder == registry.path("mine") != mine
    assert registry.get("mine") == added
    assert registry.list() == sorted([*registry.list()])


def test_add_replaces(registry, mine):
    registry.add(mine)
    write_bundle(replace(read_bundle(mine), about="newer"), mine)
    assert registry.add(mine).about == "newer"
    assert registry.add(registry.path("mine")).about == "newer"  # onto itself


def test_the_home_hides_a_shipped_bundle_until_removed(registry, mine):
    write_bundle(replace(read_bundle(mine), name="minilm-base"), mine)
    registry.add(mine)
    assert registry.get("minilm-base").window_tokens == 16
    assert registry.list().count("minilm-base") == 1
    registry.remove("minilm-base")
    assert registry.get("minilm-base").window_tokens == 128


def test_missing_lists_what_there_is(registry, mine):
    registry.add(mine)
    with pytest.raises(BundleMissing, match=r"no bundle 'minilm'\. Available: .*mine.*minilm-base"):
        registry.get("minilm")


@pytest.mark.parametrize("name", ["", "..", "../bundles/mine", "."])
def test_names_are_no_paths(registry, mine, name):
    registry.add(mine)
    with pytest.raises(BundleMissing):
        registry.path(name)


def test_a_bundle_may_lie_anywhere(registry, mine, tmp_path):
    bundle = registry.get(str(mine.absolute()))
    assert bundle.name == "mine"
    assert registry.address(bundle) == str(mine.absolute())
    registry.add(mine)
    assert registry.address(registry.get("mine")) == "mine"
    assert registry.address(bundle) == str(mine.absolute())  # the copy in the home is another one
    with pytest.raises(BundleMissing, match=f"no bundle in {tmp_path}/none"):
        registry.get(f"{tmp_path}/none")
    with pytest.raises(ModelError, match="is not in the home"):
        registry.remove(str(mine.absolute()))
    assert (mine / CARD).exists()


@pytest.mark.parametrize("name", ["..", "../mine", "/tmp/mine", ".mine"])
def test_add_refuses_a_name_that_is_a_path(registry, mine, name):
    write_bundle(replace(read_bundle(mine), name=name), mine)
    with pytest.raises(ModelError, match="cannot be the name"):
        registry.add(mine)


def test_add_refuses_what_is_no_bundle(registry, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleMissing):
        registry.add(tmp_path / "empty")
    (tmp_path / "empty" / CARD).write_text("{}", encoding="utf-8")
    with pytest.raises(BundleIncompatible):
        registry.add(tmp_path / "empty")
    assert "empty" not in registry.list()


def test_shipped_bundles_cannot_be_removed(registry):
    with pytest.raises(ModelError, match="shipped"):
        registry.remove("minilm-base")
    assert (SHIPPED / "minilm-base" / CARD).is_file()


def test_remove_takes_the_graphs_along(registry, mine, tmp_path):
    bundle = registry.add(mine)
    encoder_of(bundle, "onnx-fp32", tmp_path / "home")
    encoder_of(replace(bundle, window_tokens=8), "onnx-fp32", tmp_path / "home")  # another bundle's
    assert len(list((tmp_path / "home" / "onnx").iterdir())) == 2
    registry.remove("mine")
    assert len(list((tmp_path / "home" / "onnx").iterdir())) == 1


def test_a_damaged_bundle_can_be_removed(registry, mine):
    registry.add(mine)
    (registry.path("mine") / CARD).write_text("{", encoding="utf-8")
    registry.remove("mine")
    assert "mine" not in registry.list()
