"""Contrastive unsupervised keyphrase extraction (SEKE 2022): which phrases, taken together, represent a text.

A matrix W weighs the phrases of a text, e_d' W c_i and softmax over them (equations 4 and 5). Their weighted sum
(equation 6) should be nearer to its own text than that text is to the most similar texts (triplet loss, equation 8,
two hard negatives).

What differs from the paper, and why: vectors have unit length, so that the margin means the same for every encoder;
W begins as the identity, so that the untrained weights are those of plain similarity, and e_d' W c_i is divided by the
temperature of the other recipes, so that a softmax over cosines is not flat; texts are cut to their first window, which
is what one pass of indexing sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from indexer.errors import NotEnoughData
from models.tokens import TokenizerFile
from models.torch.network import Network
from trainer.base.autocast import fast
from trainer.base.corpus import Mined
from trainer.base.forward import device_of, padded
from trainer.base.losses import TEMPERATURE, triplet
from trainer.seke.data import Texts, TextView

TEXTS = 10_000  # that are trained on, at most; hard negatives are found among them
HELD_BACK = 256  # more, for the dev score
ANCHORS = 8  # texts of a batch; the paper's
NEGATIVES = 2  # nearest other texts of each; the paper's
MIN_TEXTS = 2 * ANCHORS
ENCODED = 32  # texts in one pass, when all are encoded


class KeyphraseContrast:
    """The recipe.

    Args:
        length: Tokens of the longest window, without special ones.
        encoder: Whether the encoder is trained too, as in the paper, or W alone.

    Attributes:
        weights: W, float [dims, dims].

    Raises:
        NotEnoughData: Too few texts have phrases.
    """

    def __init__(
        self,
        network: Network,
        words: TokenizerFile,
        sources: Sequence[Mined],
        *,
        length: int,
        encoder: bool,
        seed: int,
    ) -> None:
        self.network = network
        self.weights = nn.Parameter(torch.eye(network.dims, device=device_of(network)))
        self._padding = words.padding
        self._encoder = encoder
        self._seed = seed
        self._texts = _chosen([Texts(mined, words, length) for mined in sources], TEXTS + HELD_BACK, seed)
        if len(self._texts) < MIN_TEXTS:
            raise NotEnoughData(
                f"{len(self._texts)} texts have {Texts.MIN_PHRASES} phrases or more; {MIN_TEXTS} are needed.",
                hint="Give more text.",
            )
        self._held_back = range(min(HELD_BACK, len(self._texts) // 4))
        self._nearest = self._hard_negatives()

    def parameters(self) -> Iterable[nn.Parameter]:
        """What may change."""
        layers = (p for p in self.network.parameters() if p.requires_grad) if self._encoder else ()
        return [self.weights, *layers]

    def loss(self, step: int) -> Tensor:
        """Triplet loss of one batch."""
        draw = np.random.default_rng([self._seed, step])
        chosen = draw.choice(np.arange(len(self._held_back), len(self._texts)), ANCHORS, replace=False)
        return triplet(*self._triplets(chosen))

    def score(self) -> float:
        """Share of held-back texts whose phrases together are nearer to them than both negatives are."""
        right = []
        for start in range(0, len(self._held_back), ANCHORS):
            chosen = np.array(self._held_back[start : start + ANCHORS])
            texts, together, others = self._triplets(chosen)
            near, far = (texts - together).norm(dim=-1), (texts[:, None] - others).norm(dim=-1)
            right.append((near[:, None] < far).all(dim=1))
        return float(torch.cat(right).float().mean())

    def _triplets(self, chosen: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Texts [a, dims], their phrases together [a, dims], nearest other texts [a, NEGATIVES, dims]."""
        others = self._nearest[chosen]  # [a, NEGATIVES]
        every = [self._texts[at] for at in [*chosen.tolist(), *others.ravel().tolist()]]
        if not self._encoder:
            self.network.eval()  # no dropout either: what does not learn should not waver
        with torch.set_grad_enabled(self._encoder and torch.is_grad_enabled()):
            texts, tokens = read(self.network, every, self._padding)
            phrases = [phrase_vectors(tokens[row], every[row]) for row in range(len(chosen))]
        together = [joint(text, these, self.weights) for text, these in zip(texts, phrases, strict=False)]
        count = len(chosen)
        return texts[:count], torch.stack(together), texts[count:].reshape(count, NEGATIVES, -1)

    def _hard_negatives(self) -> np.ndarray:
        """The nearest other texts of each: int [n, NEGATIVES]."""
        self.network.eval()
        with torch.inference_mode():
            vectors = torch.cat(
                [
                    read(self.network, self._texts[start : start + ENCODED], self._padding)[0]
                    for start in range(0, len(self._texts), ENCODED)
                ]
            )
            found = []
            for start in range(0, len(vectors), 1024):
                near = vectors[start : start + 1024] @ vectors.T
                near[torch.arange(len(near)), torch.arange(start, start + len(near))] = -2  # itself
                found.append(near.topk(NEGATIVES, dim=1).indices)
        nearest: np.ndarray = torch.cat(found).cpu().numpy()
        return nearest


def joint(text: Tensor, phrases: Tensor, weights: Tensor) -> Tensor:
    """The phrases of a text together, as W weighs them (equations 4 to 6), at unit length.

    Args:
        text: float [dims], unit length. phrases: float [p, dims], unit length. weights: W, float [dims, dims].

    Returns:
        float [dims].
    """
    shares = torch.softmax(phrases @ (weights.T @ text) / TEMPERATURE, dim=0)  # [p]
    return nn.functional.normalize(shares @ phrases, dim=-1)


def read(network: Network, views: Sequence[TextView], padding: int) -> tuple[Tensor, Tensor]:
    """Vectors of texts, float [n, dims] at unit length, and of their tokens, float [n, length, dims]."""
    ids, mask = padded([view.ids for view in views], padding)
    ids, mask = ids.to(device_of(network)), mask.to(device_of(network))
    shares = mask / mask.sum(dim=1, keepdim=True)
    with fast(ids.device):
        documents, tokens, _ = network(ids, mask, mask.float(), shares, attention=False)
    return nn.functional.normalize(documents.float(), dim=-1), tokens.float()


def phrase_vectors(tokens: Tensor, view: TextView) -> Tensor:
    """One vector per phrase, the mean over its mentions: float [p, dims], unit length."""
    inside = torch.zeros(int(view.phrases.max()) + 1, len(tokens), device=tokens.device)
    for phrase, first, last in zip(view.phrases, view.first, view.last, strict=True):
        inside[phrase, first:last] += 1 / (last - first)
    return nn.functional.normalize(inside @ tokens, dim=-1)


def _chosen(sources: Sequence[Texts], most: int, seed: int) -> list[TextView]:
    """Some texts of all sources, in random order."""
    every = [(texts, number) for texts in sources for number in range(len(texts))]
    found: list[TextView] = []
    for number in np.random.default_rng([seed, 5]).permutation(len(every)).tolist():
        if len(found) == most:
            break
        texts, at = every[number]
        if view := texts.view(at):
            found.append(view)
    return found
