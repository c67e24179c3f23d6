"""Phrases that a text names side by side, as things of one kind or as two names of one thing; and what they learn.

Two signs are strict enough to be trusted without a model:

- coordination: ``aspirin and ibuprofen``, ``Rome, Paris``, with nothing else between the two mentions;
- a short form: ``congestive heart failure (CHF)``.

A phrase that is mentioned once has one vector, coloured by one sentence. The phrases that it is named with are
further evidence of what it is, so its vector is drawn towards theirs, the more so the rarer it is itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from indexer.encoding import Floats
from indexer.windows import unit

PHRASE_SHARE = 0.5  # of the phrase's vector in a mention's; the rest is its own

Span = tuple[int, int]

_JOINED = re.compile(r"\s+(?:and|or)\s+|\s*,\s+|\s*/\s*")
_OPENED = re.compile(r"\s*\(\s*")
_CLOSED = re.compile(r"\s*\)")


def links(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Pairs of mentions of one text that are named side by side.

    Args:
        spans: Character offsets (start, end) into `text`; they may overlap and need no order.

    Returns:
        Pairs of positions in `spans`; the first one stands before the second in the text. A pair is named once.
    """
    starting: dict[int, list[int]] = {}  # offset ► mentions
    for at, (start, _) in enumerate(spans):
        starting.setdefault(start, []).append(at)
    found = []
    for first, (start, end) in enumerate(spans):
        if joined := _JOINED.match(text, end):
            found += [(first, second) for second in starting.get(joined.end(), ())]
        if opened := _OPENED.match(text, end):
            for second in starting.get(opened.end(), ()):
                short = slice(*spans[second])
                if _CLOSED.match(text, short.stop) and is_short_for(text[short], text[start:end]):
                    found.append((first, second))
    return found


def is_short_for(short: str, long: str) -> bool:
    """Whether `short` may be the short form of `long`: 2 to 8 letters, all of them in `long`, in this order.

    ``is_short_for("CHF", "congestive heart failure")`` is true. Both begin with the same letter; case does not count.
    """
    if not (2 <= len(short) <= 8 and short.isalpha() and len(short) < len(long)):
        return False
    letters = iter(long.lower())
    return short[0].lower() == long[0].lower() and all(letter in letters for letter in short.lower())


def phrase_vectors(vectors: Floats, phrase: NDArray[np.intp], linked: NDArray[np.intp]) -> Floats:
    """One vector for each phrase: the mean of its mentions, drawn towards the phrases that it is linked with.

    With u the unit mean of a phrase's mentions, d the number of other phrases that it is linked with and c the number
    of its mentions: ``w = d / (d + sqrt(c))``, and the result is ``(1 - w) u + w * mean of the linked phrases' u``,
    scaled to length 1. All phrases are moved at once, one step.

    Args:
        vectors: float32 [n, dims], mentions, unit length.
        phrase: int [n], the phrase of each mention, 0 to p - 1; every phrase has a mention.
        linked: int [m, 2], pairs of phrases; their order, repetitions and pairs of equals do not count.

    Returns:
        float32 [p, dims], unit length.
    """
    mentions = np.bincount(phrase)  # [p]
    sums = np.zeros((len(mentions), vectors.shape[1]), np.float32)
    np.add.at(sums, phrase, vectors)
    own = unit(sums)
    pairs = np.unique(np.sort(linked.reshape(-1, 2), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    here, there = np.concatenate([pairs, pairs[:, ::-1]]).T
    degrees = np.bincount(here, minlength=len(mentions))  # [p]
    others = np.zeros_like(own)
    np.add.at(others, here, own[there])
    others /= np.maximum(degrees, 1)[:, None]
    weights = (degrees / (degrees + np.sqrt(mentions)))[:, None]  # [p, 1]
    return unit((1 - weights) * own + weights * others)


def smoothed(
    vectors: Floats, phrase: NDArray[np.intp], linked: NDArray[np.intp], *, share: float = PHRASE_SHARE
) -> Floats:
    """Mentions that know what else is said of their phrase: own vector and `phrase_vectors`, mixed.

    Args:
        vectors, phrase, linked: As for `phrase_vectors`.
        share: Of the phrase's vector, 0 to 1.

    Returns:
        float32 [n, dims], unit length.
    """
    return unit((1 - share) * vectors + share * phrase_vectors(vectors, phrase, linked)[phrase])
