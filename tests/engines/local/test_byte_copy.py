"""Search over the copy as bytes finds what search over the rows finds."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.engines.local import byte_copy
from indexer.engines.local.byte_copy import ByteCopy, ByteRows
from indexer.engines.local.vectors import nearest, to_half


def rows_of(seed: int, count: int, dims: int = 48) -> np.ndarray:
    """Rows around a few centres, as texts have: many are nearly as near as the nearest."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((5, dims))
    made = centres[random.integers(5, size=count)] + 0.3 * random.standard_normal((count, dims))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("copied", [1, 700, 2_000])
def test_the_nearest_are_the_same_and_so_are_their_scores(copied):
    """Also where a part of the rows is newer than the copy."""
    half = to_half(rows_of(1, 2_000))
    copy = ByteRows.of(half[:copied])
    for query in rows_of(2, 25):
        slots, scores = nearest(half, query, 10, copy=copy)
        expected = nearest(half, query, 10)
        np.testing.assert_array_equal(slots, expected[0])
        np.testing.assert_array_equal(scores, expected[1])


def test_the_error_of_a_score_is_no_larger_than_said():
    half = to_half(rows_of(3, 3_000))
    half[17] = 0
    half[18] = 0.9  # of length 6: nothing says that a row has length 1
    copy = ByteRows.of(half)
    for query in [*rows_of(4, 20), np.eye(48, dtype=np.float32)[0]]:
        scores, error = copy.scores(query)
        assert np.abs(scores - half.astype(np.float64) @ query).max() <= error < 0.3
        assert scores[17] == 0


def test_a_copy_is_made_at_the_second_scan_and_again_when_the_file_has_grown(monkeypatch):
    monkeypatch.setattr(byte_copy, "FEWEST", 100)
    half = to_half(rows_of(5, 1_200))
    copies = ByteCopy()

    def copied(count):
        copies.of(half[:count])
        copies.wait()
        found = copies.of(half[:count])
        copies.wait()
        return len(found.codes) if found else 0

    assert copies.of(half[:1_000]) is None
    copies.wait()
    assert copies.of(half[:1_000]) is None  # it is being made
    copies.wait()
    assert copied(1_000) == 1_000
    assert copied(1_100) == 1_000  # one row in eleven is newer
    assert copied(1_200) == 1_200


def test_neither_few_rows_nor_very_many_are_copied(monkeypatch):
    monkeypatch.setattr(byte_copy, "MOST_BYTES", 48 * 5_000)
    half = to_half(rows_of(6, 5_001))
    for count in (4_095, 5_001):
        copies = ByteCopy()
        for _ in range(3):
            assert copies.of(half[:count]) is None
            copies.wait()


def test_a_snapshot_with_fewer_rows_than_the_copy_is_searched_without_it():
    copies = ByteCopy()
    half = to_half(rows_of(7, 5_000))
    copies.of(half)
    copies.of(half)
    copies.wait()
    assert copies.of(half) is not None
    assert copies.of(half[:4_900]) is None
