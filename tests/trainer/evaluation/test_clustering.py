"""Accuracy and NMI, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trainer.evaluation.clustering import accuracy, agreement, kmeans, numbered, scored
from trainer.evaluation.figures import Figure


def test_labels_become_numbers_in_alphabetical_order():
    assert numbered(["b", "a", "b", "c"]).tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),  # names of clusters do not matter
        ([0, 0, 1, 1], [0, 0, 0, 0], 0.5),
        ([0, 0, 1, 1], [0, 1, 2, 3], 0.5),  # two of the four clusters stand for nothing
        ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1], 0.8),
        # Cluster 0 is best for label 0 (3) and for label 1 (2); the best whole is 0►1 and 1►0: 2 + 2.
        ([0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0, 0], 4 / 7),
    ],
)
def test_accuracy_by_the_best_assignment(gold, found, expected):
    assert accuracy(np.array(gold), np.array(found)) == pytest.approx(expected)


def test_agreement_is_divided_by_the_mean_entropy():
    """Information ln 2; entropies ln 2 and ln 4: ln 2 / (1.5 ln 2) = 2/3."""
    gold, found = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    assert agreement(gold, found) == pytest.approx(math.log(2) / (1.5 * math.log(2)))
    assert agreement(gold, np.array([1, 1, 0, 0])) == pytest.approx(1)
    assert agreement(gold, np.array([0, 1, 0, 1])) == pytest.approx(0)


def test_scores_over_seeds():
    gold = np.array([0, 0, 1, 1])
    found = scored(gold, [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])])
    assert found["acc"] == Figure(0.75, 0.25)
    assert found["nmi"].mean == pytest.approx(0.5)


def test_kmeans_finds_what_lies_apart_even_twice_the_same():
    vectors = np.repeat(np.eye(2, dtype=np.float32), 2, axis=0)
    assert accuracy(np.array([0, 0, 1, 1]), kmeans(vectors, 2, 0)) == 1
    assert len(kmeans(vectors, 3, 0)) == 4  # fewer distinct vectors than clusters: no warning
