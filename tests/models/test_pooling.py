from __future__ import annotations

import numpy as np
import pytest

from models.pooling import normalised, pool, sums, touched
from models.tokens import Tokens

# "heat pumps": heat [0, 4), pump [5, 9), s [9, 10)
PIECES = Tokens(ids=np.array([7, 8, 9]), starts=np.array([0, 5, 9]), ends=np.array([4, 9, 10]))


def floats(*rows: object) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((0, 4), (0, 1)),
        ((5, 10), (1, 3)),
        ((0, 10), (0, 3)),
        ((3, 6), (0, 2)),  # half of two words
        ((9, 10), (2, 3)),
        ((6, 7), (1, 2)),  # inside a word
    ],
)
def test_touched_gives_the_pieces_that_share_a_character(span, expected):
    assert touched(PIECES, [span]) == [expected]


def test_touched_gives_an_empty_range_between_pieces():
    [(first, last)] = touched(PIECES, [(4, 5)])
    assert first >= last


TOKENS = floats([3, 0], [0, 1], [0, 3])
RECEIVED = floats(1, 2, 4)


def pooled(*spans: tuple[int, int]):
    pieces = touched(PIECES, spans)
    return pool(pieces, len(PIECES), floats(0, 5), sums(pieces, TOKENS), RECEIVED)


def test_pool_by_hand():
    encoding = pooled((0, 4), (5, 10), (0, 10))
    # Sums: (3, 0); (0, 4); (3, 4), whose length is 5.
    assert encoding.mentions == pytest.approx(floats([1, 0], [0, 1], [0.6, 0.8]))
    assert encoding.attention == pytest.approx([1, 6, 7])
    assert encoding.document == pytest.approx([0, 1])
    assert encoding.tokens == 3
    assert {encoding.mentions.dtype, encoding.attention.dtype, encoding.document.dtype} == {
        np.dtype(np.float32)
    }


def test_pool_gives_a_span_without_tokens_the_document():
    encoding = pooled((4, 5))
    assert encoding.mentions == pytest.approx(floats([0, 1]))
    assert encoding.attention.tolist() == [0]


def test_pool_without_spans_has_empty_arrays():
    encoding = pooled()
    assert encoding.mentions.shape == (0, 2)
    assert encoding.attention.shape == (0,)


def test_normalised_keeps_zero_vectors():
    assert normalised(floats([3, 4], [0, 0])) == pytest.approx(floats([0.6, 0.8], [0, 0]))
