"""indexer evaluate: the tasks as commands."""

from __future__ import annotations

import json

import pytest

ENTITIES = [
    {"sentence": f"in {name} now", "start": 3, "end": 3 + len(name), "phrase": name, "label": name[:4]}
    for name in ("town one", "town two", "drug one", "drug two")
]
PHRASES = [{"a": "red car", "b": "red car", "score": 1}, {"a": "red car", "b": "sea", "score": 0}]
TEXTS = [{"text": f"{word} {word} {i}", "label": word} for i in range(3) for word in ("svn", "linq")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "lines", "metrics", "counted"),
    [
        ("entities", ENTITIES, {"acc", "nmi"}, ("mentions", 4)),
        ("phrases", PHRASES, {"pearson", "spearman"}, ("pairs", 2)),
        ("texts", TEXTS, {"acc", "nmi"}, ("texts", 6)),
    ],
)
def test_a_task_for_programs_and_for_people(run, home, tmp_path, write, task, lines, metrics, counted):
    data = write(tmp_path / "data.jsonl", lines)
    found = json.loads(run("evaluate", task, "--data", data, "--seeds", "2", "--json", home=home).stdout)
    assert (found["task"], found["data"]) == (task, str(data))
    assert set(found["metrics"]) == metrics
    assert all(set(figure) == {"mean", "spread"} for figure in found["metrics"].values())
    assert found[counted[0]] == counted[1]
    shown = run("evaluate", task, "--data", data, "--limit", "2", home=home).stdout
    assert shown.startswith(f"{data}: 2 {counted[0]}")
    assert "\nProtocol: " in shown


@pytest.mark.parametrize("task", ["entities", "phrases", "texts"])
def test_a_bad_line_is_one_sentence(run, home, tmp_path, write, task):
    result = run("evaluate", task, "--data", write(tmp_path / "data.jsonl", [{"id": 1}]), home=home)
    assert result.exit_code == 1
    assert "data.jsonl:1: " in result.stderr
    assert run("evaluate", task, home=home).exit_code == 2


def test_published_figures_are_named_explicitly(run, home, tmp_path, write):
    data = write(tmp_path / "agnews.jsonl", TEXTS)
    assert "(published" not in run("evaluate", "texts", "--data", data, home=home).stdout
    shown = run("evaluate", "texts", "--data", data, "--published", "trec", home=home).stdout
    assert shown.splitlines()[-1].split() == ["HS-GC", "(published", "for", "trec)", "0.433", "0.157"]
    wrong = run("evaluate", "texts", "--data", data, "--published", "mine", home=home)
    assert wrong.exit_code == 2
    assert "agnews" in wrong.stderr
    sampled = run("evaluate", "texts", "--data", data, "--published", "trec", "--limit", "4", home=home)
    assert "are of the whole set" in sampled.stderr


def test_one_label_is_one_sentence(run, home, tmp_path, write):
    data = write(tmp_path / "data.jsonl", [{"text": "a b", "label": 1}, {"text": "c d", "label": 1}])
    result = run("evaluate", "texts", "--data", data, home=home)
    assert result.exit_code == 1
    assert "data.jsonl: every label is '1'; clusters are compared with two or more." in result.stderr
