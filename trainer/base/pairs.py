"""Positive pairs as token ids: the same phrase in two contexts, in different views.

UCTopic (ACL 2022, 3.1) masks the anchor's mention always, and keeps the positive's with probability .5. Here the
positive may also be the phrase without a context, so that phrases with and without context share one space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tokens import TokenizerFile
from trainer.base.corpus import Mined, Span
from trainer.base.partners import Partners

MASKED_ANCHORS = 0.9
ALONE, MASKED = 0.30, 0.35  # of the positives; the others have a context
ALONE_WHEN_ONCE = 0.7  # a phrase that one text has is paired with itself alone, or unmasked in its context
WORDS_AROUND = (6, 18)  # of a window, each side
MAX_TOKENS = 64

_WORD = re.compile(r"\S+")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Mix:
    """Sources of pairs: mined texts with their shares, and the shares of special batches.

    Attributes:
        coordination: Of pairs of phrases named side by side.
        neighbours: Of pairs whose anchors are from few texts.
    """

    sources: Sequence[Mined]
    shares: Sequence[float]
    coordination: float = 0.5
    neighbours: float = 0.3


@dataclass(frozen=True)
class View:
    """One side of a pair: token ids with the special ones, and the tokens [first, last) that are pooled."""

    ids: Ints
    first: int
    last: int


@dataclass(frozen=True)
class PairBatch:
    """Pairs of views; row i of `anchors` belongs to row i of `positives`.

    Attributes:
        phrases: For each row, the phrase of the anchor and of the positive in lower case (equal, except in
            coordination pairs).
    """

    anchors: list[View]
    positives: list[View]
    phrases: list[tuple[str, str]]


class PairSampler:
    """Draws batches of pairs. Batch number n of a seed is always the same, so that training can be resumed.

    All pairs of a batch come from one source: in-batch negatives are then of the same kind of text, and
    cannot be distinguished by their source.
    """

    def __init__(self, mix: Mix, words: TokenizerFile, *, size: int, seed: int) -> None:
        self._mix = mix
        self._partners = [Partners(source) for source in mix.sources]
        self._words = words
        self._size = size
        self._seed = seed
        total = sum(mix.shares)
        self._shares = [share / total for share in mix.shares]

    def batch(self, number: int) -> PairBatch:
        """Batch `number`; any number is allowed."""
        draw = np.random.default_rng([self._seed, number])
        source = int(draw.choice(len(self._shares), p=self._shares))
        partners, kind = self._partners[source], draw.random()
        if kind < self._mix.coordination and partners.coordinated >= self._size:
            return self._siblings(source, draw)
        elif kind > 1 - self._mix.neighbours:
            rows = partners.neighbours(self._size, draw)
        else:
            rows = partners.anywhere(self._size, draw)
        return self._views(self._mix.sources[source], rows, draw)

    def _siblings(self, source: int, draw: np.random.Generator) -> PairBatch:
        """Pairs of phrases named side by side, each in another text that has it, or alone.

        Their own sentence is not used: it names both, and would match as a sentence, not as a kind of thing.
        """
        mined, partners = self._mix.sources[source], self._partners[source]
        cuts: list[tuple[str, Span, bool]] = []
        phrases: list[tuple[str, str]] = []
        for pair in partners.side_by_side(self._size, draw):
            surfaces = [_surface(*mined.mention(row)) for row in pair]
            phrases.append((surfaces[0].lower(), surfaces[1].lower()))
            for row, surface in zip(pair, surfaces, strict=True):
                other = partners.elsewhere(row, draw)
                if other is None or draw.random() < ALONE:
                    cuts.append((surface, (0, len(surface)), False))
                else:
                    cuts.append((*window(*mined.mention(other), draw), draw.random() < MASKED))
        views = view_all(self._words, cuts)
        return PairBatch(views[0::2], views[1::2], phrases)

    def _views(self, source: Mined, rows: list[tuple[int, int]], draw: np.random.Generator) -> PairBatch:
        cuts: list[tuple[str, Span, bool]] = []  # text, mention, masked; anchor and positive in turns
        phrases: list[tuple[str, str]] = []
        for one, other in rows:
            anchor, positive = source.mention(one), source.mention(other)
            phrases.append((_surface(*anchor).lower(), _surface(*positive).lower()))
            once = one == other
            masked = once or draw.random() < MASKED_ANCHORS
            cuts.append((*window(*anchor, draw), masked))
            kind = draw.random()
            if kind < (ALONE_WHEN_ONCE if once else ALONE):
                surface = _surface(*positive)
                cuts.append((surface, (0, len(surface)), False))
            else:
                cuts.append((*window(*positive, draw), not once and kind < ALONE + MASKED))
        views = view_all(self._words, cuts)
        return PairBatch(views[0::2], views[1::2], phrases)


def view_all(words: TokenizerFile, cuts: Sequence[tuple[str, Span, bool]]) -> list[View]:
    """Turn texts with a mention each into views; a masked mention has a mask for each of its tokens."""
    prefix, suffix = np.array(words.prefix), np.array(words.suffix)
    views = []
    for (_, (start, end), masked), tokens in zip(
        cuts, words.split([text for text, _, _ in cuts]), strict=True
    ):
        first = int(np.searchsorted(tokens.ends, start, side="right"))
        last = max(first + 1, int(np.searchsorted(tokens.starts, end, side="left")))
        # Tokens beyond the limit are cut evenly from both ends, never from the mention.
        room = max(0, MAX_TOKENS - (last - first)) // 2
        low, high = max(0, first - room), min(len(tokens), last + room)
        ids = tokens.ids[low:high].copy()
        if masked:
            ids[first - low : last - low] = words.mask
        whole = np.concatenate([prefix, ids, suffix]).astype(np.int64)
        views.append(View(whole, first - low + len(prefix), last - low + len(prefix)))
    return views


def window(sentence: str, mention: Span, draw: np.random.Generator) -> tuple[str, Span]:
    """The mention with some words on each side."""
    start, end = mention
    left, right = draw.integers(WORDS_AROUND[0], WORDS_AROUND[1] + 1, 2).tolist()
    before = [m.start() for m in _WORD.finditer(sentence, 0, start)]
    after = [m.end() for m in _WORD.finditer(sentence, end)]
    low = before[-left] if len(before) > left else 0
    high = after[right - 1] if len(after) > right else len(sentence)
    return sentence[low:high], (start - low, end - low)


def _surface(sentence: str, mention: Span) -> str:
    return sentence[mention[0] : mention[1]]


HELD_BACK = 1 << 30  # dev batches have numbers that no step reaches
DEV_BATCHES = 4
