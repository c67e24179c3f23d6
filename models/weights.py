"""Weights of a bundle: those of the base model, with the adapter merged in.

adapter.safetensors holds, under the names that the base model uses:

- ``NAME.lora_a`` [rank, inputs] and ``NAME.lora_b`` [outputs, rank]: ``W + scale * b @ a`` replaces weight NAME.
- ``NAME.delta`` int8 [outputs, inputs], ``NAME.delta_scale`` [outputs]: ``W + delta * delta_scale`` replaces weight NAME,
  each row with its own scale. A full training in a quarter of its size.
- ``NAME`` alone: replaces weight NAME.
- ``heads.…``: what stands beside the layers: `KEYPHRASES`, `DOCUMENTS`, `MENTIONS` with `MENTIONS_BIAS`, and all that
  begins with `RANKER`.

Merged once at load, an adapter costs nothing per text.

The folder ``int8`` of a shipped bundle replaces a base model that is not installed (`Bundle.is_int8`): its
weights.safetensors holds the merged weights, matrices as int8 with a scale per row under ``NAME.scale``. The int8 graph
of `models.onnx.graph` rounds layers in the same way, so the embeddings alone are rounded additionally: its median
cosine to float32 is .9984, with the whole model .9986 (300 abstracts). `tools.int8_weights` writes the folder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.errors import BundleIncompatible, BundleMissing
from models.bundle import Bundle

Weights = dict[str, NDArray[np.float32]]

DOCUMENTS = (
    "documents"  # the head that the mean of a window is multiplied with: document = mean @ head, [dims, dims]
)
KEYPHRASES = "keyphrases"  # the head that weighs phrases against their text: W of SEKE 2022, [dims, dims]
MENTIONS, MENTIONS_BIAS = (
    "mentions",
    "mentions_bias",
)  # tanh(MENTIONS @ vector + MENTIONS_BIAS), as in UCTopic
RANKER = "ranker."  # what the heads of a ranker of keyphrases begin with; see `models.ranker`
SCALE = ".scale"
LORA_A, LORA_B, DELTA, DELTA_SCALE, HEADS = ".lora_a", ".lora_b", ".delta", ".delta_scale", "heads."
PAIRS = {LORA_A: LORA_B, DELTA: DELTA_SCALE}  # first and second of two tensors that belong together


def load_weights(bundle: Bundle) -> Weights:
    """Read the base model and merge the adapter into it; or the merged int8 weights, scaled to float32.

    Raises:
        BundleMissing: The base model has no model.safetensors.
        BundleIncompatible: The adapter does not fit the base model.
    """
    weights = read_safetensors(bundle.weights_file)
    if bundle.is_int8:
        scales = {name: weights.pop(name) for name in list(weights) if name.endswith(SCALE)}
        for name, scale in scales.items():
            weights[name.removesuffix(SCALE)] *= scale[:, None]
        return weights
    if bundle.adapter_file:
        merge(
            weights,
            read_safetensors(bundle.adapter_file),
            scale=bundle.adapter.get("scale", 1.0),
            name=bundle.name,
        )
    return weights


def read_heads(bundle: Bundle) -> Weights:
    """The networks that stand beside the encoder, by name; empty without an adapter."""
    if not bundle.adapter_file:
        return {}
    adapter = read_safetensors(bundle.adapter_file)
    return {key.removeprefix(HEADS): value for key, value in adapter.items() if key.startswith(HEADS)}


def merge(weights: Weights, adapter: Weights, *, scale: float, name: str) -> None:
    """Merge `adapter` into `weights`, in place.

    Raises:
        BundleIncompatible: A weight is missing in the base model or has another shape there.
    """
    for key, value in adapter.items():
        if key.startswith(HEADS):
            continue
        if key.endswith(tuple(PAIRS.values())):  # taken with its partner
            _check_first(adapter, key, name)
            continue
        if key.endswith(LORA_A):
            key = key.removesuffix(LORA_A)
            high = _partner(adapter, key, LORA_A, value.shape[:1], axis=1, name=name)
            value = _added(weights, key, scale * (high @ value))
        elif key.endswith(DELTA):
            key = key.removesuffix(DELTA)
            rows = _partner(adapter, key, DELTA, value.shape[:1], axis=0, name=name)
            value = _added(weights, key, value * rows[:, None])
        if key not in weights or weights[key].shape != value.shape:
            base = weights[key].shape if key in weights else "no such weight"
            raise BundleIncompatible(
                f"The adapter of bundle '{name}' does not fit its base model: {key} is {value.shape}, there: {base}.",
                hint="It was trained on another base model. Train it again on this one.",
            )
        weights[key] = value.astype(np.float32)


def _partner(
    adapter: Weights, key: str, first: str, size: tuple[int, ...], *, axis: int, name: str
) -> NDArray[np.float32]:
    """The second tensor of a pair."""
    found = adapter.get(key + PAIRS[first])
    if found is None or found.shape[axis : axis + 1] != size:
        raise _unpaired(key, first, name)
    return found


def _check_first(adapter: Weights, key: str, name: str) -> None:
    """Refuse a second tensor that stands alone."""
    for first, second in PAIRS.items():
        if key.endswith(second) and key.removesuffix(second) + first not in adapter:
            raise _unpaired(key.removesuffix(second), first, name)


def _unpaired(key: str, first: str, name: str) -> BundleIncompatible:
    return BundleIncompatible(
        f"The adapter of bundle '{name}' must have {first} and {PAIRS[first]} of one rank for {key}."
    )


def _added(weights: Weights, key: str, change: NDArray[np.float32]) -> NDArray[np.float32]:
    fits = key in weights and weights[key].shape == change.shape
    return weights[key] + change if fits else change  # what does not fit is refused by the caller


def read_safetensors(path: Path) -> Weights:
    """Read all floating-point and 8-bit tensors of a file as float32.

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
        if tensor["dtype"] in ("F32", "F16", "BF16", "I8")
    }


def _as_float32(data: bytes, kind: str) -> NDArray[np.float32]:
    """Numbers as safetensors stores them, little-endian. numpy has no bfloat16: that is float32's upper half."""
    if kind == "BF16":
        return (np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, dtype={"F32": "<f4", "F16": "<f2", "I8": "i1"}[kind]).astype(np.float32)
