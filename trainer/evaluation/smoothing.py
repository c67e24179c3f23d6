"""Mention vectors smoothed over coordinated phrases. Only `indexer evaluate entities` uses it, indexing does not.

A phrase that is mentioned once has one vector, coloured by one sentence. The phrases that it is coordinated with are
further evidence of its kind, so its vector is drawn towards theirs, the more so the rarer it is itself. The characters
of a short form carry no meaning, so it takes the vector of its long form, wherever it is mentioned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, unit

PHRASE_SHARE = 0.5  # of the phrase's vector in a mention's; the rest is the mention's
ROUNDS = 5  # of drawing phrases towards linked ones; five more change little


@dataclass(frozen=True)
class Related:
    """Relations between phrases, found in texts. Phrases are numbers, 0 to p - 1.

    Attributes:
        linked: int [m, 2], coordinated phrases, and short forms with their long ones; order, repetitions and pairs of
            equals do not count.
        short: int [s, 2], long form and short form, once for each introduction in a text.
    """

    linked: NDArray[np.intp]
    short: NDArray[np.intp]


def phrase_vectors(vectors: Floats, phrase: NDArray[np.intp], related: Related) -> Floats:
    """One vector for each phrase: the mean of its mentions, drawn towards the phrases that it is linked with.

    With u the unit mean of a phrase's mentions, d the number of other phrases that it is linked with and c the number
    of its mentions: ``w = d / (d + sqrt(c))``, and the result is ``(1 - w) u + w * mean of the linked phrases'``,
    scaled to length 1. All phrases are moved at once, `ROUNDS` times, u staying as it is. At the end a short form
    takes the mean of its long forms, weighted by the number of introductions.

    Args:
        vectors: float32 [n, dims], mentions, unit length.
        phrase: int [n], the phrase of each mention; every phrase has a mention.

    Returns:
        float32 [p, dims], unit length.
    """
    mentions = np.bincount(phrase)  # [p]
    own = unit(_sums(vectors, phrase, len(mentions)))
    pairs = np.unique(np.sort(related.linked.reshape(-1, 2), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    here, there = np.concatenate([pairs, pairs[:, ::-1]]).T
    degrees = np.bincount(here, minlength=len(mentions))  # [p]
    weights = (degrees / (degrees + np.sqrt(mentions)))[:, None]  # [p, 1]
    drawn = own
    for _ in range(ROUNDS):
        others = _sums(drawn[there], here, len(mentions)) / np.maximum(degrees, 1)[:, None]
        drawn = unit((1 - weights) * own + weights * others)
    long, short = related.short.reshape(-1, 2).T
    meant = _sums(drawn[long], short, len(mentions))
    drawn[short] = unit(meant[short])
    return drawn


def smoothed(
    vectors: Floats, phrase: NDArray[np.intp], related: Related, *, share: float = PHRASE_SHARE
) -> Floats:
    """Mention vectors mixed with the vectors of their phrases (`phrase_vectors`).

    A mention of a short form has the vector of its phrase alone.

    Args:
        vectors, phrase, related: As for `phrase_vectors`.
        share: Weight of the phrase's vector, 0 to 1.

    Returns:
        float32 [n, dims], unit length.
    """
    shares = np.full(int(phrase.max()) + 1, share, np.float32)  # [p]
    shares[related.short.reshape(-1, 2)[:, 1]] = 1
    mixed = shares[phrase][:, None]  # [n, 1]
    return unit((1 - mixed) * vectors + mixed * phrase_vectors(vectors, phrase, related)[phrase])


def _sums(vectors: Floats, groups: NDArray[np.intp], number: int) -> Floats:
    """Sum of the vectors of each group: [n, dims], int [n] ► [number, dims]."""
    sums = np.zeros((number, vectors.shape[1]), np.float32)
    np.add.at(sums, groups, vectors)
    return sums
