"""A loss that keeps document vectors where they were while an encoder learns phrases."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from models.torch.network import Network
from trainer.base.forward import device_of, document_vectors
from trainer.base.losses import kept_as_before

KEEP_DOCUMENTS = 32  # compared in each step
KEEP_WEIGHT = 10.0  # of this loss next to that of the recipe


class EmbeddingAnchor:
    """Holds document vectors where they are when it is created.

    It keeps a copy of the network: the vectors of all texts would take a minute, and most trainings within a budget
    need few of them.

    Args:
        documents: Token ids of texts, special ones included; without any, the loss is 0.
    """

    def __init__(
        self, network: Network, padding: int, documents: Sequence[Sequence[int]], *, seed: int
    ) -> None:
        self._network = network
        self._padding = padding
        self._documents = documents
        self._seed = seed
        self._before = copy.deepcopy(network).eval()

    def loss(self, step: int) -> Tensor:
        """How far some of them have moved, times `KEEP_WEIGHT`: float []."""
        if not len(self._documents):
            return torch.zeros((), device=device_of(self._network))
        draw = np.random.default_rng([self._seed, step, 1])
        chosen = draw.choice(len(self._documents), min(KEEP_DOCUMENTS, len(self._documents)), replace=False)
        texts = [self._documents[at] for at in chosen.tolist()]
        with torch.no_grad():
            before = document_vectors(self._before, texts, self._padding)
        return KEEP_WEIGHT * kept_as_before(document_vectors(self._network, texts, self._padding), before)
