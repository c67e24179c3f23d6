"""Word vectors, counted in raw text: words with the same neighbours get the same tags."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from indexer.errors import NotEnoughData

PLACES = (-2, -1, 1, 2)  # neighbours that describe a word

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[^\w\s]")


def read_raw(paths: Sequence[Path]) -> Iterator[list[str]]:
    """Yield the lower-case words of each document of (gzip-compressed) JSON lines with `title` and `text`."""
    for path in paths:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                yield _WORD.findall(f"{document.get('title', '')} . {document['text']}".lower())


def word_vectors(
    texts: Callable[[], Iterable[Sequence[str]]],
    *,
    words: int,
    dims: int,
    contexts: int = 1_500,
    seed: int = 0,
) -> tuple[list[str], NDArray[np.float32]]:
    """Count neighbours and compress the counts: words in the same contexts get similar vectors.

    A word is described by which of the `contexts` most frequent words stand one and two places before and behind
    it, each place apart (that tells verbs from nouns), as positive pointwise mutual information, cut down to `dims`
    by a singular value decomposition.

    Args:
        texts: Called twice; gives the words of one text after the other.

    Returns:
        At most `words` words, the most frequent first, and float32 [words, dims], rows of length 1.

    Raises:
        NotEnoughData: There are not more words than dims.

    Source: Levy, Goldberg and Dagan 2015 (TACL 3), sections 2.1 and 3: smoothing of contexts by 0.75, square root of
    the singular values.
    """
    from sklearn.utils.extmath import randomized_svd

    counted = Counter(itertools.chain.from_iterable(texts()))
    known = [word for word, _ in counted.most_common(words)]
    if len(known) <= dims:
        raise NotEnoughData(f"The raw text has {len(known)} different words; {dims} dimensions need more.")
    row_of = {word: row for row, word in enumerate(known)}
    column_of = {word: column for column, (word, _) in enumerate(counted.most_common(contexts))}
    rare, outside = len(column_of), len(column_of) + 1
    width = len(column_of) + 2  # columns for one place

    counts = sparse.csr_matrix((len(known), len(PLACES) * width))
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    for text in itertools.chain(texts(), [None]):
        if text is not None:
            row = np.array([row_of.get(word, -1) for word in text], dtype=np.int64)
            column = np.array([column_of.get(word, rare) for word in text], dtype=np.int64)
            for number, place in enumerate(PLACES):
                neighbour = np.full(len(text), outside)
                if place < 0:
                    neighbour[-place:] = column[:place]
                else:
                    neighbour[:-place] = column[place:]
                rows.append(row[row >= 0])
                columns.append(neighbour[row >= 0] + number * width)
        if len(rows) > 40_000 or (text is None and rows):  # now and then, to keep memory flat
            places = np.concatenate(rows), np.concatenate(columns)
            counts = counts + sparse.coo_matrix((np.ones(len(places[0])), places), shape=counts.shape).tocsr()
            rows, columns = [], []

    cells = counts.tocoo()
    total = cells.data.sum()
    row_sums = np.bincount(cells.row, cells.data, len(known))
    column_sums = np.bincount(cells.col, cells.data, counts.shape[1]) ** 0.75
    column_sums *= total / column_sums.sum()
    information = np.log(cells.data * total / (row_sums[cells.row] * column_sums[cells.col]))
    keep = information > 0
    ppmi = sparse.csr_matrix((information[keep], (cells.row[keep], cells.col[keep])), shape=counts.shape)
    left, strength, _ = randomized_svd(ppmi, dims, random_state=seed)
    vectors = left * np.sqrt(strength)  # [words, dims]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    return known, vectors.astype(np.float32)
