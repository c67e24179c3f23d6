"""HS-GC (LREC-COLING 2024): documents of one cluster move together, those of different ones apart.

A document's vector is the mean over all layers of the mean over its tokens (equations 1 and 2; the bundle's pooling).
Two views of each text should be similar (instance loss, behind a small network, equations 3 to 5), and so should the
centres that the clusters have in the two views, kept over the batches by momentum (cluster loss, equations 6 to 11).

What differs from the paper, and why: views are made without a masked language model (`trainer.hsgc.data`); the
clusters are computed again whenever the dev score is measured; the centres then start from those of all texts, so that a
resumed run ends like one that was not stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from indexer.common import unit
from indexer.errors import NotEnoughData
from indexer.topics.models.documents import number_of_clusters
from indexer.topics.models.kmeans import kmeans
from models.tokens import TokenizerFile
from models.torch.network import Network
from trainer.base.forward import device_of, document_vectors
from trainer.base.losses import global_centres, local_centres, nt_xent
from trainer.hsgc.data import Ints, Views

BATCH = 256  # texts
INSTANCE_TEMPERATURE, CLUSTER_TEMPERATURE = 0.7, 1.0  # the paper's
CLUSTER_WEIGHT = 10.0  # the paper's
MOMENTUM = 0.9  # the paper's
HEAD = 128  # dims of the vectors that the instance loss compares; the paper's
FASTER = 100.0  # the head's learning rate, times the layers'; the paper's
MAX_TEXTS = 20_000  # that are trained on
HELD_BACK = 256  # of them, for the dev score
MIN_TEXTS = 16
VIEW_TOKENS = 32  # the paper's
GROUP = 64  # texts of similar length in one pass
RESTARTS = 3  # of K-means, each time


class GlobalContrast:
    """The recipe.

    Args:
        texts: Token ids of documents, at most a window each, without special ones.
        clusters: How many; None chooses by silhouette.
        again: Steps after which the clusters are computed again; that of the checkpoints.

    Attributes:
        clusters: Number of clusters.

    Raises:
        NotEnoughData: There are too few texts.
    """

    def __init__(
        self,
        network: Network,
        words: TokenizerFile,
        texts: Sequence[Ints],
        clusters: int | None,
        *,
        again: int,
        seed: int,
    ) -> None:
        texts = [text for text in texts if len(text)]
        if len(texts) < MIN_TEXTS:
            raise NotEnoughData(
                f"There are {len(texts)} texts; {MIN_TEXTS} are needed.", hint="Give more texts."
            )
        order = np.random.default_rng([seed, 6]).permutation(len(texts))[:MAX_TEXTS]
        self.network = network
        self._words = words
        self._texts = [texts[at] for at in order.tolist()]
        self._held_back = min(HELD_BACK, len(texts) // 4)  # the first ones
        self._again = again
        self._seed = seed
        device = device_of(network)
        dims = network.dims
        self._head = nn.Sequential(_Faster(dims, dims), nn.ReLU(), _Faster(dims, HEAD)).to(device)
        special = [*words.prefix, *words.suffix, words.padding, words.mask]
        table = network.transformer.get_input_embeddings().weight.detach().float().cpu().numpy()
        self._views = Views(self._texts, table, special, VIEW_TOKENS)
        self.clusters = clusters or number_of_clusters(unit(self._encoded()))
        self._labels = np.zeros(0, np.int64)
        self._centres = torch.zeros(2, self.clusters, dims, device=device)

    def parameters(self) -> Iterable[nn.Parameter]:
        """What may change."""
        return [*(p for p in self.network.parameters() if p.requires_grad), *self._head.parameters()]

    def loss(self, step: int) -> Tensor:
        """Instance and cluster loss of one batch."""
        if step % self._again == 0 or not len(self._labels):
            self._cluster()
            self.network.train()
        draw = np.random.default_rng([self._seed, step])
        rest = np.arange(self._held_back, len(self._texts))
        chosen = draw.choice(rest, min(BATCH, len(rest)), replace=False)
        one, other = self._two_views(chosen, draw)
        instances = nt_xent(self._head(one), self._head(other), temperature=INSTANCE_TEMPERATURE)
        labels = torch.from_numpy(self._labels[chosen]).to(one.device)
        centres = [
            global_centres(before, local_centres(view, labels, self.clusters), momentum=MOMENTUM)
            for before, view in zip(self._centres, (one, other), strict=True)
        ]
        self._centres = torch.stack(centres).detach()
        return instances + CLUSTER_WEIGHT * nt_xent(*centres, temperature=CLUSTER_TEMPERATURE)

    def score(self) -> float:
        """Share of held-back texts whose other view is the nearest of all other views."""
        one, other = self._two_views(np.arange(self._held_back), np.random.default_rng([self._seed, 7]))
        near = nn.functional.normalize(one) @ nn.functional.normalize(other).T
        return float(near.argmax(dim=1).cpu().eq(torch.arange(len(one))).float().mean())

    def _two_views(self, chosen: NDArray[np.intp], draw: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Vectors of two views of each text: float [chosen, dims] each."""
        texts = [self._texts[at] for at in chosen.tolist()]
        vectors = self._vectors([self._views.of(text, draw) for text in (*texts, *texts)])
        return vectors[: len(texts)], vectors[len(texts) :]

    def _vectors(self, texts: Sequence[Ints]) -> Tensor:
        """Document vectors, float [texts, dims], not of unit length."""
        whole = [[*self._words.prefix, *text.tolist(), *self._words.suffix] for text in texts]
        order = sorted(range(len(whole)), key=lambda at: len(whole[at]))
        found = torch.cat(
            [
                document_vectors(
                    self.network, [whole[at] for at in order[start : start + GROUP]], self._words.padding
                )
                for start in range(0, len(order), GROUP)
            ]
        )
        return found[torch.tensor(np.argsort(order), device=found.device)]

    def _encoded(self) -> NDArray[np.float32]:
        """Vectors of all texts as they are: float32 [texts, dims]."""
        self.network.eval()
        with torch.inference_mode():
            vectors: NDArray[np.float32] = self._vectors(self._texts).cpu().numpy()
        return vectors

    def _cluster(self) -> None:
        """Give every text the cluster that K-means finds for it now, and both views the centres of all texts."""
        vectors = self._encoded()
        means = kmeans(unit(vectors), self.clusters, seed=self._seed, starts=RESTARTS)
        self._labels = means.labels_.astype(np.int64)
        centres = local_centres(torch.from_numpy(vectors), torch.from_numpy(self._labels), self.clusters)
        self._centres = torch.stack([centres, centres]).to(self._centres.device)


class _Faster(nn.Linear):
    """A linear layer that learns `FASTER` times as fast as the optimiser's rate: its weights are that much smaller."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.div_(FASTER)

    def forward(self, inputs: Tensor) -> Tensor:
        return nn.functional.linear(inputs, FASTER * self.weight, FASTER * self.bias)
