"""The words that two texts have in common in one order, and whether these make them near duplicates.

The words of one text are aligned with those of the other so that as many as possible are equal. A copy has nearly all in
common; or its changes are scattered, by a scanner or a thesaurus, and every passage still has many in common. A text made
from the same template has long passages in common and others that are different: it is not a copy.

The thresholds were chosen on 10,000 arXiv abstracts, other ones than docs/search.md reports on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

NEARLY_ALL = 0.85  # share of common words that is enough
MANY = 0.6  # the same, where every passage has enough
PASSAGE = 40  # words; a shorter text must have nearly all in common
ENOUGH = 0.4  # of the words of a passage; unrelated texts have a third, such as "the" and "of"


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"\w+", text.lower())


def common_share(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of common words of two near duplicates; 0 where they are none.

    Args:
        one, other: The words of the texts.

    Returns:
        2 × common words / words of both, `MANY` to 1; or 0.
    """
    from rapidfuzz.distance import Indel

    share = Indel.normalized_similarity(one, other, score_cutoff=MANY)
    if share >= NEARLY_ALL or not share:
        return share
    blocks = Indel.opcodes(one, other).as_matching_blocks()
    in_one = _least_common(((block.a, block.size) for block in blocks), len(one))
    in_other = _least_common(((block.b, block.size) for block in blocks), len(other))
    return share if min(in_one, in_other) >= ENOUGH * PASSAGE else 0.0


def _least_common(blocks: Iterable[tuple[int, int]], length: int) -> int:
    """Return the common words of the passage that has fewest of them; 0 for a text that is shorter than a passage.

    Args:
        blocks: Start and length of each stretch of common words.
    """
    common = np.zeros(length + 1, np.int64)
    for start, size in blocks:
        common[start + 1 : start + 1 + size] = 1
    before = common.cumsum()  # the common words before each word
    return int(min(before[PASSAGE:] - before[:-PASSAGE], default=0))
