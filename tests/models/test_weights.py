from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import save_file

from indexer.errors import BundleIncompatible, BundleMissing
from indexer.protocols import Window
from models.bundle import ADAPTER, read_bundle, write_bundle
from models.weights import DOCUMENTS, HEADS, load_weights, merge, read_safetensors
from tests.models.conftest import encoder_of

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library


def floats(*rows: object) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def test_merge_adds_a_scaled_product_by_hand():
    weights = {"dense.weight": floats([1, 2], [3, 4])}
    adapter = {"dense.weight.lora_a": floats([1, 10]), "dense.weight.lora_b": floats([2], [3])}  # rank 1
    merge(weights, adapter, scale=0.5, name="mine")
    assert weights["dense.weight"].tolist() == [[1 + 1, 2 + 10], [3 + 1.5, 4 + 15]]
    assert weights["dense.weight"].dtype == np.float32


def test_merge_adds_a_change_in_eight_bits_by_hand():
    weights = {"dense.weight": floats([1, 2], [3, 4])}
    adapter = {
        "dense.weight.delta": floats([127, -127], [0, 2]),
        "dense.weight.delta_scale": floats(0.01, 0.5),
    }
    merge(weights, adapter, scale=9, name="mine")
    assert np.allclose(weights["dense.weight"], [[2.27, 0.73], [3, 5]])


def test_read_widens_eight_bits(tmp_path):
    save_file({"w.delta": np.array([[-127, 5]], np.int8)}, tmp_path / "adapter.safetensors")
    found = read_safetensors(tmp_path / "adapter.safetensors")["w.delta"]
    assert found.dtype == np.float32
    assert found.tolist() == [[-127, 5]]


def test_merge_replaces_whole_weights_and_leaves_heads_alone():
    weights = {"norm.bias": floats(1, 2)}
    merge(weights, {"norm.bias": floats(3, 4), "heads.projection": floats(9)}, scale=1, name="mine")
    assert {name: value.tolist() for name, value in weights.items()} == {"norm.bias": [3, 4]}


@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        ({"other": floats(1)}, "other is .* no such weight"),
        ({"norm.bias": floats(1, 2, 3)}, r"norm\.bias is \(3,\), there: \(2,\)"),
        ({"norm.bias.lora_a": floats([1, 1])}, r"must have \.lora_a and \.lora_b of one rank for norm\.bias"),
        ({"norm.bias.lora_b": floats([1, 1])}, "of one rank"),
        ({"norm.bias.lora_a": floats([1, 1]), "norm.bias.lora_b": floats([1, 1])}, "of one rank"),
        ({"norm.bias.delta": floats([1, 1])}, r"must have \.delta and \.delta_scale"),
        ({"norm.bias.delta_scale": floats(1)}, r"must have \.delta and \.delta_scale"),
        ({"norm.bias.lora_a": floats([1, 1]), "norm.bias.lora_b": floats([1], [1], [1])}, "does not fit"),
    ],
)
def test_merge_refuses_what_does_not_fit(adapter, message):
    with pytest.raises(BundleIncompatible, match=message):
        merge({"norm.bias": floats(1, 2)}, adapter, scale=1, name="mine")


def test_read_widens_half_precision(tmp_path):
    import torch
    from safetensors.torch import save_file as save_torch

    file = tmp_path / "model.safetensors"
    save_torch(
        {
            "brain": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
            "half": torch.tensor([[0.25]], dtype=torch.float16),
            "ids": torch.tensor([1]),
        },
        file,
    )
    weights = read_safetensors(file)
    assert {name: value.tolist() for name, value in weights.items()} == {
        "brain": [1.5, -2.0],
        "half": [[0.25]],
    }
    assert {value.dtype for value in weights.values()} == {np.dtype(np.float32)}


def test_read_names_a_missing_and_a_damaged_file(tmp_path):
    with pytest.raises(BundleMissing, match=r"model\.safetensors is missing"):
        read_safetensors(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(BundleIncompatible, match="cannot be read as weights"):
        read_safetensors(tmp_path / "model.safetensors")


@pytest.mark.parametrize("name", ["torch-fp32", "onnx-fp32"])
def test_an_adapter_changes_the_vectors_as_a_merged_base_does(bundle, base, tmp_path, name):
    """Trained elsewhere as W + scale * b a, and merged here: the same encoder."""
    key = "encoder.layer.1.attention.self.value.weight"
    draw = np.random.default_rng(1)
    low, high = (draw.normal(0, 0.3, shape).astype(np.float32) for shape in ((2, 32), (32, 2)))
    write_bundle(bundle, tmp_path / "adapted")
    save_file({f"{key}.lora_a": low, f"{key}.lora_b": high}, tmp_path / "adapted" / ADAPTER)
    adapted = read_bundle(tmp_path / "adapted")
    assert load_weights(adapted)[key] == pytest.approx(load_weights(bundle)[key] + high @ low, abs=1e-6)

    plain, with_adapter = (
        encoder_of(one, name, tmp_path).encode([Window("the heat pump", ((4, 13),))])[0]
        for one in (bundle, adapted)
    )
    assert plain.mentions @ with_adapter.mentions.T < 0.999
    assert adapted.fingerprint != bundle.fingerprint


@pytest.mark.parametrize("name", ["torch-fp32", "onnx-fp32", "onnx-int8"])
def test_the_head_of_documents_turns_their_vectors_and_nothing_else(bundle, tmp_path, name):
    """A head that swaps the two halves of the dimensions."""
    head = np.roll(np.eye(32, dtype=np.float16), 16, axis=1)
    write_bundle(bundle, tmp_path / "headed")
    save_file({HEADS + DOCUMENTS: head}, tmp_path / "headed" / ADAPTER)
    plain, headed = (encoder_of(one, name, tmp_path) for one in (bundle, read_bundle(tmp_path / "headed")))
    before, after = (one.encode([Window("the heat pump", ((4, 13),))])[0] for one in (plain, headed))
    assert after.document == pytest.approx(np.roll(before.document, 16), abs=1e-6)
    assert np.array_equal(after.mentions, before.mentions)
    assert headed.encode_texts(["heat"]) == pytest.approx(np.roll(plain.encode_texts(["heat"]), 16), abs=1e-6)
    assert np.array_equal(headed.encode_phrases(["heat"]), plain.encode_phrases(["heat"]))
