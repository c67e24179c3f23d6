"""Triples as token ids: a phrase alone, a paraphrase or a context of it, and a negative.

The two training sets of Phrase-BERT (EMNLP 2021, section 3). Batch number n of a seed is always the same, so that a
training can be resumed; batches from `HELD_BACK` on have paraphrases that no other batch has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.tokens import TokenizerFile
from trainer.base.corpus import Mined, Span
from trainer.base.pairs import HELD_BACK, View, view_all
from trainer.base.partners import Partners
from trainer.phrase_bert.paraphrases import Pair, paraphrases

DEV_SHARE = 0.05  # of the paraphrases
CORRUPTED = 0.5  # of the other phrases: the anchor with a word replaced; the rest are phrases of other pairs

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Triplets:
    """Three views in each row: an anchor, a positive and a negative."""

    anchors: list[View]
    positives: list[View]
    negatives: list[View]

    @property
    def views(self) -> list[View]:
        """All anchors, all positives, all negatives."""
        return [*self.anchors, *self.positives, *self.negatives]


class TripletSampler:
    """Draws triples of mined sources.

    Args:
        shares: How often a batch of phrases in context is drawn from each source; need not sum to 1.
        specials: Whether special tokens count in the mean of a view.
    """

    def __init__(
        self,
        sources: Sequence[Mined],
        shares: Sequence[float],
        words: TokenizerFile,
        *,
        size: int,
        specials: bool,
        seed: int,
    ) -> None:
        self._sources = sources
        self._shares = [share / sum(shares) for share in shares]
        self._partners = [Partners(source) for source in sources]
        self._words = words
        self._size = size
        self._specials = specials
        self._seed = seed
        pairs = [pair for source in sources for pair in paraphrases(source)]
        self._pairs = [pairs[at] for at in np.random.default_rng([seed, 7]).permutation(len(pairs)).tolist()]
        self._dev = int(DEV_SHARE * len(pairs))

    @property
    def paraphrased(self) -> int:
        """Number of pairs of paraphrases."""
        return len(self._pairs)

    def paraphrases(self, number: int) -> Triplets:
        """A phrase, its paraphrase, and another phrase. There must be two pairs."""
        draw = np.random.default_rng([self._seed, number, 1])
        enough = self._dev >= 2  # to hold some back
        pairs = self._pairs[: self._dev] if number >= HELD_BACK and enough else self._pairs[self._dev :]
        rows: list[tuple[str, str, str]] = []
        for at in draw.choice(len(pairs), min(self._size, len(pairs)), replace=False).tolist():
            one, other = pairs[at] if draw.random() < 0.5 else pairs[at][::-1]
            stranger = pairs[(at + int(draw.integers(1, len(pairs)))) % len(pairs)]
            rows.append((one, other, other_phrase(one, stranger, draw)))
        return self._triplets(
            [[(text, (0, len(text)), False) for text in part] for part in zip(*rows, strict=True)]
        )

    def contexts(self, number: int) -> Triplets:
        """A phrase, a sentence that it was cut from, and a sentence that another phrase was cut from; both masked."""
        draw = np.random.default_rng([self._seed, number, 2])
        source = int(draw.choice(len(self._shares), p=self._shares))
        mined = self._sources[source]
        # The second row of a pair is the phrase in another text, where it has one: not always its first place.
        rows = [other for _, other in self._partners[source].anywhere(self._size, draw)]
        mentions = [mined.mention(row) for row in rows]
        alone = [sentence[start:end] for sentence, (start, end) in mentions]
        masked = [(sentence, span, True) for sentence, span in mentions]
        turn = int(draw.integers(1, len(rows))) if len(rows) > 1 else 0
        others = [*masked[turn:], *masked[:turn]]
        return self._triplets([[(text, (0, len(text)), False) for text in alone], masked, others])

    def _triplets(self, parts: Sequence[Sequence[tuple[str, Span, bool]]]) -> Triplets:
        return Triplets(*([self._whole(view) for view in view_all(self._words, part)] for part in parts))

    def _whole(self, view: View) -> View:
        """The view of which all tokens count."""
        if self._specials:
            return View(view.ids, 0, len(view.ids))
        return View(view.ids, len(self._words.prefix), len(view.ids) - len(self._words.suffix))


def other_phrase(phrase: str, stranger: Pair, draw: np.random.Generator) -> str:
    """A negative: a phrase of another pair, or the phrase itself with one word replaced by one of that pair."""
    theirs = stranger[int(draw.integers(2))]
    own, new = list(_WORD.finditer(phrase)), list(_WORD.finditer(theirs))
    if len(own) < 2 or not new or draw.random() >= CORRUPTED:
        return theirs
    replaced = own[int(draw.integers(len(own)))]
    return phrase[: replaced.start()] + new[int(draw.integers(len(new)))][0] + phrase[replaced.end() :]
