import json
from dataclasses import replace

import numpy as np
import pytest

from trainer.uctopic.ccl import agreed, clustered
from trainer.uctopic.options import UCTopicOptions
from trainer.uctopic.train import train_uctopic

pytestmark = [pytest.mark.usefixtures("small_training"), pytest.mark.xdist_group("transformers")]


def test_mentions_of_a_phrase_take_its_most_frequent_label():
    phrases, labels = np.array([7, 7, 7, 9, 9]), np.array([0, 1, 1, 2, 0])
    assert agreed(phrases, labels).tolist() == [1, 1, 1, 0, 0]  # the smaller one among equals


def test_a_short_training_clusters_few_mentions():
    assert clustered(90.0) == 3_600
    assert clustered(20.0) == 3_000  # fewer make no clusters
    assert clustered(0.0) == clustered(7_200.0) == 20_000


OPTIONS = UCTopicOptions(name="mine", ccl=2, steps=20, learning_rate=3e-3, warmup=2, eval_every=10, threads=1)


@pytest.fixture(scope="module")
def spans(tmp_path_factory):
    """Two phrases, each with an ending of its own."""
    lines = [
        {"sentence": f"{'the ' * at}{phrase} {end} .", "start": 4 * at, "end": 4 * at + len(phrase)}
        for at in range(12)
        for phrase, end in (("heat pump", "is warm and warm"), ("cell membrane", "is thin , thin , thin"))
    ]
    path = tmp_path_factory.mktemp("spans") / "spans.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def whole(bundle, spans, tmp_path_factory, small_training):
    """A bundle that was trained without a break."""
    return train_uctopic(bundle, replace(OPTIONS, mentions=(spans,)), home=tmp_path_factory.mktemp("whole"))


def test_it_learns_from_clusters(whole):
    assert whole.scores["held_back"] > 0.9
    losses = [step["loss"] for step in json.loads((whole.folder / "curve.json").read_text())]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) / 2


@pytest.mark.slow
def test_killed_and_started_again_it_ends_the_same(whole, bundle, spans, tmp_path):
    def stop(stage, done, total):
        if stage.startswith("train") and done == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_uctopic(bundle, replace(OPTIONS, mentions=(spans,)), home=tmp_path / "killed", progress=stop)
    again = train_uctopic(bundle, replace(OPTIONS, mentions=(spans,)), home=tmp_path / "killed")
    assert again.fingerprint == whole.fingerprint
