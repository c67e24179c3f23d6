"""Subjects that come up between two fits: new documents that are more like each other than like any that were there.

If new documents are about what the old ones are about, the neighbours of a new one are a mixture of both (the test of
Schilling, JASA 1986, for two samples). Where nearly all are new, a subject is new. No threshold of similarity is needed,
and none would do: a document on a new subject is often as near to the nearest topic as documents of that topic are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats

NEIGHBOURS = 20  # of each new document
LINKED = 10  # of these, the nearest ones, make documents a group
CHANCE = 1e-3  # with which a document on an old subject has so many new neighbours
SMALLEST = 12  # documents of a new subject


def rising(old: Floats, new: Floats) -> list[NDArray[np.intp]]:
    """Groups of new documents on subjects that old ones do not have: rows of `new`, the largest group first.

    Args:
        old: float32 [n, p], unit length: documents that topics were fitted to. new: float32 [m, p], the same.
    """
    if len(new) < SMALLEST or len(old) < NEIGHBOURS:
        return []
    from scipy.sparse import coo_array  # here: it takes a second to import
    from scipy.sparse.csgraph import connected_components
    from scipy.stats import binom

    cosines = new @ np.concatenate([old, new]).T
    cosines[np.arange(len(new)), len(old) + np.arange(len(new))] = -2  # itself
    near = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
    counts = (near >= len(old)).sum(axis=1)
    share = (len(new) - 1) / (len(old) + len(new) - 1)
    novel = binom.sf(counts - 1, NEIGHBOURS, share) < CHANCE
    one, other = np.nonzero(near[:, :LINKED] >= len(old))
    other = near[one, other] - len(old)
    linked = novel[one] & novel[other]
    edges = coo_array((np.ones(linked.sum()), (one[linked], other[linked])), shape=(len(new), len(new)))
    _, group = connected_components(edges, directed=False)
    groups = [np.flatnonzero((group == number) & novel) for number in np.unique(group[novel])]
    return sorted((rows for rows in groups if len(rows) >= SMALLEST), key=lambda rows: (-len(rows), rows[0]))
