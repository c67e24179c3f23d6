"""What the candidates are called; that they are trained is in tests/trainer/uctopic/test_train.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from indexer.protocols import no_progress
from models.bundle import read_bundle, write_bundle
from models.registry import SHIPPED, Registry
from trainer.retrain.candidates import Adaptation, candidates
from trainer.retrain.prune import is_candidate

WANTED = Adaptation("main-0123456789ab", "both", 0.0, 2)


@pytest.fixture
def snapshot(tmp_path) -> Path:
    file = tmp_path / "documents.jsonl"
    file.write_text('{"id": "a", "text": "A solar wind."}\n')
    return file


@pytest.fixture
def names(tmp_path, monkeypatch, snapshot):
    """Names of the candidates that begin from a shipped bundle."""

    def trained(base, options, **_):
        return replace(base, name=options.name)  # and with its fingerprint

    monkeypatch.setattr("trainer.retrain.candidates.train_uctopic", trained)

    def found(live: str, wanted: Adaptation = WANTED) -> list[str]:
        bundles = candidates(
            Registry(tmp_path).get(live), snapshot, wanted, home=tmp_path, progress=no_progress
        )
        return [bundle.name for bundle in bundles]

    return found


def test_names_tell_what_a_training_began_from_and_how(names) -> None:
    pairs, ccl = names("minilm-phrases")
    assert is_candidate(pairs, "main")
    assert is_candidate(ccl, "main")
    assert (pairs[-6:], ccl[-4:]) == ("-pairs", "-ccl")
    assert not set(names("minilm-base")) & {pairs, ccl}
    assert names("minilm-phrases") == [pairs, ccl]  # a training that was killed is found again


@pytest.mark.parametrize("other", [{"seed": 1}, {"budget": 9.0}])
def test_asked_for_otherwise_it_has_another_name(names, other) -> None:
    assert not set(names("minilm-phrases", replace(WANTED, **other))) & set(names("minilm-phrases"))


def test_only_ccl_depends_on_the_number_of_topics(names) -> None:
    pairs, ccl = names("minilm-phrases")
    again, other = names("minilm-phrases", replace(WANTED, clusters=3))
    assert again == pairs
    assert other != ccl


def test_learned_from_other_texts_it_has_another_name(names, snapshot) -> None:
    before = names("minilm-phrases")
    snapshot.write_text('{"id": "a", "text": "A solar flare."}\n')
    assert not set(names("minilm-phrases")) & set(before)


def test_what_has_been_made_is_not_trained_over(names, tmp_path, monkeypatch) -> None:
    """A generation may have been mined with it, and a budget never ends at the same step twice."""
    made = names("minilm-phrases")
    for name in made:
        folder = copytree(SHIPPED / "minilm-phrases", tmp_path / "bundles" / name)
        write_bundle(replace(read_bundle(folder), name=name), folder)
    monkeypatch.setattr(
        "trainer.retrain.candidates.train_uctopic", lambda *_, **__: pytest.fail("trained again")
    )
    assert names("minilm-phrases") == made


@pytest.mark.parametrize(
    "name", ["main-tuned", "main-0123456789ab-pairs", "mainly-0123456789ab-abcdef-pairs", "minilm-base"]
)
def test_other_names_are_not_of_a_retrain(name) -> None:
    assert not is_candidate(name, "main")
