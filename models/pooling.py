"""Token vectors to span vectors: the numpy part that all backends share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.encoding import Encoding
from models.backends import Floats
from models.tokens import Pieces


def span_weights(pieces: Pieces, spans: Sequence[tuple[int, int]]) -> Floats:
    """Mark the word pieces that each span touches.

    Returns:
        float32 [spans, pieces], 1 where the piece and the span share a character.
    """
    bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)
    starts, ends = bounds[:, :1], bounds[:, 1:]  # [spans, 1]
    touched = (pieces.starts < ends) & (pieces.ends > starts)
    return touched.astype(np.float32)


def pool(
    pieces: Pieces, spans: Sequence[tuple[int, int]], document: Floats, tokens: Floats, received: Floats
) -> Encoding:
    """Make the encoding of one window.

    Args:
        pieces: Its word pieces, n of them.
        spans: Character ranges of the window.
        document: float32 [dims], the window's mean.
        tokens: float32 [n, dims], without special tokens and padding.
        received: float32 [n], attention received, likewise.

    Returns:
        A span that touches no word piece (the tokenizer drops some characters) gets the window's vector and attention 0:
        a zero vector would be nobody's neighbour and everybody's problem.
    """
    document = normalised(document)
    weights = span_weights(pieces, spans)  # [spans, n]
    counts = weights.sum(axis=1)  # [spans]
    mentions = normalised(weights @ tokens)  # the sum points where the mean points
    mentions[counts == 0] = document
    return Encoding(document, len(pieces), mentions, weights @ received)


def normalised(vectors: Floats) -> Floats:
    """Scale the last axis to unit length; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
