"""The exact search over rows, against numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from indexer.engines.local import vectors
from indexer.engines.local.vectors import SCAN_ERROR, from_half, nearest, storable, to_half


def rows_of(seed: int, count: int, dims: int = 16) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((count, dims)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def cosines(half: np.ndarray, query: np.ndarray) -> np.ndarray:
    exact = half.astype(np.float64)
    return exact @ query / np.linalg.norm(exact, axis=1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), count=st.integers(1, 400), want=st.integers(1, 50), data=st.data())
def test_nearest_is_what_numpy_finds(seed, count, want, data):
    """Among living rows (few, many or none dead), with many ties, and among allowed rows only."""
    half = to_half(rows_of(seed, count))
    half[count // 2 :] = half[: count - count // 2]  # every row twice
    query = rows_of(seed + 1, 1)[0]
    some = np.flatnonzero(data.draw(arrays(np.bool_, count)))
    expected = np.sort(cosines(half[some], query))[::-1]
    for options in ({"allowed": some}, {"alive": lambda slots: np.intersect1d(slots, some)}):
        slots, scores = nearest(half, query, want, **options)
        assert set(slots.tolist()) <= set(some.tolist())
        assert len(slots) >= min(want, len(some))
        np.testing.assert_allclose(scores, expected[: len(scores)], atol=1e-6)
        # whatever ties with the last wanted one is there too
        if len(some) > want:
            assert len(slots) == (cosines(half[some], query) >= expected[want - 1] - 1e-7).sum()


@pytest.mark.parametrize("count", range(2, 40, 2))
def test_equal_rows_tie(count):
    """Regression: they differed in the last bit, and one of the two nearest was left out."""
    half = to_half(rows_of(234, count))
    half[count // 2 :] = half[: count // 2]
    slots, scores = nearest(half, rows_of(235, 1)[0], 1)
    assert len(slots) == 2
    assert scores[0] == scores[1]


def test_more_rows_than_one_block(monkeypatch):
    monkeypatch.setattr(vectors, "BLOCK", 100)
    half = to_half(rows_of(3, 1234))
    query = rows_of(4, 1)[0]
    slots, _ = nearest(half, query, 10)
    np.testing.assert_array_equal(slots, np.argsort(-cosines(half, query))[:10])


def test_all_near_ones_dead_looks_further():
    half = to_half(rows_of(5, 2000))
    query = rows_of(6, 1)[0]
    order = np.argsort(-cosines(half, query))
    living = set(order[1500:].tolist())
    slots, _ = nearest(
        half, query, 3, alive=lambda found: [slot for slot in found.tolist() if slot in living]
    )
    np.testing.assert_array_equal(slots, order[1500:1503])


@pytest.mark.parametrize("dims", [8, 384, 1024])
def test_a_scanned_score_is_as_exact_as_said(dims):
    half = to_half(rows_of(7, 5000, dims))
    query = rows_of(8, 1, dims)[0]
    scanned = vectors._scored(half, query)
    assert np.abs(scanned - cosines(half, query)).max() < SCAN_ERROR


def test_rows_of_unit_length_come_back_so_and_zero_stays_zero():
    rows = rows_of(9, 3)
    rows[1] = 0
    back = from_half(to_half(rows))
    assert back.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), [1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(back, rows, atol=5e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e5])
def test_numbers_that_float16_cannot_hold(bad):
    rows = rows_of(1, 4)
    assert storable(rows)
    rows[2, 3] = bad
    assert not storable(rows)
