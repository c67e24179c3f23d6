import json
import math
from dataclasses import replace

import pytest
import torch

from models.weights import read_safetensors
from trainer.base.losses import TEMPERATURE
from trainer.seke.options import SEKEOptions
from trainer.seke.recipe import joint
from trainer.seke.train import train_seke

pytestmark = [pytest.mark.usefixtures("small_training"), pytest.mark.xdist_group("transformers")]

PHRASES = ["heat pump", "cell membrane", "house", "solid state battery"]
OPTIONS = SEKEOptions(name="mine", steps=40, learning_rate=3e-3, warmup=2, eval_every=10, threads=1)


@pytest.fixture(scope="module")
def wide(bundle):
    """All phrases of a text in one window."""
    return replace(bundle, window_tokens=40)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Every text names all phrases, and one of them again and again."""
    lines = []
    for at in range(48):
        often = PHRASES[at % 4]
        own = " thin" * (at // 4)  # no two sentences of two texts are alike
        text = f"the {often} and the {' and the '.join(PHRASES)} is{own} ."
        lines.append({"id": str(at), "text": text})
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_phrases_together_by_hand():
    text, phrases = torch.tensor([1.0, 0.0]), torch.eye(2)
    # Cosines 1 and 0: shares e^(1/t) and 1.
    big = math.exp(1 / TEMPERATURE)
    expected = torch.tensor([big, 1.0]) / math.hypot(big, 1)
    assert torch.allclose(joint(text, phrases, torch.eye(2)), expected)
    # W turns the text round: now the second phrase has it all.
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert torch.allclose(joint(text, phrases, swap), expected.flip(0))


@pytest.fixture(scope="module")
def whole(wide, texts, tmp_path_factory, small_training):
    """A bundle that was trained without a break."""
    return train_seke(wide, replace(OPTIONS, corpus=(texts,)), home=tmp_path_factory.mktemp("whole"))


def losses_of(bundle):
    return [step["loss"] for step in json.loads((bundle.folder / "curve.json").read_text())]


def test_it_learns_the_texts_by_heart(whole):
    assert whole.heads == ("documents", "keyphrases")
    losses = losses_of(whole)
    assert losses[-1] < losses[0] / 5


@pytest.mark.slow
def test_the_weights_alone_can_be_learned(wide, texts, tmp_path):
    made = train_seke(wide, replace(OPTIONS, corpus=(texts,), encoder=False), home=tmp_path)
    losses = losses_of(made)
    assert sum(losses[-10:]) < sum(losses[:10])
    names = read_safetensors(made.folder / "adapter.safetensors").keys()
    assert set(names) == {"heads.keyphrases"}  # the encoder is as it was


@pytest.mark.slow
def test_killed_and_started_again_it_ends_the_same(whole, wide, texts, tmp_path):
    options = replace(OPTIONS, corpus=(texts,))

    def stop(stage, done, total):
        if stage.startswith("train") and done == 25:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_seke(wide, options, home=tmp_path / "killed", progress=stop)
    again = train_seke(wide, options, home=tmp_path / "killed")
    assert again.fingerprint == whole.fingerprint
