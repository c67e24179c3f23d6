"""Token vectors to span vectors: the numpy part that all backends share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.encoding import Encoding
from models.backends import Floats
from models.tokens import Pieces


def touched(pieces: Pieces, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The word pieces that share a character with each span, as a range (first, one past the last)."""
    if not spans:
        return []
    bounds = np.array(spans, dtype=np.int64)  # [spans, 2]
    first = np.searchsorted(pieces.ends, bounds[:, 0], side="right")
    last = np.searchsorted(pieces.starts, bounds[:, 1], side="left")
    return list(zip(first.tolist(), last.tolist(), strict=True))


def pool(
    pieces: Pieces, spans: Sequence[tuple[int, int]], document: Floats, tokens: Floats, received: Floats
) -> Encoding:
    """Make the encoding of one window.

    Sums, not matrix products: numpy hands even small products to a pool of threads that then keep spinning,
    which halved the speed of a whole run.

    Args:
        pieces: Its word pieces, n of them.
        spans: Character ranges of the window.
        document: float32 [dims], the window's mean.
        tokens: float32 [n, dims], without special tokens and padding.
        received: float32 [n], attention received, likewise.

    Returns:
        A span that touches no word piece (the tokenizer drops some characters) gets the window's vector and
        attention 0: a zero vector would be nobody's neighbour and everybody's problem.
    """
    document = normalised(document)
    mentions = np.empty((len(spans), len(document)), dtype=np.float32)
    attention = np.zeros(len(spans), dtype=np.float32)
    for row, (first, last) in enumerate(touched(pieces, spans)):
        if first < last:
            mentions[row] = np.add.reduce(tokens[first:last], axis=0)  # the sum points where the mean points
            attention[row] = np.add.reduce(received[first:last])
        else:
            mentions[row] = document
    return Encoding(document, len(pieces), normalised(mentions), attention)


def normalised(vectors: Floats) -> Floats:
    """Scale the last axis to unit length; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
