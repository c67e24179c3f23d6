"""Cluster-assisted contrastive learning, CCL (UCTopic, ACL 2022, 3.3): a collection's own clusters as pseudo-labels.

In-batch negatives go wrong in a small collection: many rows of a batch are of one kind. CCL takes negatives from other
clusters instead:

1. cluster the collection's mentions with the encoder as it is;
2. of each cluster, the mentions nearest to the centroid get its number as a pseudo-label; a phrase whose mentions
   have different ones takes the most frequent;
3. an anchor's positive has the same label, its negatives are one mention of every other cluster; the anchor is always
   masked, the others with probability .5.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from indexer.common import unit
from indexer.topics.models.kmeans import kmeans
from models.tokens import TokenizerFile
from models.torch.network import Network
from trainer.base.corpus import Mined
from trainer.base.forward import embed
from trainer.base.losses import cluster_contrast
from trainer.base.pairs import View, view_all, window

MAX_MENTIONS = 20_000  # that are clustered
MIN_MENTIONS = 3_000
MENTIONS_PER_SECOND = (
    40  # of a budget; a core encodes three times as many, so a third of the budget goes there
)
LABELLED = 0.2  # share of each cluster's mentions that get a pseudo-label; the paper tries .05, .1, .2 and .5
UNMASKED = 0.5  # of positives and negatives
ANCHORS = 32  # of a batch
ENCODED = 512  # views in one pass, when all mentions are encoded
HELD_BACK = 1 << 30  # dev batches have numbers that no step reaches
DEV_BATCHES = 4


class ClusterContrast:
    """The recipe.

    Args:
        mined: The collection.
        number: Of clusters.
        budget: Seconds of the training, so that not all of them go into the clusters; 0 = no limit.

    Attributes:
        rows: int [n], mentions with a pseudo-label; labels: int [n], 0 to `number` - 1.
    """

    def __init__(
        self,
        network: Network,
        words: TokenizerFile,
        mined: Mined,
        number: int,
        *,
        seed: int,
        budget: float = 0.0,
    ) -> None:
        self.network = network
        self._words = words
        self._mined = mined
        self._seed = seed
        draw = np.random.default_rng([seed, 3])
        count = len(mined.mentions)
        rows = np.sort(draw.choice(count, min(clustered(budget), count), replace=False))
        self.rows, self.labels = self._pseudo_labels(rows, number)
        self._of_label = [np.flatnonzero(self.labels == label) for label in np.unique(self.labels)]

    def parameters(self) -> Iterable[nn.Parameter]:
        """What may change."""
        return (p for p in self.network.parameters() if p.requires_grad)

    def loss(self, step: int) -> Tensor:
        """The loss of one batch of anchors."""
        return cluster_contrast(*self._batch(step))

    def score(self) -> float:
        """Share of held-back anchors that are nearer to their positive than to every negative."""
        right = [
            (a @ p.T).diagonal() > (a @ n.T).masked_fill(~allowed, -2).amax(dim=1)
            for a, p, n, allowed in (self._unit_batch(HELD_BACK + at) for at in range(DEV_BATCHES))
        ]
        return float(torch.cat(right).float().mean())

    def _unit_batch(self, number: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        anchors, positives, negatives, allowed = self._batch(number)
        normalize = nn.functional.normalize
        return normalize(anchors), normalize(positives), normalize(negatives), allowed

    def _batch(self, number: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Anchors and positives [a, dims], a negative of each cluster [k, dims], and which are of another one [a, k]."""
        draw = np.random.default_rng([self._seed, number])
        own = draw.integers(0, len(self._of_label), ANCHORS)
        pairs = [draw.choice(self._of_label[label], 2) for label in own.tolist()]
        others = [draw.choice(members) for members in self._of_label]
        anchors = self._views([pair[0] for pair in pairs], np.ones(ANCHORS, bool), draw)
        rest = [*(pair[1] for pair in pairs), *others]
        vectors = embed(
            self.network,
            [*anchors, *self._views(rest, draw.random(len(rest)) >= UNMASKED, draw)],
            self._words.padding,
        )
        allowed = torch.tensor(own[:, None] != np.arange(len(self._of_label))[None, :], device=vectors.device)
        return vectors[:ANCHORS], vectors[ANCHORS : 2 * ANCHORS], vectors[2 * ANCHORS :], allowed

    def _views(
        self, chosen: Iterable[int], masked: NDArray[np.bool_], draw: np.random.Generator
    ) -> list[View]:
        cuts = [
            (*window(*self._mined.mention(int(self.rows[at])), draw), bool(mask))
            for at, mask in zip(chosen, masked, strict=True)
        ]
        return view_all(self._words, cuts)

    def _pseudo_labels(
        self, rows: NDArray[np.intp], number: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        vectors = unit(self._encoded(rows))
        means = kmeans(vectors, number, seed=self._seed, starts=5)
        near = np.sum(vectors * unit(means.cluster_centers_)[means.labels_], axis=1)
        kept = np.zeros(len(rows), bool)
        for label in range(number):
            members = np.flatnonzero(means.labels_ == label)
            kept[members[np.argsort(-near[members])[: max(2, round(LABELLED * len(members)))]]] = True
        labels = agreed(np.asarray(self._mined.mentions[rows[kept], 0]), means.labels_[kept])
        return rows[kept], labels

    def _encoded(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        draw = np.random.default_rng([self._seed, 4])
        found = []
        self.network.eval()
        with torch.inference_mode():
            for start in range(0, len(rows), ENCODED):
                some = [self._mined.mention(int(row)) for row in rows[start : start + ENCODED]]
                views = view_all(self._words, [(*window(*mention, draw), False) for mention in some])
                found.append(embed(self.network, views, self._words.padding).cpu().numpy())
        return np.concatenate(found)


def clustered(budget: float) -> int:
    """Maximal number of clustered mentions, for a training within a budget in seconds (0 = no limit).

    It depends on the budget alone: a training that was killed must find the same clusters again.
    """
    affordable = int(budget * MENTIONS_PER_SECOND) or MAX_MENTIONS
    return min(max(affordable, MIN_MENTIONS), MAX_MENTIONS)


def agreed(phrases: NDArray[np.integer], labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Give all mentions of a phrase its most frequent label (the smallest among equals): int [n]."""
    _, phrase = np.unique(phrases, return_inverse=True)
    votes = np.zeros((phrase.max() + 1, labels.max() + 1), np.int64)
    np.add.at(votes, (phrase, labels), 1)
    most: NDArray[np.intp] = votes.argmax(axis=1)[phrase]
    return most
