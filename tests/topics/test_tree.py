"""The tree of documents: joined by hand, cut, and measured."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from indexer.common import unit
from indexer.topics.models.tree import Tree, settled, silhouette


def at_angles(*degrees):
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def groups(labels):
    """Which points are together, whatever the numbers are."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def test_the_nearest_are_joined_first():
    tree = Tree.of(at_angles(0, 4, 90, 100, 180), 5, seed=0)
    assert [groups(tree.cut(number)) for number in (5, 4, 3, 2, 1)] == [
        {frozenset([0]), frozenset([1]), frozenset([2]), frozenset([3]), frozenset([4])},
        {frozenset([0, 1]), frozenset([2]), frozenset([3]), frozenset([4])},
        {frozenset([0, 1]), frozenset([2, 3]), frozenset([4])},
        {frozenset([0, 1]), frozenset([2, 3, 4])},
        {frozenset([0, 1, 2, 3, 4])},
    ]


def test_sizes_count_by_the_square_root_of_the_factor_of_ward():
    """Three at 0, one at 60 and one at 125 degrees.

    Squared distances: 0 to 60 is 1.000, 60 to 125 is 2 - 2 cos 65 = 1.155. Ward weighs them by 3/4 and 1/2, .750 and
    .577, and joins the single ones; average linkage by 1, and joins 0 and 60. Here by the roots: .866 and .816.
    """
    tree = Tree.of(at_angles(0, 0, 0, 60, 125), 3, seed=0)
    assert groups(tree.cut(2)) == {frozenset([0, 1, 2]), frozenset([3, 4])}
    nearer = Tree.of(
        at_angles(0, 0, 0, 60, 130), 3, seed=0
    )  # 2 - 2 cos 70 = 1.316, by .707 .930: more than .866
    assert groups(nearer.cut(2)) == {frozenset([0, 1, 2, 3]), frozenset([4])}


def test_copies_are_one_leaf():
    tree = Tree.of(at_angles(0, 0, 90, 90), 4, seed=0)
    assert groups(tree.cut(2)) == {frozenset([0, 1]), frozenset([2, 3])}
    assert len(tree.joins) == 1
    assert groups(tree.cut(4)) == groups(tree.cut(2))  # there are no more


def test_points_move_to_the_nearest_mean():
    points = at_angles(0, 10, 20, 90, 100)
    means = settled(points, np.array([0, 0, 1, 1, 1]))  # the third begins on the wrong side
    assert np.allclose(means, [at_angles(10)[0], at_angles(95)[0]], atol=1e-6)


def test_the_silhouette_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    points = unit(np.eye(6)[np.arange(60) % 3] + 0.4 * rng.normal(size=(60, 6))).astype(np.float32)
    labels = np.arange(60) % 3
    labels[:5] = 1
    labels[7] = 3  # alone: 0 by definition
    assert silhouette(points, labels) == pytest.approx(
        silhouette_score(points, labels, metric="cosine"), abs=1e-6
    )
