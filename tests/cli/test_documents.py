"""indexer keyphrases, evaluate and demo: documents without a collection of one's own."""

from __future__ import annotations

import json
import shutil

import pytest

TEXT = "Heat pumps move heat. A heat pump is a machine."


def test_keyphrases_of_a_file(run, home, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    head, *rows = run("keyphrases", "a.txt", home=home).stdout.splitlines()
    assert head.split() == ["score", "keyphrase", "places"]
    assert any("heat pump " in row and "text:24-33" in row for row in rows)
    assert not home.exists()


def test_keyphrases_as_json_have_offsets_into_the_text(run, home, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    found = json.loads(run("keyphrases", "a.txt", "--json", "--limit", "2", home=home).stdout)
    assert len(found) == 2
    for keyphrase in found:
        for place in keyphrase["places"]:
            assert place["field"] == "text"
            assert TEXT[place["start"] : place["end"]]


def test_keyphrases_from_standard_input_marked(run, home):
    shown = run("keyphrases", "-", "--mark", "--limit", "1", home=home, input=TEXT).stdout
    assert "[[" in shown.split("\n\n")[0]


def test_a_text_without_phrases(run, home):
    assert run("keyphrases", "-", home=home, input="...").stdout == "no keyphrases\n"


def test_a_file_that_is_many_documents(run, home, tmp_path, corpus, write):
    write(tmp_path / "docs.jsonl", corpus(3))
    result = run("keyphrases", "docs.jsonl", home=home)
    assert result.exit_code == 1
    assert f"Index them: indexer --home {home} index docs.jsonl" in result.stderr


# -- evaluate -----------------------------------------------------------------------------------------------


@pytest.fixture
def gold(tmp_path, monkeypatch, corpus, write):
    from indexer.text.pool import PreparePool

    monkeypatch.setattr(
        "trainer.evaluation.keyphrases.PreparePool", lambda workers, tagger: PreparePool(0, tagger)
    )
    records = [{**record, "keyphrases": ["robot arm", "ocean waves"]} for record in corpus(4)]
    return write(tmp_path / "gold.jsonl", records)


def test_evaluate_keyphrases(run, home, gold):
    found = json.loads(run("evaluate", "keyphrases", "--data", gold, "--json", home=home).stdout)
    assert found["task"] == "keyphrases"
    assert found["metrics"]["f1@5"]["mean"] > 0
    assert "F1@5" in run("evaluate", "keyphrases", "--data", gold, "--limit", "2", home=home).stdout


def test_evaluate_keyphrases_with_a_share_chosen_elsewhere(run, home, gold, tmp_path):
    valid = shutil.copy(gold, tmp_path / "valid.jsonl")
    asked = ("evaluate", "keyphrases", "--data", gold, "--json")
    chosen = json.loads(run(*asked, "--validate", valid, home=home).stdout)["rows"]
    (name,) = (name for name in chosen if name.endswith(", chosen on valid"))
    shares = [row["f1@10"]["mean"] for label, row in chosen.items() if label.startswith("as published")]
    assert chosen[name]["f1@10"]["mean"] == max(shares)  # the file itself chose, so none is better
    plain = json.loads(run(*asked, home=home).stdout)["rows"]
    assert set(plain) == {"indexer", "as published, beta 0.5", "as published, beta 0.8"}


def test_evaluate_needs_a_task_and_a_file(run, home):
    assert run("evaluate", home=home).exit_code == 2
    assert run("evaluate", "keyphrases", home=home).exit_code == 2


# -- demo ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small_sample(tmp_path, monkeypatch, corpus, write):
    """The shipped 600 abstracts would take a while; these are of the same form."""
    records = [{**r, "label": r["subject"], "date": "2016-01-01"} for r in corpus()]
    sample = write(tmp_path / "sample.jsonl", records)
    monkeypatch.setattr("indexer.cli.demo.SAMPLE", str(sample))


def test_demo_shows_everything_and_is_fast_the_second_time(run, small_sample, tmp_path):
    first = run("demo")
    assert first.exit_code == 0
    assert "Reading and mining 21 abstracts, the first time only." in first.stdout
    for command in ("topics", "search ", "phrases stock market", "phrases --in ", "show d", "topics why d"):
        assert f"$ indexer --home .indexer-demo {command}" in first.stdout
    assert "  indexer --home .indexer-demo topics show 1" in first.stdout
    assert (tmp_path / ".indexer-demo").is_dir()
    second = run("demo")
    assert "Reading and mining" not in second.stdout
    assert first.stdout.endswith(second.stdout.lstrip("\n"))


def test_demo_in_another_place(run, small_sample, home):
    shown = run("demo", "--home", home).stdout
    assert f"$ indexer --home {home} topics" in shown
    assert home.is_dir()
