"""Measures of leading phrases, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trainer.evaluation.coherence import (
    embedding_coherence,
    informativeness,
    intrusion,
    leading_words,
    npmi,
    npmi_coherence,
    occurrences,
    word_diversity,
    words_of,
)

TEXTS = [
    words_of(text)
    for text in (
        "Heat pumps move heat.",
        "A heat-pump needs a power plant.",
        "Power plants; nothing else.",
        "Pump the heat!",
    )
]
A = ["heat pump", "heat", "warm air", "radiators", "boilers"]
B = ["tax law", "income tax", "tax court", "tax rate", "tax bill"]


def unit(rows):
    rows = np.asarray(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Heat-Pumps (new).", ("the", "heat", "pump", "new")),
        ("Newton's methods, C++", ("newton's", "method", "c++")),
        ("—", ()),
    ],
)
def test_words_are_in_their_normal_form(text, words):
    assert words_of(text) == words


def test_a_phrase_stands_where_its_words_stand_side_by_side():
    found = occurrences([("heat", "pump"), ("power", "plant"), ("heat",), ("sea",)], TEXTS)
    assert found == {
        ("heat", "pump"): {0, 1},
        ("power", "plant"): {1, 2},
        ("heat",): {0, 1, 3},
        ("sea",): set(),
    }


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        ({0, 1}, {0, 1}, 1.0),  # ln((1/2) / (1/4)) / -ln(1/2)
        ({0, 1}, {1, 2}, 0.0),  # (1/4) / (1/2 · 1/2) = 1
        ({0, 1}, {0}, 0.5),  # ln((1/4) / (1/8)) / -ln(1/4)
        ({0, 1, 2}, {0, 3}, math.log(2 / 3) / math.log(4)),  # (1/4) / (3/4 · 1/2)
        ({0, 1}, {2, 3}, -1.0),
        ({0}, set(), -1.0),
        ({0, 1, 2, 3}, {0, 1, 2, 3}, 0.0),
    ],
)
def test_npmi_by_hand(one, other, value):
    assert npmi(one, other, 4) == pytest.approx(value)
    assert npmi(other, one, 4) == pytest.approx(value)


def test_npmi_coherence_is_the_mean_over_pairs():
    # heat pump {0, 1}, power plant {1, 2}, sea in none: 0, -1, -1
    first, second = npmi_coherence([["heat pumps", "power plants", "sea"], ["heat"]], TEXTS)
    assert first == pytest.approx(-2 / 3)
    assert math.isnan(second)


def test_two_spellings_of_a_phrase_are_no_pair():
    [value] = npmi_coherence([["heat pump", "Heat-pumps"]], TEXTS)
    assert math.isnan(value)


def test_embedding_coherence_is_the_mean_cosine():
    right_angles, alone = embedding_coherence([unit([[1, 0], [1, 0], [0, 1]]), unit([[1, 0]])])
    assert right_angles == pytest.approx(1 / 3)  # 1, 0, 0
    assert math.isnan(alone)


def test_an_intruder_is_found_where_topics_lie_apart():
    apart = [unit([[1, 0]] * 5), unit([[0, 1]] * 5)]
    assert intrusion([A, B], apart) == [1.0, 1.0]


def test_a_tie_is_not_found():
    same = [unit([[1, 0]] * 5), unit([[1, 0]] * 5)]
    assert intrusion([A, B], same) == [0.0, 0.0]


def test_an_outlier_of_its_own_hides_the_intruder():
    """The topic's last phrase points away from the rest, the intruder does not."""
    vectors = [unit([[1, 0], [1, 0], [1, 0], [1, 0], [-1, 0]]), unit([[0, 1]] * 5)]
    assert intrusion([A, B], vectors) == [0.0, 1.0]


def test_a_phrase_of_both_topics_cannot_intrude():
    shared = ["Heat pumps", *B[1:]]
    vectors = [unit([[1, 0]] * 5), unit([[1, 0], *[[0, 1]] * 4])]
    assert intrusion([A, shared], vectors, trials=50)[0] == 1.0


def test_intrusion_needs_five_phrases_and_another_topic():
    assert math.isnan(intrusion([A], [unit([[1, 0]] * 5)])[0])
    few, many = intrusion([A[:4], B], [unit([[1, 0]] * 4), unit([[0, 1]] * 5)])
    assert math.isnan(few)
    assert many == 1.0


def test_word_diversity():
    assert word_diversity([["heat pump", "heat pumps"], ["tax law"]]) == pytest.approx(4 / 6)
    assert math.isnan(word_diversity([[]]))


def test_informativeness_by_hand():
    texts = [words_of("heat pump"), words_of("heat")]
    pump = math.log(3 / 2) + 1  # of heat: ln(3 / 3) + 1 = 1
    length = math.sqrt(1 + pump**2)
    both, heat, none, nothing = informativeness([["heat pumps"], ["heat"], ["sea"], []], texts)
    assert both == pytest.approx((1 + pump) / 2 / length)
    assert heat == pytest.approx((1 / length + 1) / 2)
    assert none == 0.0
    assert math.isnan(nothing)


def test_leading_words_are_those_of_the_first_phrases():
    topics = [["heat pumps", "power plant", "Plants", "heat"], ["a b c d e f", "g h i j k l"], []]
    assert leading_words(topics) == [["heat", "pump", "power", "plant"], list("abcdefghij"), []]
