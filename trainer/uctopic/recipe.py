"""UCTopic (ACL 2022): vectors of phrases in context, by contrastive learning on unlabelled text.

What differs from the paper, and why:

- One pass over a window gives the vectors of all its mentions (mean over word pieces, layers of the bundle), instead
  of one pass of LUKE for each mention: indexing has to be fast.
- The positive may be the phrase standing alone, so that phrases can be searched without a context.
- No masked-language-model loss: the packaged encoder has no such head.
- Document vectors are held where they were, those of queries too: they come from the same layers, and are good already.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from models.encoder import MENTION_PIECES
from models.tokens import WordPieces
from models.torch.network import Network
from trainer.base.autocast import fast
from trainer.base.losses import different_phrases, info_nce, kept_as_before
from trainer.base.pairs import PairSampler, View

GROUP = (
    24  # views of like length in one pass, so that little is padded: a tenth, against four with all in one
)
HELD_BACK = 1 << 30  # dev batches have numbers that no step reaches
DEV_BATCHES = 4
KEEP_DOCUMENTS = 32  # of them in each step
KEEP_WEIGHT = 10.0


class UCTopic:
    """The recipe: pairs of mentions, and documents whose vectors should stay.

    Args:
        documents: Word pieces of windows, special ones included, for holding document vectors; may be empty.
    """

    def __init__(
        self,
        network: Network,
        words: WordPieces,
        pairs: PairSampler,
        documents: Sequence[Sequence[int]],
        *,
        seed: int,
    ) -> None:
        self.network = network
        self._padding = words.padding
        self._pairs = pairs
        self._keeper = Keeper(network, words.padding, documents, seed=seed)

    def parameters(self) -> Iterable[nn.Parameter]:
        """What may change."""
        return (p for p in self.network.parameters() if p.requires_grad)

    def loss(self, step: int) -> Tensor:
        """InfoNCE over the pairs of this step, plus what holds the document vectors."""
        batch = self._pairs.batch(step)
        vectors = embed(self.network, [*batch.anchors, *batch.positives], self._padding)
        anchors, positives = vectors[: len(batch.anchors)], vectors[len(batch.anchors) :]
        allowed = different_phrases(batch.phrases).to(vectors.device)
        return info_nce(anchors, positives, allowed) + KEEP_WEIGHT * self._keeper.loss(step)

    def score(self) -> float:
        """Share of held-back anchors whose positive is the nearest in its batch, less what documents have moved."""
        right = total = 0
        for number in range(DEV_BATCHES):
            batch = self._pairs.batch(HELD_BACK + number)
            vectors = nn.functional.normalize(
                embed(self.network, [*batch.anchors, *batch.positives], self._padding)
            )
            anchors, positives = vectors[: len(batch.anchors)], vectors[len(batch.anchors) :]
            right += int(
                (anchors @ positives.T)
                .argmax(dim=1)
                .eq(torch.arange(len(anchors), device=anchors.device))
                .sum()
            )
            total += len(anchors)
        return right / total


class Keeper:
    """Holds document vectors where they were when it was made.

    It keeps the network as it was then: the vectors of all texts would take a minute, and most trainings within a budget
    ask for few of them.

    Args:
        documents: Word pieces of texts, special ones included; without any, nothing is held.
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
        """How far some of them have moved: float []."""
        if not len(self._documents):
            return torch.zeros((), device=device_of(self._network))
        draw = np.random.default_rng([self._seed, step, 1])
        chosen = draw.choice(len(self._documents), min(KEEP_DOCUMENTS, len(self._documents)), replace=False)
        texts = [self._documents[at] for at in chosen.tolist()]
        with torch.no_grad():
            before = document_vectors(self._before, texts, self._padding)
        return kept_as_before(document_vectors(self._network, texts, self._padding), before)


def document_vectors(network: Network, texts: Sequence[Sequence[int]], padding: int) -> Tensor:
    """Vectors of texts as documents, in one pass: float [texts, dims], not of unit length, with gradients."""
    ids, mask = (part.to(device_of(network)) for part in padded([np.array(ids) for ids in texts], padding))
    with fast(ids.device):
        shares = mask / mask.sum(dim=1, keepdim=True)
        vectors: Tensor = network(ids, mask, mask.float(), shares, attention=False)[0]
    return vectors.float()


def embed(network: Network, views: Sequence[View], padding: int) -> Tensor:
    """Vector of each view's mention: float [views, dims], in the order given.

    The mean of its word pieces; for a bundle whose mentions are entities, the entity that stands there.
    """
    order = sorted(range(len(views)), key=lambda at: len(views[at].ids))
    found: list[Tensor] = []
    device = device_of(network)
    for start in range(0, len(order), GROUP):
        some = [views[at] for at in order[start : start + GROUP]]
        ids, mask = padded([view.ids for view in some], padding)
        ids, mask = ids.to(device), mask.to(device)
        places = places_of(some).to(device) if network.pooling.mentions == "entities" else None
        with fast(device):
            _, tokens, _ = network(ids, mask, mask.float(), mask.float(), entities=places, attention=False)
        if places is None:
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


def places_of(views: Sequence[View]) -> Tensor:
    """Where the mention of each view stands, as one entity: int [views, 1, pieces], padded with -1."""
    most = min(MENTION_PIECES, max(view.last - view.first for view in views))
    places = torch.full((len(views), 1, most), -1)
    for row, view in enumerate(views):
        length = min(most, view.last - view.first)
        places[row, 0, :length] = torch.arange(view.first, view.first + length)
    return places


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
