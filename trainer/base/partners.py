"""Chooses the two mentions of a pair: one phrase in two texts, or two phrases named side by side.

Two sentences of one text have more in common than their phrase: a pair of them would teach the subject of the text.
So the mentions of a pair are from different texts. And where a batch has many phrases of each text, the subject of the
text cannot distinguish them either; only the context of the phrase can.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trainer.base.corpus import Mined

ONCE = 0.3  # weight of a phrase that one text has; one that n texts have weighs the root of n
PER_DOCUMENT = 8  # phrases of one text in a batch of neighbours, at most

Pairs = list[tuple[int, int]]
Ints = NDArray[np.intp]


class Partners:
    """Pairs of rows of `mined.mentions`. A phrase that one text has makes a pair of one row with itself."""

    def __init__(self, mined: Mined) -> None:
        self._together = mined.together
        phrases = np.asarray(mined.mentions[:, 0])
        documents = np.asarray(mined.documents)[mined.mentions[:, 1]]
        begins = np.ones(len(phrases), bool)  # of a run: the mentions of one phrase in one text
        begins[1:] = (np.diff(phrases) != 0) | (np.diff(documents) != 0)
        self._runs = np.append(np.flatnonzero(begins), len(phrases))  # [runs + 1], rows
        self._of_phrase = np.searchsorted(self._runs, mined.phrases)  # [phrases + 1], runs
        counts = np.diff(self._of_phrase)
        weights = np.where(counts == 1, ONCE, np.sqrt(counts))
        self._weights = weights / weights.sum()
        self._phrase = phrases[self._runs[:-1]]  # [runs]
        self._by_document = np.argsort(documents[self._runs[:-1]], kind="stable")  # runs
        self._document_ends = np.append(
            np.flatnonzero(np.diff(documents[self._runs[:-1]][self._by_document])) + 1, len(self._by_document)
        )

    @property
    def coordinated(self) -> int:
        """Number of pairs of phrases named side by side."""
        return len(self._together)

    @property
    def repeated(self) -> int:
        """Number of phrases that two texts or more have."""
        return int((np.diff(self._of_phrase) > 1).sum())

    def anywhere(self, size: int, draw: np.random.Generator) -> Pairs:
        """Pairs of `size` different phrases, frequent ones more often."""
        size = min(size, len(self._weights))
        phrases = draw.choice(len(self._weights), size, replace=False, p=self._weights)
        runs = draw.integers(self._of_phrase[phrases], self._of_phrase[phrases + 1])
        return [self._pair(run, draw) for run in runs.tolist()]

    def neighbours(self, size: int, draw: np.random.Generator) -> Pairs:
        """Pairs of `size` different phrases, of few texts: some of each."""
        found: dict[int, int] = {}  # phrase ► run
        for document in draw.permutation(len(self._document_ends))[: 4 * size].tolist():
            first = self._document_ends[document - 1] if document else 0
            runs = self._by_document[first : self._document_ends[document]]
            weights = self._weights[self._phrase[runs]]
            some = draw.choice(runs, min(PER_DOCUMENT, len(runs)), replace=False, p=weights / weights.sum())
            for run in some.tolist():
                found.setdefault(int(self._phrase[run]), run)
            if len(found) >= size:
                break
        return [self._pair(run, draw) for run in list(found.values())[:size]]

    def side_by_side(self, size: int, draw: np.random.Generator) -> Pairs:
        """Mentions that are named side by side, in either order."""
        rows = self._together[draw.choice(len(self._together), size, replace=False)]
        return [(a, b) if draw.random() < 0.5 else (b, a) for a, b in rows.tolist()]

    def elsewhere(self, row: int, draw: np.random.Generator) -> int | None:
        """A mention of the same phrase in another text, if there is one."""
        run = int(np.searchsorted(self._runs, row, side="right")) - 1
        _, other = self._pair(run, draw)
        return None if self._runs[run] <= other < self._runs[run + 1] else other

    def _pair(self, run: int, draw: np.random.Generator) -> tuple[int, int]:
        """A mention of the run, and one of the same phrase in another text; itself if there is none."""
        phrase = self._phrase[run]
        first, last = self._of_phrase[phrase : phrase + 2].tolist()
        row = int(draw.integers(self._runs[run], self._runs[run + 1]))
        if last - first == 1:
            return row, row
        other = int(draw.integers(first, last - 1))
        other += other >= run
        return row, int(draw.integers(self._runs[other], self._runs[other + 1]))
