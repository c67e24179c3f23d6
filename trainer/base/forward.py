"""The forward pass that all recipes share: token ids in, vectors out, with gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from models.encoder import MENTION_PIECES
from models.torch.network import Network
from trainer.base.autocast import fast
from trainer.base.pairs import View

GROUP = (
    24  # views of similar length in one pass, so that little is padded: a tenth, against four with all in one
)


def document_vectors(network: Network, texts: Sequence[Sequence[int]], padding: int) -> Tensor:
    """Vectors of texts as documents, in one pass: float [texts, dims], not of unit length, with gradients."""
    ids, mask = (part.to(device_of(network)) for part in padded([np.array(ids) for ids in texts], padding))
    with fast(ids.device):
        shares = mask / mask.sum(dim=1, keepdim=True)
        vectors: Tensor = network(ids, mask, mask.float(), shares, attention=False)[0]
    return vectors.float()


def embed(network: Network, views: Sequence[View], padding: int) -> Tensor:
    """Vector of each view's mention: float [views, dims], in the order given.

    The mean of its tokens; for a bundle whose mentions are entities, the vector of the entity.
    """
    order = sorted(range(len(views)), key=lambda at: len(views[at].ids))
    found: list[Tensor] = []
    device = device_of(network)
    for start in range(0, len(order), GROUP):
        some = [views[at] for at in order[start : start + GROUP]]
        ids, mask = padded([view.ids for view in some], padding)
        ids, mask = ids.to(device), mask.to(device)
        positions = positions_of(some).to(device) if network.pooling.mentions == "entities" else None
        with fast(device):
            _, tokens, _ = network(ids, mask, mask.float(), mask.float(), entities=positions, attention=False)
        if positions is None:
            inside = torch.zeros(ids.shape)
            for row, view in enumerate(some):
                inside[row, view.first : view.last] = 1 / (view.last - view.first)
            found.append(
                torch.einsum("bl,bld->bd", inside.to(device), tokens.float())
            )  # [group, length, dims]
        else:
            found.append(tokens[:, 0].float())
    back = torch.tensor(np.argsort(order), device=device)
    return torch.cat(found)[back]


def positions_of(views: Sequence[View]) -> Tensor:
    """Token positions of the mention of each view, as one entity: int [views, 1, tokens], padded with -1."""
    most = min(MENTION_PIECES, max(view.last - view.first for view in views))
    positions = torch.full((len(views), 1, most), -1)
    for row, view in enumerate(views):
        length = min(most, view.last - view.first)
        positions[row, 0, :length] = torch.arange(view.first, view.first + length)
    return positions


def padded(texts: Sequence[np.ndarray], padding: int) -> tuple[Tensor, Tensor]:
    """Ids and mask, int [batch, length]."""
    length = max(map(len, texts))
    ids = torch.full((len(texts), length), padding, dtype=torch.long)
    mask = torch.zeros((len(texts), length), dtype=torch.long)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.as_tensor(text)
        mask[row, : len(text)] = 1
    return ids, mask


def device_of(network: nn.Module) -> torch.device:
    return next(network.parameters()).device
