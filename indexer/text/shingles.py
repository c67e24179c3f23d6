"""Which texts may be near duplicates, from sketches of their shingles.

A shingle is three words in a row, a sketch the lowest hashes of a text's shingles. Two texts have as large a share of
their sketches in common as of their shingles, so that a few hashes of each tell the pairs that are worth comparing.

Source: Broder 1997, On the resemblance and containment of documents: the sketch of the s smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from indexer.text.common_words import words

HASHES = 32  # of a sketch: 128 bytes
MIN_SHARED = 3  # hashes that two sketches have in common; texts of fewer than five words have no candidates
REPRESENTATIVES = 8  # of the texts with one hash; the others are compared with these alone

Pairs = NDArray[np.int64]  # [pairs, 2]


def sketch(text: str) -> bytes:
    """Return the lowest hashes of a text's shingles, ascending, as little-endian uint32.

    A text of fewer than three words has none.
    """
    from sklearn.utils import murmurhash3_32

    read = words(text)
    shingles = map(" ".join, zip(read, read[1:], read[2:], strict=False))
    lowest = nsmallest(HASHES, {murmurhash3_32(shingle, positive=True) for shingle in shingles})
    return np.array(lowest, "<u4").tobytes()


def candidate_pairs(sketches: Sequence[bytes], known: int = 0) -> Pairs:
    """Return the pairs of texts whose sketches have `MIN_SHARED` hashes in common.

    Texts with one hash that are many use a common phrase, or are copies of one text: each is paired with the first
    `REPRESENTATIVES` of them only.

    Args:
        sketches: The likelier originals first.
        known: So many at the beginning have been compared with each other.

    Returns:
        int64 [pairs, 2]: positions, ascending; the second is one of those that are not known.
    """
    hashes = np.frombuffer(b"".join(sketches), "<u4")
    owners = np.repeat(np.arange(len(sketches)), [len(sketch) // 4 for sketch in sketches])
    fresh = owners >= known
    useful = fresh | np.isin(hashes, hashes[fresh])
    hashes, owners = hashes[useful], owners[useful]
    order = np.argsort(hashes, kind="stable")  # of the texts with one hash, the first stays the first
    hashes, owners = hashes[order], owners[order]
    first = np.searchsorted(hashes, hashes)
    rank = np.arange(len(hashes)) - first
    found = [np.empty(0, np.int64)]
    for at in range(REPRESENTATIVES):
        later = np.flatnonzero((rank > at) & (owners >= known))
        found.append(owners[first[later] + at] * len(sketches) + owners[later])
    pairs, shared = np.unique(np.concatenate(found), return_counts=True)
    enough = pairs[shared >= MIN_SHARED]
    return np.stack(np.divmod(enough, max(1, len(sketches))), axis=1)
