"""Levels: what may be requested, how many groups there are, and which topics are grouped."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.errors import SettingsError
from indexer.topics.levels import Levels, grouped
from indexer.topics.models.base import Sample, TopicFit
from indexer.topics.models.registry import TopicRequest


@pytest.mark.parametrize("wrong", ["0", "5", "1,20", "20,7", "7,7", "7,", "x", "7;20", "1,2,3,4,5", "-2"])
def test_what_are_no_levels_is_refused(wrong):
    with pytest.raises(SettingsError, match="requested levels"):
        Levels.read(wrong)


def test_levels_are_read_and_written():
    assert str(Levels.read(" 7, 20")) == "7,20"
    assert Levels.read("7,20").topics == 20
    assert (str(Levels.read(3)), str(Levels.read(None))) == ("3", "")


def test_levels_must_agree_with_the_number_of_topics():
    assert TopicRequest.read("pntm", "7,20").number == 20
    with pytest.raises(SettingsError, match="30 topics are requested, and levels that end with 20"):
        TopicRequest.read("30", "7,20")


def test_more_than_twelve_topics_are_grouped_unless_another_number_of_levels_is_requested():
    """1.5 times the square root: of 16 topics 6, of 48 (10.39) 10; geometric means between: of 6 and 16 (9.8) 10."""
    assert Levels().above(12) == ()
    assert Levels().above(16) == (6,)
    assert Levels().above(48) == (10,)
    assert Levels(depth=1).above(48) == ()
    assert Levels(depth=2).above(4) == (3,)
    assert Levels(depth=3).above(16) == (6, 10)
    assert Levels.read("3,7,20").above(20) == (3, 7)
    assert Levels.read("3,7,20").above(6) == (3,)  # there were fewer than requested


def axes(*numbers):
    vectors = np.zeros((len(numbers), 4), np.float32)
    for row, number in enumerate(numbers):
        vectors[row, number] = 1
    return vectors


def test_topics_that_point_the_same_way_are_grouped():
    """Four directions in three dimensions: two beside the first axis, two beside the second; of one topic are two."""
    near = np.array([[9, 1, 0, 0], [9, 0, 1, 0], [0, 9, 1, 0], [0, 9, 0, 1]], np.float32)
    directions = near / np.linalg.norm(near, axis=1, keepdims=True)
    fit = TopicFit(np.zeros(4, np.float32), np.eye(4, dtype=np.float32), directions, directions, -1.0)
    sample = Sample(directions, np.ones(4, np.float32), np.arange(4), directions)
    assert grouped(fit, sample, ["a", "b", "c", "d"], (2,)) == [frozenset("ab"), frozenset("cd")]
    assert grouped(fit, sample, ["a", "b", "c", "d"], (2, 3)) in (
        [frozenset("ab"), frozenset("cd")],  # the next level has one of the groups, and the other in parts
    )
    assert grouped(fit, sample, ["a", "b", "c", "c"], (2,)) == [frozenset("ab")]
    assert grouped(fit, sample, ["a", "b", "c", "d"], ()) == []


def test_a_direction_without_documents_is_grouped_by_itself():
    directions = np.eye(4, dtype=np.float32)[:3]
    directions[2] = np.array([0.8, 0.6, 0, 0])
    fit = TopicFit(np.zeros(4, np.float32), np.eye(4, dtype=np.float32), directions, directions, -1.0)
    documents = axes(0, 0, 1, 1)
    sample = Sample(documents, np.ones(4, np.float32), np.arange(4), documents)
    assert grouped(fit, sample, ["a", "b", "c"], (2,)) == [frozenset("ac")]
