"""Phrases named side by side: what counts as such, and what it does to their vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from indexer.text.linking import (
    Related,
    coordinated,
    is_short_for,
    phrase_vectors,
    short_forms,
    smoothed,
)


def spans(text, *phrases):
    """Where each phrase stands in the text, the first time."""
    return [(text.index(phrase), text.index(phrase) + len(phrase)) for phrase in phrases]


def named_together(text, *phrases):
    return [(phrases[a], phrases[b]) for a, b in coordinated(text, spans(text, *phrases))]


def introduced(text, *phrases):
    return [(phrases[a], phrases[b]) for a, b in short_forms(text, spans(text, *phrases))]


@pytest.mark.parametrize("joint", [" and ", " or ", ", ", " , ", "/", " / "])
def test_mentions_side_by_side_are_linked(joint):
    assert named_together(f"We saw Rome{joint}Paris.", "Rome", "Paris") == [("Rome", "Paris")]


@pytest.mark.parametrize(
    "between", [" ", " in ", " and then ", ", where ", " and, ", ". ", " of ", " band ", ",000 "]
)
def test_anything_else_between_them_does_not_link(between):
    assert named_together(f"We saw Rome{between}Paris.", "Rome", "Paris") == []


def test_a_list_links_neighbours_in_whatever_order_the_spans_come():
    text = "Paris, Rome and Oslo are cities."
    assert named_together(text, "Oslo", "Rome", "Paris") == [("Rome", "Oslo"), ("Paris", "Rome")]


def test_overlapping_mentions_are_linked_each():
    found = named_together(
        "heart failure and renal failure", "heart failure", "failure", "renal failure", "renal"
    )
    assert set(found) == {(a, b) for a in ("heart failure", "failure") for b in ("renal failure", "renal")}


@pytest.mark.parametrize("text", ["heart failure (HF)", "heart failure ( HF ) is common"])
def test_a_short_form_stands_in_brackets(text):
    assert introduced(text, "HF", "heart failure") == [("heart failure", "HF")]


@pytest.mark.parametrize(
    "text", ["heart failure (XF)", "heart failure (HF, often)", "heart failure HF", "heart (HF)"]
)
def test_other_things_in_brackets_are_not(text):
    short = "XF" if "XF" in text else "HF"
    long = "heart failure" if "failure" in text else "heart"
    assert introduced(text, long, short) == []


@pytest.mark.parametrize(
    ("short", "long", "fits"),
    [
        ("CHF", "congestive heart failure", True),
        ("chf", "Congestive Heart Failure", True),
        ("FHC", "congestive heart failure", False),  # another first letter
        ("CFH", "congestive heart failure", False),  # another order
        ("C", "carbon", False),  # one letter
        ("abcdefghi", "a b c d e f g h i j", False),  # nine
        ("5HT", "5 hydroxytryptamine", False),  # not letters only
        ("Rome", "Rome", False),  # nothing shorter about it
        ("coc", "code", False),  # a letter counts as often as it is there
    ],
)
def test_short_forms(short, long, fits):
    assert is_short_for(short, long) is fits


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
