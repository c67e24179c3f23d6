"""Mixtures with one covariance: against a formula, on clusters that K-means cannot find, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trainer.evaluation.mixture import RIDGE, fit_mixture


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
    points = np.array([[2, 0], [-2, 0], [0, 1], [0, -1]], np.float32)
    fit = fit_mixture(points, 1, seed=0)
    variances = [2 + RIDGE, 0.5 + RIDGE]
    expected = -(math.log(variances[0]) + math.log(variances[1])) / 2 - math.log(2 * math.pi) - 1
    assert fit.likelihood == pytest.approx(expected, abs=1e-4)
    assert fit.shares == pytest.approx([1])
    assert np.linalg.norm((points - fit.mean) @ fit.projection, axis=1) == pytest.approx(
        [math.sqrt(2)] * 4, rel=1e-4
    )


@pytest.mark.slow
def test_flat_clusters_are_found_across_their_length(pancakes):
    from sklearn.cluster import KMeans

    points, labels = pancakes
    found = fit_mixture(points, 2, seed=0).place(points)
    assert max(np.mean(found == labels), np.mean(found != labels)) > 0.99
    halves = KMeans(2, n_init=1, random_state=0).fit_predict(points)
    assert max(np.mean(halves == labels), np.mean(halves != labels)) < 0.6


def test_shares_count_where_a_point_lies_between():
    """Nine points in one cluster and one in the other: the middle belongs to the larger one."""
    points = np.array([[-1.0]] * 9 + [[1.0]] * 1 + [[-1.2], [-0.8]], np.float32)
    fit = fit_mixture(points, 2, seed=0)
    middle = fit.probabilities(np.array([[0.0]], np.float32))[0]
    large = fit.place(np.array([[-1.0]], np.float32))[0]
    assert fit.shares.sum() == pytest.approx(1)
    assert fit.shares[large] == pytest.approx(11 / 12, abs=1e-3)
    assert middle.argmax() == large


def test_probabilities_are_those_of_the_formula(pancakes):
    points, _ = pancakes
    fit = fit_mixture(points, 3, seed=1)
    there = (points[:5] - fit.mean) @ fit.projection
    density = fit.shares * np.exp(-np.sum((there[:, None] - fit.centres) ** 2, axis=2) / 2)
    assert fit.probabilities(points[:5]) == pytest.approx(
        density / density.sum(axis=1, keepdims=True), abs=1e-4
    )


def test_more_starts_are_never_worse(pancakes):
    points, _ = pancakes
    one, many = (fit_mixture(points, 5, seed=3, restarts=n).likelihood for n in (1, 6))
    assert many >= one


@pytest.mark.slow
def test_the_same_seed_gives_the_same_fit_and_a_sample_is_enough(pancakes):
    points, labels = pancakes
    first, second = (fit_mixture(points, 2, seed=7, sample=100, dims=2) for _ in range(2))
    assert np.array_equal(first.centres, second.centres)
    assert first.projection.shape == (3, 2)
    found = first.place(points)
    assert max(np.mean(found == labels), np.mean(found != labels)) > 0.95


def test_fewer_distinct_vectors_than_clusters():
    points = np.repeat(np.eye(2, dtype=np.float32), 3, axis=0)
    fit = fit_mixture(points, 4, seed=0)
    assert len(fit) == 4
    found = fit.place(points)
    assert len(set(found[:3])) == len(set(found[3:])) == 1
    assert found[0] != found[3]


@pytest.mark.parametrize("number", [0, 3])
def test_a_number_that_cannot_be(number):
    with pytest.raises(ValueError, match=f"{number} clusters of 2 vectors"):
        fit_mixture(np.eye(2, dtype=np.float32), number, seed=0)
