"""Phrase-BERT (EMNLP 2021): vectors of phrases without a context, by two triplet losses.

A phrase should be nearer to its paraphrase than to another phrase (3.1, equation 1), and nearer to a context that it was
cut from, with a mask in its place, than to another context. All are means over the tokens of the last layer; distances
are Euclidean, the margin is 1.

What differs from the paper, and why:

- Paraphrases are found in the texts (`trainer.phrase_bert.paraphrases`) instead of generated: no other model is
  needed. So they share words more often than those of the paper, whose paraphraser was set not to
  repeat words; of the other phrases half are the anchor with a word replaced, as in the paper, but not paraphrased
  after that.
- A context is the sentence, 64 tokens at most, not 120 tokens around the phrase: a third of the time for each step.
  Every token of the phrase is masked, not the phrase as one.
- Both losses are in every step, 16 triples each, instead of one set after the other.
- Document vectors are held where they were, as when phrases in context are learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from indexer.errors import NotEnoughData
from models.tokens import TokenizerFile
from models.torch.network import Network
from trainer.base.anchor import EmbeddingAnchor
from trainer.base.forward import embed
from trainer.base.losses import triplet_by_distance
from trainer.base.pairs import DEV_BATCHES, HELD_BACK
from trainer.phrase_bert.data import TripletSampler

MIN_PAIRS = 2


class PhraseBert:
    """The recipe.

    Args:
        documents: Token ids of windows, special ones included, for holding document vectors; may be empty.

    Raises:
        NotEnoughData: The texts have too few pairs of paraphrases.
    """

    def __init__(
        self,
        network: Network,
        words: TokenizerFile,
        triplets: TripletSampler,
        documents: Sequence[Sequence[int]],
        *,
        seed: int,
    ) -> None:
        if triplets.paraphrased < MIN_PAIRS:
            raise NotEnoughData(
                f"The texts have {triplets.paraphrased} pairs of paraphrases; {MIN_PAIRS} are needed.",
                hint="Give more text.",
            )
        self.network = network
        self._padding = words.padding
        self._triplets = triplets
        self._anchor = EmbeddingAnchor(network, words.padding, documents, seed=seed)

    def parameters(self) -> Iterable[nn.Parameter]:
        """What may change."""
        return (p for p in self.network.parameters() if p.requires_grad)

    def loss(self, step: int) -> Tensor:
        """Both triplet losses of this step, plus the loss that holds the document vectors."""
        paraphrases, contexts = self._triplets.paraphrases(step), self._triplets.contexts(step)
        vectors = embed(self.network, [*paraphrases.views, *contexts.views], self._padding)
        first, second = vectors[: len(paraphrases.views)], vectors[len(paraphrases.views) :]
        held = self._anchor.loss(step)
        return triplet_by_distance(*first.chunk(3)) + triplet_by_distance(*second.chunk(3)) + held

    def score(self) -> float:
        """Share of held-back triples, of both losses, whose positive is the nearer one."""
        right: list[Tensor] = []
        for number in range(HELD_BACK, HELD_BACK + DEV_BATCHES):
            for some in (self._triplets.paraphrases(number), self._triplets.contexts(number)):
                anchors, positives, negatives = embed(self.network, some.views, self._padding).chunk(3)
                nearer = (anchors - positives).norm(dim=-1) < (anchors - negatives).norm(dim=-1)
                right.append(nearer.float().mean())
        return float(torch.stack(right).mean())
