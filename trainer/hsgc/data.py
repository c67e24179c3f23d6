"""Two views of one text for contrastive learning, without a language model that proposes words.

HS-GC substitutes words by what a masked language model expects in their place. The packaged encoder has no such head, so
a token is replaced by one whose vector in the embedding table is among the nearest, or dropped. Of a text that is
longer than a view, each view is another part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from indexer.common import unit

SUBSTITUTED = 0.2  # of the tokens
DROPPED = 0.1
NEAREST = 5  # one of them is the replacement
CHUNK = 1_024  # tokens whose neighbours are searched at once

Ints = NDArray[np.int64]


class Views:
    """Draws views of texts.

    Args:
        texts: Token ids of all texts, without special ones: their neighbours are precomputed.
        embeddings: float32 [tokens, dims], the encoder's table.
        special: Tokens that are never a replacement.
        longest: Tokens of a view.
    """

    def __init__(
        self, texts: Sequence[Ints], embeddings: NDArray[np.float32], special: Sequence[int], longest: int
    ) -> None:
        self._used = np.unique(np.concatenate(texts))
        self._near = _neighbours(self._used, unit(embeddings), special)
        self._longest = longest

    def of(self, text: Ints, draw: np.random.Generator) -> Ints:
        """One view: int [at most `longest`], at least one piece."""
        start = int(draw.integers(0, max(0, len(text) - self._longest) + 1))
        tokens = text[start : start + self._longest].copy()
        chance = draw.random(len(tokens))
        taken = np.flatnonzero(chance < SUBSTITUTED)
        rows = np.searchsorted(self._used, tokens[taken])
        tokens[taken] = self._near[rows, draw.integers(0, self._near.shape[1], len(taken))]
        kept = chance < 1 - DROPPED
        return tokens[kept] if kept.any() else tokens[:1]


def _neighbours(used: Ints, table: NDArray[np.float32], special: Sequence[int]) -> Ints:
    """The nearest other tokens of each: int [used, NEAREST], or fewer columns with a tiny vocabulary."""
    found = []
    count = min(NEAREST, len(table) - len(special) - 1)
    for start in range(0, len(used), CHUNK):
        some = used[start : start + CHUNK]
        near = table[some] @ table.T
        near[np.arange(len(some)), some] = -np.inf
        near[:, list(special)] = -np.inf
        found.append(np.argpartition(-near, count, axis=1)[:, :count])
    return np.concatenate(found)
