"""Aligns document vectors, by a matrix, with those from before the encoder learned phrases.

During the training a loss holds them (`trainer.base.anchor`); the remaining change is for the most part linear and the
same for all texts, and least squares find it at once. With the shipped encoder the mean cosine to
where vectors of titles, phrases, sentences and abstracts had been rose from .971 to .978 (the untrained encoder in 8 bits
and in 32 have about .99).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from indexer.protocols import Progress, no_progress
from models.torch.network import Network
from trainer.base.forward import document_vectors

RIDGE = 1.0  # towards no change, with some thousand vectors of unit length
GROUP = 32  # texts in one pass


def align_documents(
    network: Network,
    before: Network,
    texts: Sequence[Sequence[int]],
    *,
    padding: int,
    seconds: float = 0.0,
    progress: Progress = no_progress,
) -> None:
    """Change the head of documents so that the vectors of `texts` come as near as possible to those of another network.

    Args:
        network: Its head `documents` changes, nothing else.
        before: The network that `network` was trained from.
        texts: Token ids, special ones included.
        seconds: Time limit, approximate; fewer of the texts are used where necessary. 0 = all of them.
    """
    if not texts:
        return
    if seconds:
        start = time.perf_counter()
        _vectors(network, texts[:GROUP], padding)
        needed = 2 * (time.perf_counter() - start) * len(texts) / GROUP  # both networks read each
        texts = texts[:: max(1, math.ceil(needed / seconds))]
    read = 0

    def report(more: int) -> None:
        nonlocal read
        read += more
        progress("align", read, 2 * len(texts))

    now, target = (
        _vectors(one, texts, padding, report).double() for one in (network, before)
    )  # [texts, dims]
    gram = now.T @ now + RIDGE * torch.eye(now.shape[1], dtype=now.dtype)
    change = torch.linalg.solve(gram, now.T @ (target - now))  # [dims, dims]; 0 where nothing has moved
    with torch.no_grad():
        network.documents.add_(network.documents @ change.to(network.documents))


def _vectors(
    network: Network,
    texts: Sequence[Sequence[int]],
    padding: int,
    report: Callable[[int], None] = lambda more: None,
) -> Tensor:
    """Document vectors of unit length, float [texts, dims], on the CPU; `report` gets the size of each group."""
    network.eval()
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    found = torch.empty(len(texts), network.dims)
    for start in range(0, len(order), GROUP):
        some = order[start : start + GROUP]
        with torch.inference_mode():
            vectors = document_vectors(network, [texts[at] for at in some], padding)
        found[some] = nn.functional.normalize(vectors).cpu()
        report(len(some))
    return found
