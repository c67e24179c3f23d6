"""Three kinds of files about phrases."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hash_encoder import HashEncoder

from indexer.common import unit
from indexer.errors import InputError
from trainer.evaluation import classifier
from trainer.evaluation.phrases import evaluate_phrases


class Plane(HashEncoder):
    """A phrase is a number: its angle in degrees. The cosine of two phrases is that of their difference."""

    dims = 2

    def encode_phrases(self, texts):
        angles = np.radians([float(text) for text in texts])
        return unit(np.stack([np.cos(angles), np.sin(angles)], axis=1))


@pytest.fixture
def written(tmp_path):
    def write(lines, name="data.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


def evaluated(path, **more):
    return evaluate_phrases(path, encoder=Plane(), **more).as_json()


def test_scores(written):
    """Cosines 1, .5 and 0. Scores in line with them correlate by 1; ranks do where only the order is right."""
    lines = [
        {"a": "0", "b": "0", "score": 0.9},
        {"a": "0", "b": "60", "score": 0.5},
        {"a": "10", "b": "100", "score": 0.1},
    ]
    found = evaluated(written(lines, "bird.jsonl"), published="bird")
    assert found["metrics"]["pearson"]["mean"] == pytest.approx(1, abs=1e-4)
    assert (found["pairs"], found["seeds"]) == (3, [])
    assert found["published"]["Phrase-BERT"] == {"pearson": 0.688}
    lines[0]["score"] = 1.7
    found = evaluated(written(lines))["metrics"]
    assert found["spearman"]["mean"] == 1
    # Deviations of the cosines .5 0 -.5, of the scores 14 -4 -10 (times 15): 12 / sqrt(.5 * 312).
    assert found["pearson"]["mean"] == pytest.approx(12 / np.sqrt(156), abs=1e-4)


def test_correlation_by_hand_with_equal_scores(written):
    """Ranks of the cosines 3 2 1, of the scores 1.5 1.5 3: deviations 1 0 -1 and -.5 -.5 1, -1.5 / sqrt(2 * 1.5)."""
    lines = [{"a": "0", "b": b, "score": score} for b, score in (("0", 5), ("60", 5), ("90", 7))]
    found = evaluated(written(lines))["metrics"]
    assert found["spearman"]["mean"] == pytest.approx(-1.5 / np.sqrt(3), abs=1e-4)


def test_choices(written):
    lines = [
        {"query": "0", "choices": ["50", "20", "90"], "answer": "20"},
        {"query": "100", "choices": ["50", "20", "90"], "answer": "90"},
        {"query": "40", "choices": ["50", "20", "90"], "answer": "90"},
        {"query": "60", "choices": ["50", "20", "90"], "answer": "50"},
    ]
    found = evaluated(written(lines, "turney.jsonl"))
    assert found["metrics"] == {"acc": {"mean": 0.75, "spread": 0.0}}
    assert found["questions"] == 4


def pairs(number=12, **more):
    """The same within 20 degrees, something else from 70 on; every part has both."""
    lines = []
    for i in range(number):
        for label, apart in ((1, 5 + i), (0, 75 + i)):
            part = ("train", "train", "dev", "test")[i % 4]
            lines.append({"a": str(i), "b": str(i + apart), "label": label, "split": part, **more})
    return lines


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(classifier, "HIDDEN", 8)
    monkeypatch.setattr(classifier, "EPOCHS", 10)


@pytest.mark.usefixtures("small")
def test_labels(written):
    found = evaluated(written(pairs(), "ppdb.jsonl"), seeds=range(2), published="ppdb")
    assert list(found["rows"]) == ["classifier", "as published", "threshold"]
    assert found["rows"]["threshold"] == {"acc": {"mean": 1.0, "spread": 0.0}}
    assert found["metrics"] == found["rows"]["classifier"]
    assert found["seeds"] == [0, 1]
    assert found["published"] == {"Phrase-BERT": {"acc": 0.976}}


@pytest.mark.usefixtures("small")
def test_a_strict_split_is_the_first_figure(written):
    """By `split` the third pair is for testing and the threshold is right; by `split_strict` others are tested."""
    lines = pairs(8)
    for line in lines:
        line["split_strict"] = {"test": "train", "train": "test", "dev": "dev"}[line["split"]]
    lines.append({"a": "0", "b": "89", "label": 1, "split": "train", "split_strict": "test"})
    path = written(lines, "ppdb_filtered.jsonl")
    table = evaluate_phrases(path, encoder=Plane(), seeds=(0,))
    found = table.as_json()
    assert list(found["metrics"]) == ["acc", "acc_loose"]
    # Eight pairs are tested, and the one that is not like the others.
    assert found["rows"]["threshold"]["acc"]["mean"] == round(8 / 9, 4)
    assert found["rows"]["threshold"]["acc_loose"]["mean"] == 1
    assert "split_strict" in table.protocol


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"text": "x"}], ':1: expected "a", "b" and "score"; or'),
        ([{"text": "x", "label": "physics"}], ':1: expected "a", "b" and "score"; or'),
        ([{"a": "1", "b": "2", "score": "high"}], ':1: "score" must be a number, not "high"'),
        ([{"a": "1", "score": 1}], ':1: "b" is missing'),
        ([{"a": "1", "b": "2", "label": 2, "split": "dev"}], ':1: "label" must be 0 or 1, not 2'),
        ([{"a": "1", "b": "2", "label": 1}], ':1: "split" is missing'),
        ([{"a": "1", "b": "2", "label": 1, "split": "valid"}], ':1: "split" must be one of train, dev, test,'),
        ([*pairs(1), {"a": "1", "b": "2", "score": 1}], ":3: this is another kind of line than the first"),
        ([{**pairs(1)[0], "split_strict": "dev"}, pairs(1)[1]], ':2: "split_strict" must be in every line'),
        ([{"query": "1", "choices": ["2", "3"], "answer": "4"}], ':1: "choices" must be at least two, and "ans'),
        ([{"a": "1", "b": "2", "score": 1}], ": a correlation needs at least two pairs with different scores"),
        (pairs(2), ": \"split\" must give 'dev' pairs of both labels"),
    ],
)  # fmt: skip
def test_bad_lines_are_named(written, lines, message):
    path = written(lines)
    with pytest.raises(InputError) as caught:
        evaluated(path)
    assert str(caught.value).startswith(f"{path}{message}")
