"""Pairs of vectors: thresholds by hand, classifiers where a threshold cannot separate."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.common import unit
from trainer.evaluation import classifier
from trainer.evaluation.classifier import Pairs, as_published, best_threshold, by_classifier, by_threshold


@pytest.mark.parametrize(
    ("cosines", "label", "threshold"),
    [
        ([0.9, 0.8, 0.3, 0.1], [1, 1, 0, 0], 0.55),
        ([0.1, 0.9, 0.3, 0.8], [0, 1, 0, 1], 0.55),  # any order
        ([0.9, 0.8, 0.3], [1, 0, 1], 0.85),  # two of three, the first of the best ways
        ([0.9, 0.5, 0.5, 0.1], [1, 1, 0, 0], 0.7),  # equal ones stay together
        ([0.9, 0.1], [0, 0], 1.9),  # nothing
        ([0.9, 0.1], [1, 1], -0.9),  # everything
    ],
)
def test_the_best_threshold(cosines, label, threshold):
    assert best_threshold(np.array(cosines), np.array(label)) == pytest.approx(threshold)


def on_the_plane(degrees, label):
    """Pairs of unit vectors: the first at 0 degrees, the second at `degrees`."""
    angles = np.radians(degrees)
    b = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return Pairs(np.tile(np.array([1, 0], np.float32), (len(b), 1)), b, np.array(label))


def test_the_threshold_is_that_of_train():
    parts = {
        "train": on_the_plane(
            [10, 20, 80, 90], [1, 1, 0, 0]
        ),  # the middle of cos 20 and cos 80 is .557: 56 degrees
        "dev": on_the_plane([0, 90], [1, 0]),
        "test": on_the_plane([30, 50, 70, 60], [1, 0, 0, 1]),
    }
    assert by_threshold(parts) == 0.5


def test_features_are_both_difference_and_product():
    pairs = Pairs(np.array([[0.6, 0.8]], np.float32), np.array([[1.0, 0.0]], np.float32), np.array([1]))
    assert pairs.features == pytest.approx(np.array([[0.6, 0.8, 1, 0, 0.4, 0.8, 0.6, 0]]))
    assert pairs.cosine == pytest.approx([0.6])


def test_what_is_reported_is_the_test_accuracy_of_the_best_dev_accuracy():
    assert classifier._best([(0.5, 0.9), (0.7, 0.6), (0.7, 0.8)]) == 0.6


def made(number, seed):
    """A pair means the same when the first coordinate has the same sign; the other seven hide that from the cosine."""
    random = np.random.default_rng(seed)
    a, b = (unit(random.normal(size=(number, 8))) for _ in range(2))
    return Pairs(a, b, (a[:, 0] * b[:, 0] > 0).astype(np.intp))


@pytest.mark.slow
def test_classifiers_learn_what_a_threshold_cannot(monkeypatch):
    monkeypatch.setattr(classifier, "HIDDEN", 32)
    parts = {"train": made(600, 0), "dev": made(200, 1), "test": made(300, 2)}
    learnt = by_classifier(parts, (0, 1))
    assert len(learnt) == 2
    assert min(learnt) > 0.85 > 0.75 > by_threshold(parts)
    assert as_published(parts, (0,)) == as_published(parts, (0,))
