"""The gate, on measurements made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from indexer.limits import GateLimits
from trainer.retrain.gate import Report, judge, overlap, same_topic
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
    similarity=0.2,
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
    assert report.gains == "masked phrase found in another text: 0.375 before, 0.475 now"


def test_no_gain_is_refused_though_nothing_is_worse() -> None:
    report = judge(OLD, OLD)
    assert not report.accepted
    assert report.reasons == (
        "No significant improvement (masked phrase found in another text: 0.375 before, 0.375 now; "
        "phrases named side by side are near: 0.850 before, 0.850 now).",
    )


def test_a_gain_that_chance_may_have_made_is_none() -> None:
    context = OLD.context.copy()
    context[0] += 0.5  # one of a hundred phrases
    assert "No significant improvement" in reasons(replace(OLD, context=context))


def test_a_gain_that_is_sure_and_tiny_is_none() -> None:
    assert "No significant improvement" in reasons(replace(OLD, context=OLD.context + np.float32(0.004)))


def test_searches_may_hardly_find_less() -> None:
    old = replace(
        OLD, searches={"meaning": np.full(100, 0.6, np.float32), "both": np.full(100, 0.7, np.float32)}
    )
    new = replace(BETTER, searches={**old.searches, "meaning": np.full(100, 0.596, np.float32)})
    assert judge(old, new).accepted
    new = replace(BETTER, searches={**old.searches, "meaning": np.full(100, 0.594, np.float32)})
    assert judge(old, new).reasons == (
        "Searches by meaning find their documents less often: 0.594, before 0.600; it must be 0.595 or more.",
    )
    new = replace(old, searches={**old.searches, "both": np.full(100, 0.71, np.float32)})
    assert judge(old, new).gains == "documents found, by both: 0.700 before, 0.710 now"


def test_either_gain_is_enough() -> None:
    assert judge(OLD, replace(OLD, siblings=OLD.siblings + np.float32(0.02))).accepted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"silhouette": 0.36}, "Topics are less distinct: 0.360, before 0.400; it must be 0.370 or more."),
        (
            {"silhouette": float("nan")},
            "Topics are less distinct: nan, before 0.400; it must be 0.370 or more.",
        ),
        (
            {"npmi": np.array([0.1, 0.1], np.float32)},
            "Topics are less coherent: 0.100, before 0.200; it must be 0.150 or more.",
        ),
        (
            {"similarity": 0.95},
            "Random phrases are more similar: 0.950, before 0.200; it must be 0.400 or less.",
        ),
        (
            {"topic": np.array([0, 0, -1, -1])},
            "More documents are left without a topic: 0.500, before 0.250; it must be 0.300 or less.",
        ),
        (
            {"documents": ROWS + 8},
            "Documents have other neighbours than before: 0.200; it must be 0.300 or more.",
        ),
        (
            {"mentions": ROWS + 100},
            "Phrases have other neighbours than before: 0.000; it must be 0.300 or more.",
        ),
        (
            {"answers": ROWS + 100},
            "Queries find other documents than before: 0.000; it must be 0.300 or more.",
        ),
        (
            {"topic": np.array([0, 1, 2, 3])},
            "Too many documents change their topic: 0.500; it must be 0.600 or more.",
        ),
        (
            {"context": OLD.context - np.float32(0.1)},
            "Phrases are known by their context less often: 0.275, before 0.375; it must be 0.365 or more.",
        ),
        (
            {"siblings": OLD.siblings - np.float32(0.1)},
            "Phrases of one kind have moved apart: 0.750, before 0.850; it must be 0.840 or more.",
        ),
    ],
)
def test_each_limit_refuses_with_its_own_sentence(change: dict[str, object], said: str) -> None:
    assert judge(OLD, replace(BETTER, **change)).reasons == (said,)  # type: ignore[arg-type]


def test_a_collapsed_space_is_the_first_reason() -> None:
    report = judge(OLD, replace(BETTER, silhouette=0.3, similarity=0.99))
    assert [reason.partition(":")[0] for reason in report.reasons] == [
        "The space has collapsed, all phrases are similar",
        "Topics are less distinct",
    ]


def test_an_encoder_that_knows_nothing_any_more_is_told_from_one_that_knows_less() -> None:
    (reason,) = judge(OLD, replace(BETTER, context=OLD.context * np.float32(0.2))).reasons
    assert reason.startswith(
        "It has forgotten its training, hardly a phrase is known by its context: 0.075, "
    )


def test_a_slower_encoder_is_refused() -> None:
    assert judge(OLD, BETTER, speed=0.81).accepted
    assert judge(OLD, BETTER, speed=0.5).reasons == ("It is slower: 0.500; it must be 0.800 or more.",)


def labelled(measured: Measured, values: list[float]) -> Measured:
    return replace(measured, labelled={"labelled queries": np.array(values, np.float32)})


def test_labelled_examples_count_as_a_gain_and_as_a_loss() -> None:
    low, high = [0.2, 0.4] * 10, [0.3, 0.5] * 10
    assert judge(labelled(OLD, low), labelled(OLD, high)).accepted
    refused = judge(labelled(OLD, high), labelled(BETTER, low))
    assert refused.reasons == (
        "Labelled examples are answered worse: 0.300, before 0.400; it must be 0.390 or more.",
    )
    assert refused.checks[0].name == "labelled queries"


def test_one_labelled_example_that_is_answered_better_is_chance() -> None:
    low = [0.2] * 20
    assert not judge(labelled(OLD, low), labelled(OLD, [0.8, *low[1:]])).accepted


def test_phrases_that_only_one_encoder_could_read_do_not_count() -> None:
    short = OLD.context.copy()
    short[1::2] = np.nan  # sentences that are too long for it, all with .25
    report = judge(OLD, replace(BETTER, context=short))
    context = next(check for check in report.checks if check.name.startswith("masked"))
    assert (context.old, context.new) == (0.5, 0.5)


def test_limits_are_the_callers() -> None:
    assert judge(OLD, replace(BETTER, silhouette=0.3), GateLimits(silhouette=0.2)).accepted


def test_the_first_reason_stands_for_all() -> None:
    report = judge(OLD, replace(BETTER, silhouette=0.3, similarity=0.9))
    assert report.summary == (
        "Topics are less distinct: 0.300, before 0.400; it must be 0.370 or more. And 1 more."
    )


def test_a_report_can_be_written_down() -> None:
    report = judge(OLD, replace(BETTER, silhouette=float("nan")))
    again = Report.from_json(json.loads(json.dumps(report.as_json())))
    assert again.reasons == report.reasons
    assert [(c.name, c.verdict) for c in again.checks] == [(c.name, c.verdict) for c in report.checks]
    assert again.context == pytest.approx(0.475)


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
