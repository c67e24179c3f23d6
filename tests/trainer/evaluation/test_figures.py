"""Mean and spread, against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from trainer.evaluation.figures import Figure, bootstrapped, repeated, resampled


def test_repeated_has_the_standard_deviation_over_the_repetitions():
    assert repeated([1.0, 3.0]) == Figure(2.0, 1.0)
    assert repeated([]) == Figure(None)


def test_bootstrap_of_a_share_is_the_known_spread():
    """Half of n values are 1: the spread of the mean is .5 / sqrt(n)."""
    figure = bootstrapped([0.0, 1.0] * 50)
    assert figure.mean == 0.5
    assert figure.spread == pytest.approx(0.05, rel=0.1)


def test_what_could_not_be_measured_is_left_out():
    assert bootstrapped([math.nan, 0.4, math.nan]) == Figure(0.4, 0.0)
    assert bootstrapped([math.nan]) == Figure(None)


def test_the_same_values_have_the_same_spread_again():
    assert bootstrapped([0.1, 0.7, 0.4]) == bootstrapped([0.1, 0.7, 0.4])


def test_resampled_measures_all_rows_once_for_the_mean():
    figure = resampled(4, lambda rows: float(len(set(rows.tolist()))), resamples=50)
    assert figure.mean == 4.0
    assert figure.spread > 0  # drawn with replacement, some rows are missing


@pytest.mark.parametrize(
    ("figure", "text", "plain"),
    [
        (Figure(0.12344, 0.01), "0.123 ± 0.010", {"mean": 0.1234, "spread": 0.01}),
        (Figure(0.5), "0.500", {"mean": 0.5, "spread": 0.0}),
        (Figure(None), "-", {"mean": None, "spread": 0.0}),
    ],
)
def test_how_a_figure_is_told(figure, text, plain):
    assert str(figure) == text
    assert figure.as_json() == plain
