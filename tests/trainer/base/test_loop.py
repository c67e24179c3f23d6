import time
from contextlib import closing

import pytest
import torch
from torch import nn

from indexer.errors import LossDiverged
from trainer.base.loop import FINAL_RATE, TrainConfig, train


class Line:
    """Learn y = 3x + 1 from noisy points; each step has points of its own."""

    def __init__(self):
        torch.manual_seed(0)
        self.network = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.1))

    def parameters(self):
        return self.network.parameters()

    def loss(self, step):
        x = torch.randn(16, 1, generator=torch.Generator().manual_seed(step))
        return ((self.network(x) - (3 * x + 1)) ** 2).mean()

    def score(self):
        x = torch.linspace(-1, 1, 9)[:, None]
        return -((self.network(x) - (3 * x + 1)) ** 2).mean().item()


FAST = TrainConfig(steps=60, learning_rate=0.1, weight_decay=0, warmup=5, eval_every=20)


def weights(recipe):
    return [p.detach().clone() for p in recipe.parameters()]


def test_it_learns():
    recipe = Line()
    steps = list(train(recipe, recipe.network, FAST))
    assert [s.number for s in steps if s.score is not None] == [20, 40, 60]
    assert steps[-1].score > -1 > recipe_score_before()
    assert steps[-1].loss < steps[0].loss / 3


def recipe_score_before():
    recipe = Line()
    recipe.network.eval()
    return recipe.score()


def test_killed_and_resumed_it_ends_the_same(tmp_path):
    whole = Line()
    list(train(whole, whole.network, FAST))

    killed = Line()
    steps = train(killed, killed.network, FAST, tmp_path / "checkpoint.pt")
    assert next(step for step in steps if step.number == 47)  # seven steps after the last checkpoint
    resumed = Line()
    numbers = [step.number for step in train(resumed, resumed.network, FAST, tmp_path / "checkpoint.pt")]
    assert numbers == list(range(41, 61))
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        assert torch.equal(one, other)


def test_stopped_between_two_steps_it_goes_on_there(tmp_path):
    whole = Line()
    list(train(whole, whole.network, FAST))

    stopped = Line()
    with closing(train(stopped, stopped.network, FAST, tmp_path / "checkpoint.pt")) as steps:
        assert next(step for step in steps if step.number == 47)
    resumed = Line()
    numbers = [step.number for step in train(resumed, resumed.network, FAST, tmp_path / "checkpoint.pt")]
    assert numbers == list(range(48, 61))
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        assert torch.equal(one, other)


def test_the_rate_goes_up_and_down():
    config = TrainConfig(steps=110, warmup=10)
    assert config.rate(0) == pytest.approx(0.1)
    assert config.rate(9) == pytest.approx(1)
    assert config.rate(60) == pytest.approx((1 + FINAL_RATE) / 2)
    assert config.rate(110) == pytest.approx(FINAL_RATE)


def test_it_stops_when_the_score_no_longer_grows():
    recipe = Line()
    recipe.score = lambda: 0.5  # never better than the first time
    config = TrainConfig(steps=100, eval_every=10, patience=30)
    assert list(train(recipe, recipe.network, config))[-1].number == 40


def test_a_budget_holds_where_a_few_steps_are_more_than_it():
    class Slow(Line):
        def loss(self, step):
            time.sleep(0.05)
            return super().loss(step)

    recipe = Slow()
    steps = list(train(recipe, recipe.network, TrainConfig(steps=100, budget_s=0.12, eval_every=50)))
    assert len(steps) <= 3
    assert steps[-1].score is not None  # it ends as any training does


def test_a_budget_shortens_the_training():
    recipe = Line()
    # A hundred thousand steps of a tenth of a millisecond and more do not fit in a fifth of a second.
    steps = list(train(recipe, recipe.network, TrainConfig(steps=100_000, budget_s=0.2, eval_every=10**6)))
    assert 10 <= steps[-1].number < 100_000
    assert steps[-1].number == steps[-1].of


def test_a_loss_that_is_no_number_is_an_error():
    recipe = Line()
    recipe.loss = lambda step: torch.tensor(float("nan"), requires_grad=True)
    with pytest.raises(LossDiverged, match="step 1"):
        next(train(recipe, recipe.network, FAST))
