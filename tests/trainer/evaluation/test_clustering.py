"""Accuracy and NMI by hand; mixtures on clusters that K-means cannot find, and at the edges."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from indexer.errors import InputError
from trainer.evaluation.clustering import (
    RIDGE,
    accuracy,
    agreement,
    fit_mixture,
    ground_truth,
    kmeans,
    mixture,
    numbered,
    scored,
)
from trainer.evaluation.table import Figure


def test_labels_become_numbers_in_alphabetical_order():
    assert numbered(["b", "a", "b", "c"]).tolist() == [1, 0, 1, 2]


def test_ground_truth_needs_two_labels():
    assert ground_truth(Path("x.jsonl"), ["b", "a", "b"]).tolist() == [1, 0, 1]
    with pytest.raises(
        InputError, match=r"x.jsonl: every label is 'a'; clusters are compared with two or more"
    ):
        ground_truth(Path("x.jsonl"), ["a", "a"])


@pytest.mark.parametrize(
    ("labels", "found", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),  # names of clusters do not matter
        ([0, 0, 1, 1], [0, 0, 0, 0], 0.5),
        ([0, 0, 1, 1], [0, 1, 2, 3], 0.5),  # two of the four clusters represent no label
        ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1], 0.8),
        # Cluster 0 is best for label 0 (3) and for label 1 (2); the best whole is 0►1 and 1►0: 2 + 2.
        ([0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0, 0], 4 / 7),
    ],
)
def test_accuracy_by_the_best_assignment(labels, found, expected):
    assert accuracy(np.array(labels), np.array(found)) == pytest.approx(expected)


def test_agreement_is_divided_by_the_mean_entropy():
    """Information ln 2; entropies ln 2 and ln 4: ln 2 / (1.5 ln 2) = 2/3."""
    labels, found = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    assert agreement(labels, found) == pytest.approx(math.log(2) / (1.5 * math.log(2)))
    assert agreement(labels, np.array([1, 1, 0, 0])) == pytest.approx(1)
    assert agreement(labels, np.array([0, 1, 0, 1])) == pytest.approx(0)


def test_scores_over_seeds():
    labels = np.array([0, 0, 1, 1])
    found = scored(labels, [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])])
    assert found["acc"] == Figure(0.75, 0.25)
    assert found["nmi"].mean == pytest.approx(0.5)


def test_kmeans_finds_what_lies_apart_even_twice_the_same():
    vectors = np.repeat(np.eye(2, dtype=np.float32), 2, axis=0)
    assert accuracy(np.array([0, 0, 1, 1]), kmeans(vectors, 2, 0)) == 1
    assert len(kmeans(vectors, 3, 0)) == 4  # fewer distinct vectors than clusters: no warning


# -- mixtures -----------------------------------------------------------------------------------------------


@pytest.fixture
def pancakes():
    """Two flat clusters one above the other: 400 points, wide in x, thin in y. K-means would halve them across x."""
    random = np.random.default_rng(0)
    points = random.normal(size=(400, 3)) * [3.0, 0.1, 0.1]
    labels = np.repeat([0, 1], 200)
    points[labels == 1, 1] += 1.0
    return points.astype(np.float32), labels


def test_one_gaussian_is_mean_and_covariance():
    """Four points at ±2 and ±1: variances 2 and 0.5, and the likelihood of a Gaussian with these."""
    points = np.array([[2, 0], [-2, 0], [0, 1], [0, -1]], np.float64)
    fit = fit_mixture(points, 1, np.random.default_rng(0))
    variances = [2 + RIDGE, 0.5 + RIDGE]
    expected = -(math.log(variances[0]) + math.log(variances[1])) / 2 - math.log(2 * math.pi) - 1
    assert fit.score(points) == pytest.approx(expected, abs=1e-4)
    assert fit.weights_ == pytest.approx([1])
    assert fit.covariances_ == pytest.approx(np.diag(variances))


@pytest.mark.slow
def test_flat_clusters_are_found_across_their_length(pancakes):
    from sklearn.cluster import KMeans

    points, labels = pancakes
    found = mixture(points, 2, 0)
    assert max(np.mean(found == labels), np.mean(found != labels)) > 0.99
    halves = KMeans(2, n_init=1, random_state=0).fit_predict(points)
    assert max(np.mean(halves == labels), np.mean(halves != labels)) < 0.6


def test_weights_count_where_a_point_lies_between():
    """Nine points in one cluster and one in the other: the middle belongs to the larger one."""
    points = np.array([[-1.0]] * 9 + [[1.0]] * 1 + [[-1.2], [-0.8]])
    fit = fit_mixture(points, 2, np.random.default_rng(0))
    large = fit.predict(np.array([[-1.0]]))[0]
    assert fit.weights_[large] == pytest.approx(11 / 12, abs=1e-3)
    assert fit.predict(np.array([[0.0]]))[0] == large
    assert fit.predict_proba(np.array([[0.0]])).sum() == pytest.approx(1)


def test_more_starts_are_never_worse(pancakes):
    points, _ = pancakes
    one, many = (
        fit_mixture(points.astype(np.float64), 5, np.random.default_rng(3), starts=n).lower_bound_
        for n in (1, 6)
    )
    assert many >= one


@pytest.mark.slow
def test_the_same_seed_gives_the_same_fit_and_a_sample_is_enough(pancakes):
    points, labels = pancakes
    found, again = (mixture(points, 2, 7, sample=100, dims=2) for _ in range(2))
    assert np.array_equal(found, again)
    assert max(np.mean(found == labels), np.mean(found != labels)) > 0.95


def test_fewer_distinct_vectors_than_clusters():
    points = np.repeat(np.eye(2, dtype=np.float32), 3, axis=0)
    found = mixture(points, 4, 0)
    assert len(set(found[:3])) == len(set(found[3:])) == 1
    assert found[0] != found[3]


@pytest.mark.parametrize("number", [0, 3])
def test_a_number_that_cannot_be(number):
    with pytest.raises(ValueError, match=f"{number} clusters of 2 vectors"):
        mixture(np.eye(2, dtype=np.float32), number, 0)
