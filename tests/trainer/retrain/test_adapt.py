"""What the candidates are called; that they are trained is in tests/trainer/test_train.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from indexer.progress import no_progress
from models.registry import Registry
from trainer.retrain.adapt import Adaptation, candidates
from trainer.retrain.prune import is_candidate


@pytest.fixture
def names(tmp_path, monkeypatch):
    """Names of the candidates that begin from a shipped bundle."""

    def trained(base, sources, order, **_):
        return replace(base, name=order.name)

    monkeypatch.setattr("trainer.retrain.adapt.train_bundle", trained)

    def found(live: str) -> list[str]:
        wanted = Adaptation("main-0123456789ab", "both", 0.0, 2)
        bundles = candidates(
            Registry(tmp_path).get(live), tmp_path, wanted, home=tmp_path, progress=no_progress
        )
        return [bundle.name for bundle in bundles]

    return found


def test_names_tell_what_a_training_began_from_and_how(names) -> None:
    pairs, ccl = names("minilm-phrases")
    assert is_candidate(pairs, "main")
    assert is_candidate(ccl, "main")
    assert (pairs[-6:], ccl) == ("-pairs", pairs[:-5] + "ccl")
    assert not set(names("minilm-base")) & {pairs, ccl}
    assert names("minilm-phrases") == [pairs, ccl]  # a training that was killed is found again


@pytest.mark.parametrize(
    "name", ["main-tuned", "main-0123456789ab-pairs", "mainly-0123456789ab-abcdef-pairs", "minilm-base"]
)
def test_other_names_are_not_of_a_retrain(name) -> None:
    assert not is_candidate(name, "main")
