"""The protocol of SimCKP, counted by hand."""

from __future__ import annotations

import json

import pytest
from hash_encoder import HashEncoder

from trainer.evaluation.present_absent import Predicted, evaluate_separately, macro_f1, macro_recall

LABELLED = [frozenset({"a", "b"}), frozenset(), frozenset({"c"})]
PREDICTED = [Predicted(["a", "x", "b"], 2), Predicted(["y"], 1), Predicted(["z", "c"], 1)]


def test_five_predictions_count_even_where_there_are_fewer():
    # Precision 2/5 and 1/5, recall 2/2 and 1/1; the document without keyphrases does not count.
    precision, recall = (0.4 + 0.2) / 2, 1.0
    assert macro_f1(PREDICTED, LABELLED, 5).mean == pytest.approx(
        2 * precision * recall / (precision + recall)
    )


def test_only_what_is_given_counts():
    # The first gives a and x: 1/2, 1/2. The last gives z: 0, 0. F1 of the means .25 and .25.
    assert macro_f1(PREDICTED, LABELLED, None).mean == pytest.approx(0.25)


def test_recall_of_all_predictions():
    assert macro_recall(PREDICTED, LABELLED).mean == pytest.approx(1.0)
    assert macro_recall([Predicted([], 0)], [frozenset()]).mean is None


@pytest.mark.slow
def test_a_file_is_scored_apart(tmp_path):
    path = tmp_path / "kp20k_test.jsonl"
    line = {
        "title": "Heat pumps",
        "text": "A heat pump is warm.",
        "keyphrases": ["heat pump", "energy", "Heat Pumps"],
    }
    path.write_text(json.dumps(line) + "\n")
    table = evaluate_separately(
        path, encoder=HashEncoder(), keyphrases=10, tagger="shipped", published="kp20k"
    )
    figures = table.as_json()
    assert (figures["documents"], figures["with present"], figures["with absent"]) == (1, 1, 1)
    # One of five: precision .2, recall 1. Without a ranker nothing absent is found.
    assert figures["metrics"]["present_f1@5"]["mean"] == pytest.approx(2 * 0.2 / 1.2, abs=1e-4)
    assert figures["metrics"]["absent_f1@5"]["mean"] == 0
    assert "SimCKP" in figures["published"]
    assert "F1 of the two means" in table.render()
