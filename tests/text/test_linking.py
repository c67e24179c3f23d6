"""Coordinated phrases and short forms of a text."""

from __future__ import annotations

import pytest

from indexer.text.linking import coordinated, is_short_for, short_forms


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
