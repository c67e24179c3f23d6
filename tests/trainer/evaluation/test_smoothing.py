"""Vectors of phrases drawn towards those that they are linked with, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trainer.evaluation.smoothing import Related, phrase_vectors, smoothed

X, Y, Z = np.eye(3, dtype=np.float32)


def related(linked=(), short=()):
    return Related(np.array(linked, np.intp).reshape(-1, 2), np.array(short, np.intp).reshape(-1, 2))


def degrees_from(a, b):
    return math.degrees(math.acos(min(1, float(a @ b))))


def test_a_phrase_alone_is_the_mean_of_its_mentions():
    found = phrase_vectors(np.stack([X, Y, Z]), np.array([0, 0, 1]), related())
    assert found == pytest.approx(np.stack([(X + Y) / math.sqrt(2), Z]))


def test_linked_phrases_draw_each_other():
    """One mention and one link each: w = 1/2, so a round halves the angle between a phrase's own vector and the other's.

    At right angles at first, they stand 45, 22.5, 33.75, 28.125 and, after the fifth round, 30.9375 degrees from
    their own.
    """
    found = phrase_vectors(np.stack([X, Y]), np.array([0, 1]), related([(1, 0)]))
    assert degrees_from(found[0], X) == pytest.approx(30.9375, abs=1e-3)
    assert degrees_from(found[1], Y) == pytest.approx(30.9375, abs=1e-3)


def test_a_rare_phrase_is_drawn_more_than_a_frequent_one():
    found = phrase_vectors(np.stack([X, X, X, X, Y]), np.array([0, 0, 0, 0, 1]), related([(0, 1)]))
    assert degrees_from(found[1], Y) > 1.5 * degrees_from(found[0], X)


def test_more_links_draw_more():
    vectors, phrase = np.stack([X, Y, Y]), np.array([0, 1, 2])
    one = phrase_vectors(vectors, phrase, related([(0, 1)]))
    two = phrase_vectors(vectors, phrase, related([(0, 1), (2, 0)]))
    assert degrees_from(two[0], X) > degrees_from(one[0], X) + 5


def test_links_reach_further_than_one_step():
    found = phrase_vectors(np.stack([X, X, Z]), np.array([0, 1, 2]), related([(0, 1), (1, 2)]))
    assert found[0] @ Z > 0.1


def test_repeated_links_and_links_to_itself_do_not_count():
    vectors, phrase = np.stack([X, Y]), np.array([0, 1])
    once = phrase_vectors(vectors, phrase, related([(0, 1)]))
    assert np.array_equal(phrase_vectors(vectors, phrase, related([(0, 1), (1, 0), (0, 1), (1, 1)])), once)


def test_a_short_form_takes_the_vector_of_its_long_forms():
    """Introduced twice for phrase 0 and once for phrase 1, whatever its own mentions look like."""
    found = phrase_vectors(
        np.stack([X, Y, Z, Z]), np.array([0, 1, 2, 2]), related(short=[(0, 2), (1, 2), (0, 2)])
    )
    assert found[2] == pytest.approx((2 * X + Y) / math.sqrt(5))
    assert found[:2] == pytest.approx(np.stack([X, Y]))


def test_a_mention_is_half_itself_and_half_its_phrase():
    found = smoothed(np.stack([X, Y]), np.array([0, 0]), related())
    middle = (X + Y) / math.sqrt(2)
    assert found[0] == pytest.approx((X + middle) / np.linalg.norm(X + middle))
    assert np.array_equal(smoothed(np.stack([X, Y]), np.array([0, 0]), related(), share=0), np.stack([X, Y]))


def test_a_mention_of_a_short_form_is_its_long_form():
    found = smoothed(np.stack([X, Z]), np.array([0, 1]), related(short=[(0, 1)]))
    assert found == pytest.approx(np.stack([X, X]))
