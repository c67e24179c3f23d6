"""Which texts may be near duplicates, from sketches of their shingles.

A shingle is three words in a row, a sketch the lowest hashes of a text's shingles. Two texts have as large a share of
their sketches in common as of their shingles, so that a few hashes of each tell the pairs that are worth comparing.

Source: Broder 1997, On the resemblance and containment of documents: the sketch of the s smallest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.common import batches

WORDS = 3  # of a shingle
HASHES = 32  # of a sketch: 128 bytes
MIN_SHARED = 3  # hashes that two sketches have in common; texts of fewer than five words have no candidates
REPRESENTATIVES = 8  # of the texts with one hash; the others are compared with these alone
HASHED_AT_ONCE = 16  # texts; each may have ten million characters

Pairs = NDArray[np.int64]  # [pairs, 2]


def sketches(texts: Iterable[str]) -> Iterator[bytes]:
    """Return the sketch of each text: its lowest hashes, ascending, as little-endian uint32.

    A text of fewer than three words has an empty one.
    """
    for some in batches(texts, HASHED_AT_ONCE):
        hashed = _vectorizer().transform(some)
        hashed.sum_duplicates()  # sorts them, too
        for start, end in zip(hashed.indptr, hashed.indptr[1:], strict=False):
            yield hashed.indices[start : min(end, start + HASHES)].astype("<u4").tobytes()


@cache
def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        token_pattern=r"\w+", ngram_range=(WORDS, WORDS), n_features=2**31 - 1, alternate_sign=False,
        norm=None, dtype=np.float32,
    )  # fmt: skip


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
