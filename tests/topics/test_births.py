"""Subjects that come up: groups of new documents that old ones are not among."""

from __future__ import annotations

import numpy as np

from indexer.topics.births import SMALLEST, rising


def around(direction: int, number: int, seed: int) -> np.ndarray:
    """Documents on one subject: unit vectors near one axis of ten."""
    draw = np.random.default_rng(seed)
    vectors = np.eye(10)[direction] + draw.normal(0, 0.15, (number, 10))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


OLD = np.concatenate([around(axis, 60, axis) for axis in range(5)])


def test_new_documents_on_old_subjects_are_no_new_subject():
    for seed in range(20):
        assert (
            rising(OLD, np.concatenate([around(axis, 20, 100 + 5 * seed + axis) for axis in range(5)])) == []
        )


def test_two_new_subjects_among_others_are_found_the_larger_one_first():
    new = np.concatenate([around(1, 30, 7), around(8, 15, 8), around(9, 25, 9)])
    larger, smaller = rising(OLD, new)
    assert set(larger.tolist()) == set(range(45, 70))
    assert set(smaller.tolist()) == set(range(30, 45))


def test_a_dozen_documents_are_a_subject_and_fewer_are_not():
    assert [
        len(rows) for rows in rising(OLD, np.concatenate([around(1, 30, 7), around(8, SMALLEST, 8)]))
    ] == [12]
    assert rising(OLD, np.concatenate([around(1, 30, 7), around(8, SMALLEST - 1, 8)])) == []
    assert rising(OLD, around(8, SMALLEST - 1, 8)) == []


def test_without_old_documents_nothing_is_new():
    assert rising(np.zeros((0, 10), np.float32), around(8, 40, 8)) == []
