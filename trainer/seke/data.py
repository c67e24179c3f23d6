"""Texts with all their phrases, as one window of tokens each, for keyphrase training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tokens import TokenizerFile
from trainer.base.corpus import Mined

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TextView:
    """The beginning of a text.

    Attributes:
        ids: int64 [length], special ones included.
        first, last: int64 [mentions], the tokens [first, last) of each mention.
        phrases: int64 [mentions], which phrase each is of, 0 to p - 1 in no order.
    """

    ids: Ints
    first: Ints
    last: Ints
    phrases: Ints


class Texts:
    """The texts of a source that have at least `MIN_PHRASES` phrases in their first window."""

    MIN_PHRASES = 4

    def __init__(self, mined: Mined, words: TokenizerFile, longest: int) -> None:
        self._mined = mined
        self._words = words
        self._longest = longest
        documents = np.asarray(mined.documents)
        self._starts = np.append(np.flatnonzero(np.diff(documents, prepend=documents[0] - 1)), len(documents))
        sentence = np.asarray(mined.mentions[:, 1])
        self._rows = np.argsort(sentence, kind="stable")  # mentions in the order of the sentences
        self._first_row = np.searchsorted(sentence[self._rows], np.arange(len(documents) + 1))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def view(self, number: int) -> TextView | None:
        """The first window of a text: whole sentences, at most `longest` tokens; None if it has too few phrases."""
        ids: list[Ints] = [np.array(self._words.prefix, np.int64)]
        length = len(ids[0])
        spans: list[tuple[int, int, int]] = []
        for sentence in range(self._starts[number], self._starts[number + 1]):
            (tokens,) = self._words.split([self._mined.sentence(sentence)])
            if length + len(tokens) > self._longest + len(self._words.prefix):
                break
            for row in self._rows[self._first_row[sentence] : self._first_row[sentence + 1]].tolist():
                phrase, _, start, end = self._mined.mentions[row].tolist()
                first = int(np.searchsorted(tokens.ends, start, side="right"))
                last = max(first + 1, int(np.searchsorted(tokens.starts, end, side="left")))
                spans.append((phrase, length + first, length + last))
            ids.append(tokens.ids)
            length += len(tokens)
        if len({phrase for phrase, _, _ in spans}) < self.MIN_PHRASES:
            return None
        phrases, firsts, lasts = np.array(spans, np.int64).T
        ids.append(np.array(self._words.suffix, np.int64))
        return TextView(np.concatenate(ids), firsts, lasts, np.unique(phrases, return_inverse=True)[1])
