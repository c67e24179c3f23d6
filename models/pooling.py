"""Token vectors to span vectors: the numpy part that all backends share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.protocols import Encoding
from models.backends import Floats
from models.tokens import Tokens

Span = tuple[int, int]


def touched(pieces: Tokens, spans: Sequence[Span]) -> list[Span]:
    """The word pieces that share a character with each span, as a range (first, one past the last)."""
    if not spans:
        return []
    bounds = np.array(spans, dtype=np.int64)  # [spans, 2]
    first = np.searchsorted(pieces.ends, bounds[:, 0], side="right")
    last = np.searchsorted(pieces.starts, bounds[:, 1], side="left")
    return list(zip(first.tolist(), last.tolist(), strict=True))


def sums(spans: Sequence[Span], tokens: Floats) -> Floats:
    """The word pieces of each mention, added up: a sum points where the mean points. 0 without any.

    Sums, not matrix products: numpy hands even small products to a pool of threads that then keep spinning,
    which halved the speed of a whole run.

    Args:
        spans: Word pieces of each mention (first, one past the last).
        tokens: float32 [n, dims], without special tokens and padding.

    Returns:
        float32 [len(spans), dims].
    """
    found = np.zeros((len(spans), tokens.shape[1]), dtype=np.float32)
    for row, (first, last) in enumerate(spans):
        if first < last:
            found[row] = np.add.reduce(tokens[first:last], axis=0)
    return found


def pool(
    spans: Sequence[Span], pieces: int, document: Floats, mentions: Floats, received: Floats
) -> Encoding:
    """Make the encoding of one window.

    Args:
        spans: Word pieces of each mention (first, one past the last).
        pieces: How many word pieces the window has.
        document: float32 [dims], the window's mean.
        mentions: float32 [len(spans), dims], of any length.
        received: float32 [pieces], attention received, without special tokens and padding.

    Returns:
        A span that touches no word piece (the tokenizer drops some characters) gets the window's vector and
        attention 0: a zero vector has no direction.
    """
    document = normalised(document)
    mentions = normalised(mentions)
    attention = np.zeros(len(spans), dtype=np.float32)
    for row, (first, last) in enumerate(spans):
        if first < last:
            attention[row] = np.add.reduce(received[first:last])
        else:
            mentions[row] = document
    return Encoding(document, pieces, mentions, attention)


def normalised(vectors: Floats) -> Floats:
    """Scale the last axis to unit length; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
