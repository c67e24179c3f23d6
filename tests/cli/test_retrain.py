"""indexer retrain: what it prints, and its exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from shutil import copytree

import pytest
from small_parts import PlainPreparer

from indexer.errors import LossDiverged
from models.registry import Registry
from tests.cli.conftest import invoked, made, written
from tests.trainer.retrain.test_gate import BETTER, OLD
from trainer.retrain.judge import Judge

BASE = "minilm-base"


@pytest.fixture(scope="module")
def with_documents(parts, tmp_path_factory):
    """A home with 48 documents, to be copied."""
    folder = tmp_path_factory.mktemp("retrain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainer.retrain.probe.Preparer", PlainPreparer)
        patch.setattr("trainer.retrain.probe.MIN_DOCUMENTS", 10)
        invoked("index", written(folder / "docs.jsonl", made(48)), "--topics", "3", home=folder / "home")
    return folder / "home"


@pytest.fixture
def retrain(run, with_documents, home, monkeypatch):
    """A collection of 48 documents, and a training that takes no time."""
    copytree(with_documents, home)
    monkeypatch.setattr("trainer.retrain.probe.Preparer", PlainPreparer)
    monkeypatch.setattr("trainer.retrain.probe.MIN_DOCUMENTS", 10)
    monkeypatch.setattr("trainer.retrain.judge.speed", lambda *_: 1.0)

    def candidates(live, snapshot, wanted, *, home, progress):
        progress("train: loss 0.500", 1, 2)
        yield Registry(home).get(BASE)

    monkeypatch.setattr("trainer.retrain.candidates.candidates", candidates)
    judged_as(monkeypatch, BETTER)
    return lambda *args: run("retrain", *args, home=home)


def judged_as(monkeypatch, figures):
    """What the new encoder is found to be."""
    monkeypatch.setattr(Judge, "_measured", lambda _, bundle: figures if bundle.name == BASE else OLD)


@pytest.mark.slow
def test_swapped_is_0_and_so_is_nothing_to_do(retrain):
    result = retrain()
    assert result.exit_code == 0
    assert "masked phrase found in another text" in result.stdout
    assert (
        f"swapped: {BASE} is live as generation 2 (masked phrase found in another text: "
        "0.375 before, 0.475 now)." in " ".join(result.stdout.split())
    )
    again = retrain()
    assert (again.exit_code, again.stdout) == (
        0,
        "nothing: The collection has not changed since the last retrain.\n",
    )


def test_refused_is_3_with_every_reason(retrain, monkeypatch):
    judged_as(monkeypatch, replace(BETTER, silhouette=0.3, similarity=0.9))
    result = retrain()
    assert result.exit_code == 3
    assert "Topics are less distinct: 0.300, before 0.400; it must be 0.370 or more.\n" in result.stdout
    assert "Random phrases are more similar: 0.900, before 0.200;" in result.stdout
    assert result.stdout.endswith("refused: Topics are less distinct: 0.300, before 0.400; it must be 0.370 or "
                                  "more. And 1 more.\n")  # fmt: skip


def test_a_training_that_diverged_is_3(retrain, monkeypatch):
    def candidates(*_, **__):
        raise LossDiverged("The loss became nan at step 3.")
        yield

    monkeypatch.setattr("trainer.retrain.candidates.candidates", candidates)
    result = retrain()
    assert (result.exit_code, result.stdout) == (3, "refused: The loss became nan at step 3.\n")


def test_failed_is_1(retrain, run, home, tmp_path):
    result = retrain("--candidate", "nobody")
    assert result.exit_code == 1
    assert "There is no bundle 'nobody'" in result.stderr
    assert run("retrain", home=tmp_path / "nothing").exit_code == 1


def test_json_is_the_report(retrain, home):
    result = retrain("--json", "--dry-run")
    found = json.loads(result.stdout)
    assert (found["verdict"], found["bundle"]) == ("accepted", "minilm-phrases")
    (judged,) = found["judged"].values()
    assert judged["accepted"] is True
    assert {check["name"] for check in judged["checks"]} >= {"silhouette of topics", "speed"}
    assert found["seconds"] >= 0


@pytest.mark.slow
def test_without_a_terminal_there_is_a_line_for_each_stage(retrain):
    lines = retrain().stderr.splitlines()
    assert any(line.endswith(" Training, 1 of 2, loss 0.500") for line in lines)
    assert any(line.endswith(" Selecting held-out texts") for line in lines)


def test_it_tells_of_drift(retrain, run, home):
    result = retrain("--if-drifted")
    assert result.exit_code == 0
    assert result.stdout == (
        "nothing: Not enough has drifted: 0 new and 48 old documents; too few to compare.\n"
    )
    assert "drift         0 new and 48 old documents; too few to compare\n" in run("status", home=home).stdout


def test_bad_lines_of_labelled_examples_are_named_first_and_last(retrain, tmp_path):
    file = tmp_path / "gold.jsonl"
    mention = '{"mention": "the [[robot %d]] moves", "label": "thing"}\n'
    file.write_text('{"query": "robot"}\n' + "".join(mention % number for number in range(10)))
    result = retrain("--ground-truth", file, "--dry-run")
    said = f'{file}:1: "documents" is missing. Found: query.'
    assert result.exit_code == 0
    assert result.stderr.startswith(said)
    assert f"Warning: {said}" in result.stderr


def test_labelled_examples_of_which_none_can_be_used_stop_it_at_once(retrain, tmp_path):
    file = tmp_path / "gold.jsonl"
    file.write_text('{"query": "robot"}\n')
    result = retrain("--gold", file)
    assert result.exit_code == 1
    assert f'{file}: no line can be used. {file}:1: "documents" is missing.' in result.stderr
    assert "generation" not in result.stdout


@pytest.mark.parametrize("asked", [("--force", "--if-drifted"), ("--candidate", BASE, "--budget", "1m")])
def test_what_makes_no_sense_together_is_refused(retrain, asked):
    assert retrain(*asked).exit_code == 2


def test_a_candidate_may_be_named_by_a_folder(retrain, tmp_path, monkeypatch):
    from models.bundle import write_bundle

    base = Registry(tmp_path).get(BASE)
    write_bundle(replace(base, window_tokens=99), tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert (
        f"accepted: {tmp_path}/mine would be switched to."
        in retrain("--candidate", "./mine", "--dry-run").stdout
    )


def test_workers_need_a_broker(retrain):
    result = retrain("--workers")
    assert result.exit_code == 2
    assert "Workers need a broker" in result.stderr


@pytest.mark.slow
def test_what_workers_never_did_can_be_given_up(retrain, monkeypatch, tmp_path):
    monkeypatch.setenv("INDEXER_BROKER", "memory://")
    monkeypatch.setenv("INDEXER_INDEX_PREFIX", tmp_path.name.replace("_", "-"))
    assert retrain("--give-up").stdout == "no retrain is left to workers\n"
    assert retrain("--workers").stdout.startswith("left to workers: ")
    result = retrain()
    assert result.exit_code == 1
    assert " retrain --give-up" in result.stderr
    assert retrain("--give-up").stdout == "cancelled; its progress is kept for the next one\n"
    assert retrain().exit_code == 0


def test_it_is_gentle_to_others(retrain, monkeypatch):
    seen = []
    monkeypatch.setattr("os.nice", seen.append)
    retrain("--dry-run")
    assert seen == [10]
