"""Phrases that a text names side by side, as things of one kind or as two names of one thing; and what they learn.

Two signs are strict enough to be trusted without a model:

- coordination: ``aspirin and ibuprofen``, ``Rome, Paris``, with nothing else between the two mentions;
- a short form: ``congestive heart failure (CHF)``.

A phrase that is mentioned once has one vector, coloured by one sentence. The phrases that it is named with are
further evidence of what it is, so its vector is drawn towards theirs, the more so the rarer it is itself. Letters
say nothing of what they stand for, so a short form has the vector of its long form, wherever it is mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, unit

PHRASE_SHARE = 0.5  # of the phrase's vector in a mention's; the rest is its own
ROUNDS = 5  # of drawing phrases towards those that they are named with; five more change nothing to speak of

Span = tuple[int, int]

_JOINED = re.compile(r"\s+(?:and|or)\s+|\s*,\s+|\s*/\s*")
_OPENED = re.compile(r"\s*\(\s*")
_CLOSED = re.compile(r"\s*\)")


def coordinated(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Pairs of mentions of one text that are named side by side as things of one kind.

    Args:
        spans: Character offsets (start, end) into `text`; they may overlap and need no order.

    Returns:
        Pairs of positions in `spans`; the first one stands before the second in the text. A pair is named once.
    """
    return list(_following(text, spans, _JOINED))


def short_forms(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Pairs of mentions of one text of which the second, in brackets, is introduced as the short form of the first.

    Args, returns: As for `coordinated`.
    """
    return [
        (long, short)
        for long, short in _following(text, spans, _OPENED)
        if _CLOSED.match(text, spans[short][1])
        and is_short_for(text[slice(*spans[short])], text[slice(*spans[long])])
    ]


def _following(text: str, spans: Sequence[Span], between: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Pairs of mentions that have `between` between them, and nothing else."""
    starting: dict[int, list[int]] = {}  # offset ► mentions
    for at, (start, _) in enumerate(spans):
        starting.setdefault(start, []).append(at)
    for first, (_, end) in enumerate(spans):
        if joint := between.match(text, end):
            for second in starting.get(joint.end(), ()):
                yield first, second


def is_short_for(short: str, long: str) -> bool:
    """Whether `short` may be the short form of `long`: 2 to 8 letters, all of them in `long`, in this order.

    ``is_short_for("CHF", "congestive heart failure")`` is true. Both begin with the same letter; case does not count.
    """
    if not (2 <= len(short) <= 8 and short.isalpha() and len(short) < len(long)):
        return False
    letters = iter(long.lower())
    return short[0].lower() == long[0].lower() and all(letter in letters for letter in short.lower())


@dataclass(frozen=True)
class Related:
    """What texts say of phrases. Phrases are numbers, 0 to p - 1.

    Attributes:
        linked: int [m, 2], phrases named side by side, short forms with their long ones too; order, repetitions and
            pairs of equals do not count.
        short: int [s, 2], long form and short form, as often as a text introduces it.
    """

    linked: NDArray[np.intp]
    short: NDArray[np.intp]


def phrase_vectors(vectors: Floats, phrase: NDArray[np.intp], related: Related) -> Floats:
    """One vector for each phrase: the mean of its mentions, drawn towards the phrases that it is linked with.

    With u the unit mean of a phrase's mentions, d the number of other phrases that it is linked with and c the number
    of its mentions: ``w = d / (d + sqrt(c))``, and the result is ``(1 - w) u + w * mean of the linked phrases'``,
    scaled to length 1. All phrases are moved at once, `ROUNDS` times, u staying as it is. At the end a short form
    takes the mean of its long forms, each counting as often as it is introduced.

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
    """Mentions that know what else is said of their phrase: own vector and `phrase_vectors`, mixed.

    A mention of a short form has the vector of its phrase alone.

    Args:
        vectors, phrase, related: As for `phrase_vectors`.
        share: Of the phrase's vector, 0 to 1.

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
