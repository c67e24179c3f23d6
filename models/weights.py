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
        if key.startswith(HEADS) or (key.endswith(LORA_B) and key.removesuffix(LORA_B) + LORA_A in adapter):
            continue
        if key.endswith((LORA_A, LORA_B)):
            key = key.removesuffix(LORA_A)
            high = adapter.get(key + LORA_B)
            if high is None or high.shape[1:] != value.shape[:1]:
                raise BundleIncompatible(
                    f"The adapter of bundle '{name}' must have {LORA_A} and {LORA_B} of one rank for {key}."
                )
            value = scale * (high @ value)
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
    """Read all floating-point tensors of a file as float32.

    Raises:
        BundleMissing: There is no such file.
        BundleIncompatible: It is damaged.
    """
    from safetensors import SafetensorError, deserialize

    try:
        tensors = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
    except FileNotFoundError as error:
        raise BundleMissing(f"There are no weights in {path.parent}: {path.name} is missing.") from error
    except SafetensorError as error:
        raise BundleIncompatible(f"{path} cannot be read as weights: {error}.") from error
    return {
        name: _as_float32(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])
        for name, tensor in tensors
        if tensor["dtype"] in ("F32", "F16", "BF16")
    }


def _as_float32(data: bytes, kind: str) -> NDArray[np.float32]:
    """Numbers as safetensors stores them, little-endian. numpy has no bfloat16: that is float32's upper half."""
    if kind == "BF16":
        return (np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, dtype={"F32": "<f4", "F16": "<f2"}[kind]).astype(np.float32)
