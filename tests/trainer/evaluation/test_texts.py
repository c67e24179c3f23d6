"""Clusters of short texts."""

from __future__ import annotations

import json

import pytest
from hash_encoder import HashEncoder

from indexer.errors import InputError
from trainer.evaluation.texts import evaluate_texts, number_of_labels


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "stackoverflow_small.jsonl"
    texts = [(f"{word} {word} {word} n{i}", i % 2) for i in range(20) for word in [("svn", "linq")[i % 2]]]
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in texts))
    return path


def test_texts_that_lie_apart_are_found(data):
    reported = []
    table = evaluate_texts(
        data,
        encoder=HashEncoder(),
        seeds=range(3),
        published="stackoverflow",
        progress=lambda *seen: reported.append(seen),
    )
    found = table.as_json()
    assert (found["task"], found["texts"], found["labels"]) == ("texts", 20, 2)
    assert found["metrics"] == {"acc": {"mean": 1.0, "spread": 0.0}, "nmi": {"mean": 1.0, "spread": 0.0}}
    assert found["published"] == {"HS-GC": {"acc": 0.746, "nmi": 0.671}}
    assert reported == [("evaluate", 20, 20)]
    assert "HS-GC (published for stackoverflow)" in table.render()


def test_the_name_of_a_file_attaches_no_published_figures(data):
    table = evaluate_texts(data, encoder=HashEncoder(), seeds=(0,))
    assert table.as_json()["published"] == {}
    assert "published" not in table.render()


def test_one_label_is_refused(data):
    """Every clustering would be right: a score of 1 that says nothing."""
    data.write_text('{"text": "svn a", "label": "svn"}\n{"text": "svn b", "label": "svn"}\n')
    with pytest.raises(InputError, match=r"stackoverflow_small\.jsonl: every label is 'svn'; clusters are"):
        evaluate_texts(data, encoder=HashEncoder())


def test_a_limit_reads_a_sample(data):
    assert evaluate_texts(data, encoder=HashEncoder(), seeds=(0,), limit=4).as_json()["texts"] == 4


def test_a_line_without_label(data):
    data.write_text(data.read_text() + '{"text": "a"}\n')
    with pytest.raises(InputError, match=r':21: "label" is missing. Found: text\.'):
        evaluate_texts(data, encoder=HashEncoder())


def test_further_encoders_are_further_rows_and_the_last_one_counts(data):
    """One that is blind has every text in one place: half of the texts are right."""

    class Blind(HashEncoder):
        def encode_texts(self, texts):
            return super().encode_texts(["same"] * len(texts))

    found = evaluate_texts(
        data,
        encoder=HashEncoder(),
        others={"all layers": [HashEncoder()], "HS-GC": [Blind(), HashEncoder()]},
        seeds=(0,),
    ).as_json()
    assert [*found["rows"]] == ["K-means", "all layers", "HS-GC"]
    assert found["metrics"] == found["rows"]["HS-GC"]
    assert found["metrics"]["acc"] == {"mean": 0.75, "spread": 0.25}  # 0.5 and 1


def test_labels_are_counted(data):
    assert number_of_labels(data) == 2
