"""Weights of a bundle: those of the base model, with the adapter merged in.

adapter.safetensors holds, under the names that the base model uses:

- ``NAME.lora_a`` [rank, inputs] and ``NAME.lora_b`` [outputs, rank]: ``W + scale * b @ a`` replaces weight NAME.
- ``NAME`` alone: replaces weight NAME.
- ``heads.…``: networks that encoding does not use.

Merged once at load, an adapter costs nothing per text.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.errors import BundleIncompatible, BundleMissing
from models.bundle import Bundle

Weights = dict[str, NDArray[np.float32]]

LORA_A, LORA_B, HEADS = ".lora_a", ".lora_b", "heads."


def load_weights(bundle: Bundle) -> Weights:
    """Read the base model and merge the adapter into it.

    Raises:
        BundleMissing: The base model has no model.safetensors.
        BundleIncompatible: The adapter does not fit the base model.
    """
    weights = read_safetensors(bundle.base_folder / "model.safetensors")
    if bundle.adapter_file:
        merge(
            weights,
            read_safetensors(bundle.adapter_file),
            scale=bundle.adapter.get("scale", 1.0),
            name=bundle.name,
        )
    return weights


def merge(weights: Weights, adapter: Weights, *, scale: float, name: str) -> None:
    """Merge `adapter` into `weights`, in place.

    Raises:
        BundleIncompatible: A weight is missing in the base model or has another shape there.
    """
    for key, value in adapter.items():
        if key.startswith(HEADS) or key.endswith(LORA_B):
            continue
        if key.endswith(LORA_A):
            key = key.removesuffix(LORA_A)
            if key + LORA_B not in adapter:
                raise BundleIncompatible(
                    f"The adapter of bundle '{name}' has {key}{LORA_A} without {LORA_B}."
                )
            value = scale * (adapter[key + LORA_B] @ value)
            if key in weights and weights[key].shape == value.shape:
                value = weights[key] + value
        if key not in weights or weights[key].shape != value.shape:
            base = weights[key].shape if key in weights else "no such weight"
            raise BundleIncompatible(
                f"The adapter of bundle '{name}' does not fit its base model: {key} is {value.shape}, there: {base}.",
                hint="It was trained on another base model. Train it again on this one.",
            )
        weights[key] = value.astype(np.float32)


def read_safetensors(path: Path) -> Weights:
    """Read all floating-point tensors of a file as float32."""
    from safetensors import safe_open

    if not path.is_file():
        raise BundleMissing(f"There are no weights in {path.parent}: {path.name} is missing.")
    weights: Weights = {}
    with safe_open(path, framework="np") as file:
        for key in file.keys():  # noqa: SIM118  not a dict
            tensor = file.get_tensor(key)
            if tensor.dtype.kind in "fV":  # V: bfloat16, where numpy knows it only through ml_dtypes
                weights[key] = tensor.astype(np.float32)
    return weights
