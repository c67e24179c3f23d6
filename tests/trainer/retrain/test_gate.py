"""The gate, on measurements made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trainer.retrain.gate import Limits, judge, overlap, same_topic
from trainer.retrain.measure import Measured

ROWS = np.arange(40).reshape(4, 10)
OLD = Measured(
    silhouette=0.4,
    npmi=np.array([0.1, 0.3, np.nan], np.float32),
    context=np.array([0.5, 0.25] * 50, np.float32),
    siblings=np.array([0.8, 0.9] * 50, np.float32),
    topic=np.array([0, 0, 1, -1]),
    documents=ROWS,
    mentions=ROWS,
    answers=ROWS,
    likeness=0.2,
    seconds=np.array([1.0, 2.0, 9.0], np.float32),
)
BETTER = replace(OLD, context=OLD.context + np.float32(0.1))


def reasons(new: Measured) -> str:
    return " ".join(judge(OLD, new).reasons)


def test_a_sure_gain_is_accepted() -> None:
    report = judge(OLD, BETTER)
    assert report.accepted
    (found,) = (check for check in report.checks if check.verdict == "better")
    assert (found.old, found.new, found.limit) == (
        pytest.approx(0.375),
        pytest.approx(0.475),
        "0.365 or more",
    )


def test_no_gain_is_refused_though_nothing_is_worse() -> None:
    report = judge(OLD, OLD)
    assert not report.accepted
    assert report.reasons == (
        "Nothing is surely better (masked phrase found in another text: 0.375 before, 0.375 now; "
        "phrases named side by side are near: 0.850 before, 0.850 now).",
    )


def test_a_gain_that_chance_may_have_made_is_none() -> None:
    context = OLD.context.copy()
    context[0] += 0.5  # one of a hundred phrases
    assert "surely" in reasons(replace(OLD, context=context))


def test_a_gain_that_is_sure_and_tiny_is_none() -> None:
    assert "surely" in reasons(replace(OLD, context=OLD.context + np.float32(0.004)))


def test_either_gain_is_enough() -> None:
    assert judge(OLD, replace(OLD, siblings=OLD.siblings + np.float32(0.02))).accepted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"silhouette": 0.36}, "silhouette of topics: 0.360, must be 0.370 or more."),
        ({"silhouette": float("nan")}, "silhouette of topics: nan, must be 0.370 or more."),
        ({"npmi": np.array([0.1, 0.1], np.float32)}, "NPMI of topics: 0.100, must be 0.150 or more."),
        ({"likeness": 0.95}, "likeness of random phrases: 0.950, must be 0.400 or less."),
        ({"topic": np.array([0, 0, -1, -1])}, "share without a topic: 0.500, must be 0.300 or less."),
        ({"documents": ROWS + 8}, "neighbours kept, documents: 0.200, must be 0.300 or more."),
        ({"mentions": ROWS + 100}, "neighbours kept, phrases: 0.000, must be 0.300 or more."),
        ({"answers": ROWS + 100}, "hits kept: 0.000, must be 0.300 or more."),
        ({"topic": np.array([0, 1, 2, 3])}, "documents in the same topic: 0.500, must be 0.600 or more."),
        ({"seconds": np.array([2.0, 4.0, 1.0], np.float32)}, "speed: 0.500, must be 0.800 or more."),
        ({"context": OLD.context - np.float32(0.1)}, "found in another text: 0.275, must be 0.365 or more."),
        (
            {"siblings": OLD.siblings - np.float32(0.1)},
            "side by side are near: 0.750, must be 0.840 or more.",
        ),
    ],
)
def test_each_limit_refuses_with_its_figures(change: dict[str, object], said: str) -> None:
    assert said in reasons(replace(BETTER, **change))  # type: ignore[arg-type]


def test_labelled_examples_count_as_a_gain_and_as_a_loss() -> None:
    assert judge(OLD, OLD, gold={"entities": (0.3, 0.35)}).accepted
    refused = judge(OLD, BETTER, gold={"entities": (0.35, 0.3)})
    assert refused.reasons == ("entities: 0.300, must be 0.340 or more.",)


def test_limits_are_the_callers() -> None:
    assert judge(OLD, replace(BETTER, silhouette=0.3), Limits(silhouette=0.2)).accepted


def test_the_report_is_plain_data() -> None:
    found = judge(OLD, replace(BETTER, silhouette=float("nan"))).as_json()
    assert found["accepted"] is False
    silhouette = next(check for check in found["checks"] if check["name"] == "silhouette of topics")
    assert silhouette["new"] is None
    assert silhouette["verdict"] == "worse"


def test_overlap_is_the_share_of_common_neighbours() -> None:
    assert overlap(np.array([[1, 2], [3, 4]]), np.array([[2, 1], [4, 5]])) == 0.75
    assert overlap(np.zeros((0, 2), np.intp), np.zeros((0, 2), np.intp)) == 1.0


def test_same_topic_whatever_its_number() -> None:
    assert same_topic(np.array([0, 0, 1, 1, -1]), np.array([1, 1, 0, 0, -1])) == 1.0
    assert same_topic(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])) == 0.75
    assert same_topic(np.array([0, 0]), np.array([-1, -1])) == 0.0
