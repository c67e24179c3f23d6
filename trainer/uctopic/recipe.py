"""UCTopic (ACL 2022): vectors of phrases in context, by contrastive learning on unlabelled text.

What differs from the paper, and why:

- One pass over a window gives the vectors of all its mentions (mean over tokens, layers of the bundle), instead
  of one pass of LUKE for each mention: indexing has to be fast.
- The positive may be the phrase without a context, so that phrases can be searched without a context.
- No masked-language-model loss: the packaged encoder has no such head.
- Document vectors are held where they were, those of queries too: they come from the same layers, and are good already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from models.tokens import TokenizerFile
from models.torch.network import Network
from trainer.base.anchor import EmbeddingAnchor
from trainer.base.forward import embed
from trainer.base.losses import different_phrases, info_nce
from trainer.base.pairs import DEV_BATCHES, HELD_BACK, PairSampler


class UCTopic:
    """The recipe: pairs of mentions, and documents whose vectors should stay.

    Args:
        documents: Token ids of windows, special ones included, for holding document vectors; may be empty.
    """

    def __init__(
        self,
        network: Network,
        words: TokenizerFile,
        pairs: PairSampler,
        documents: Sequence[Sequence[int]],
        *,
        seed: int,
    ) -> None:
        self.network = network
        self._padding = words.padding
        self._pairs = pairs
        self._anchor = EmbeddingAnchor(network, words.padding, documents, seed=seed)

    def parameters(self) -> Iterable[nn.Parameter]:
        """What may change."""
        return (p for p in self.network.parameters() if p.requires_grad)

    def loss(self, step: int) -> Tensor:
        """InfoNCE over the pairs of this step, plus the loss that holds the document vectors."""
        batch = self._pairs.batch(step)
        vectors = embed(self.network, [*batch.anchors, *batch.positives], self._padding)
        anchors, positives = vectors[: len(batch.anchors)], vectors[len(batch.anchors) :]
        allowed = different_phrases(batch.phrases).to(vectors.device)
        return info_nce(anchors, positives, allowed) + self._anchor.loss(step)

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
