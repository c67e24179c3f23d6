"""Phrases named side by side: what counts as such, and what it does to their vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from indexer.analysis.linking import is_short_for, links, phrase_vectors, smoothed


def spans(text, *phrases):
    """Where each phrase stands in the text, the first time."""
    return [(text.index(phrase), text.index(phrase) + len(phrase)) for phrase in phrases]


def named_together(text, *phrases):
    return [(phrases[a], phrases[b]) for a, b in links(text, spans(text, *phrases))]


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
def test_a_short_form_in_brackets_is_linked(text):
    assert named_together(text, "heart failure", "HF") == [("heart failure", "HF")]


@pytest.mark.parametrize(
    "text", ["heart failure (XF)", "heart failure (HF, often)", "heart failure HF", "heart (HF)"]
)
def test_other_things_in_brackets_are_not(text):
    short = "XF" if "XF" in text else "HF"
    long = "heart failure" if "failure" in text else "heart"
    assert named_together(text, long, short) == []


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


def test_a_phrase_alone_is_the_mean_of_its_mentions():
    found = phrase_vectors(np.stack([X, Y, Z]), np.array([0, 0, 1]), np.zeros((0, 2), np.intp))
    assert found == pytest.approx(np.stack([(X + Y) / math.sqrt(2), Z]))


def test_a_link_draws_a_rare_phrase_more_than_a_frequent_one():
    """Phrase 0 has four mentions, so w = 1 / (1 + 2); phrase 1 has one, so w = 1 / (1 + 1)."""
    found = phrase_vectors(np.stack([X, X, X, X, Y]), np.array([0, 0, 0, 0, 1]), np.array([[1, 0]]))
    assert found[0] == pytest.approx((2 * X + Y) / math.sqrt(5))
    assert found[1] == pytest.approx((X + Y) / math.sqrt(2))


def test_two_links_weigh_more_and_their_phrases_are_averaged():
    """d = 2 and c = 1: w = 2/3 of the mean of Y and Z."""
    found = phrase_vectors(np.stack([X, Y, Z]), np.array([0, 1, 2]), np.array([[0, 1], [2, 0]]))
    assert found[0] == pytest.approx((X + Y + Z) / math.sqrt(3))


def test_repeated_links_and_links_to_itself_do_not_count():
    vectors, phrase = np.stack([X, Y]), np.array([0, 1])
    once = phrase_vectors(vectors, phrase, np.array([[0, 1]]))
    assert np.array_equal(phrase_vectors(vectors, phrase, np.array([[0, 1], [1, 0], [0, 1], [1, 1]])), once)


def test_a_mention_is_half_itself_and_half_its_phrase():
    found = smoothed(np.stack([X, Y]), np.array([0, 0]), np.zeros((0, 2), np.intp))
    middle = (X + Y) / math.sqrt(2)
    assert found[0] == pytest.approx((X + middle) / np.linalg.norm(X + middle))
    assert np.array_equal(
        smoothed(np.stack([X, Y]), np.array([0, 0]), np.zeros((0, 2), np.intp), share=0), np.stack([X, Y])
    )
