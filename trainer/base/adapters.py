"""Adapters: the change of the weights as a small file, LoRA's two thin matrices or int8 differences."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.bundle import Bundle
from models.torch.network import Network
from models.weights import DELTA, DELTA_SCALE, LORA_A, LORA_B, read_safetensors

Tensors = dict[str, NDArray[np.generic]]


class LoraLinear(nn.Module):
    """A linear layer that stays, plus a trained product of two thin matrices (LoRA, Hu et al. 2022).

    Args:
        rank: Of the product. Its scale is 1, so that `models.weights` merges b @ a as it is.
    """

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, linear.in_features))
        self.b = nn.Parameter(torch.zeros(linear.out_features, rank))  # so that nothing changes at first
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, inputs: Tensor) -> Tensor:
        changed: Tensor = self.linear(inputs) + (inputs @ self.a.T) @ self.b.T
        return changed


def add_lora(network: Network, rank: int) -> None:
    """Add LoRA to every linear layer of the transformer's layers; only LoRA and the head of documents are trainable."""
    network.requires_grad_(False)
    network.documents.requires_grad = True
    for name, module in list(network.named_modules()):
        if isinstance(module, nn.Linear) and (".layer." in name or ".layers." in name):
            parent, _, child = name.rpartition(".")
            setattr(network.get_submodule(parent), child, LoraLinear(module, rank))


def only_layers(network: Network) -> None:
    """Make the transformer's layers and the head of documents trainable.

    Word vectors stay: those of tokens that no batch has would lag behind.
    """
    for name, parameter in network.named_parameters():
        parameter.requires_grad = ".layer." in name or ".layers." in name
    network.documents.requires_grad = True


def adapter_of(network: Network, bundle: Bundle) -> Tensors:
    """Return the difference of the network's weights from those of the bundle's base model (without its adapter).

    Returns:
        Tensors by name, to be written to adapter.safetensors; see `models.weights`. After LoRA on an untrained base
        these are thin matrices, otherwise int8 differences with one scale per row.
    """
    base = read_safetensors(bundle.base_folder / "model.safetensors")
    lora = {name: module for name, module in network.named_modules() if isinstance(module, LoraLinear)}
    if lora and not bundle.adapter_file:
        return _thin(network, lora.values())
    for name, module in lora.items():  # on a trained base: merged, so that the file holds both trainings
        with torch.no_grad():
            module.linear.weight += module.b @ module.a
        parent, _, child = name.rpartition(".")
        setattr(network.get_submodule(parent), child, module.linear)
    found: Tensors = {}
    for key, parameter in network.base_parameters().items():
        now = parameter.detach().float().cpu().numpy()
        if np.array_equal(now, base[key]):
            continue
        if now.ndim == 2:
            found[key + DELTA], found[key + DELTA_SCALE] = in_eight_bits(now - base[key])
        else:
            found[key] = now
    return found


def in_eight_bits(change: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix to int8 with one scale per row.

    Args:
        change: float32 [outputs, inputs].

    Returns:
        int8 [outputs, inputs] and float32 [outputs]; their product is nearer than half a scale to `change`.
    """
    scale = np.maximum(np.abs(change).max(axis=1), 1e-12) / 127
    return np.rint(change / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def _thin(network: Network, lora: Iterable[LoraLinear]) -> Tensors:
    """LoRA's matrices under the base model's names for the weights that they change."""
    changed = {id(module.linear.weight): module for module in lora}
    found: Tensors = {}
    for key, parameter in network.base_parameters().items():
        if module := changed.get(id(parameter)):
            found[key + LORA_A] = module.a.detach().cpu().numpy().astype(np.float16)
            found[key + LORA_B] = module.b.detach().cpu().numpy().astype(np.float16)
    return found
