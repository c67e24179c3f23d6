"""The training loop of all recipes: steps, schedule, dev score, early stop, checkpoints that resume."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from indexer.errors import LossDiverged

FINAL_RATE = 0.05  # of the learning rate, at the last step
TIMED_STEPS = (2, 10)  # with a budget: the speed is measured from after the first to the second


class Recipe(Protocol):
    """Losses and scores of a training."""

    def parameters(self) -> Iterable[nn.Parameter]:
        """Weights that the optimiser changes."""
        ...

    def loss(self, step: int) -> Tensor:
        """Loss of the batch that belongs to `step`, float [] with gradients. The same step gives the same batch."""
        ...

    def score(self) -> float:
        """On data held back, without labels; higher is better. Called without gradients."""
        ...


@dataclass(frozen=True)
class TrainConfig:
    """Length and speed of a training.

    Attributes:
        steps: Optimiser updates. With `budget_s`, the maximum.
        budget_s: Seconds; 0 = no limit. The number of steps is estimated from the first ten; none starts after it.
        eval_every: Steps between two dev scores.
        patience: Steps without a better dev score after which to stop; 0 = never.
        anywhere: Whether a run can resume between two dev scores. Not where the recipe has more state than its weights.
    """

    steps: int = 600
    budget_s: float = 0.0
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    warmup: int = 50
    clip_norm: float = 1.0
    eval_every: int = 100
    patience: int = 0
    anywhere: bool = True
    seed: int = 0

    def rate(self, done: int) -> float:
        """Factor on the learning rate after `done` updates: linear warmup, then linear decay."""
        if done < self.warmup:
            return (done + 1) / self.warmup
        share = (done - self.warmup) / max(1, self.steps - self.warmup)
        return 1 - (1 - FINAL_RATE) * min(1.0, share)


@dataclass(frozen=True)
class Step:
    """One optimiser update."""

    number: int  # from 1
    of: int  # number of steps
    loss: float
    seconds: float  # since the training began, those before a resume included
    score: float | None = None  # dev score; None when not measured
    is_best: bool = False


def train(
    recipe: Recipe, network: nn.Module, config: TrainConfig, checkpoint: Path | None = None
) -> Generator[Step, None, None]:
    """Train until the last step, or until the dev score stops improving. Yields after each update.

    Batches and dropout depend on seed and step only: a run that was killed and resumes from its checkpoint
    ends like one that was not.

    Args:
        network: Everything with weights; switched between training and use here.
        checkpoint: File to resume from if it exists, written at each dev score and when the caller closes this generator
            between two steps; deleted by the caller.

    Raises:
        LossDiverged: The loss became NaN or infinite.
    """
    parameters = [p for p in recipe.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=config.learning_rate, weight_decay=config.weight_decay)
    best, best_step, done, before, timed_from = -math.inf, 0, 0, 0.0, 0.0
    if checkpoint and checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        _restore(state, parameters, optimizer)
        best, best_step, done, before = state["best"], state["best_step"], state["done"], state["seconds"]
        timed_from = state["timed_from"]
        config = replace(config, steps=state["steps"])
        if config.patience and done % config.eval_every == 0 and done - best_step >= config.patience:
            return  # it had stopped early
    start = time.perf_counter()

    def save(seconds: float) -> None:
        if checkpoint:
            numbers = {"best": best, "best_step": best_step, "done": done, "steps": config.steps}
            _save(checkpoint, parameters, optimizer, seconds=seconds, timed_from=timed_from, **numbers)

    while done < config.steps:
        loss = _update(recipe, network, parameters, optimizer, config, done)
        done += 1
        seconds = before + time.perf_counter() - start
        if config.budget_s and seconds >= config.budget_s:  # steps became slower, or ten of them are too many
            config = replace(config, steps=done)
        if config.budget_s and done == TIMED_STEPS[0]:
            timed_from = seconds
        if config.budget_s and done == TIMED_STEPS[1]:
            pace = (seconds - timed_from) / (TIMED_STEPS[1] - TIMED_STEPS[0])
            config = replace(
                config, steps=max(done, min(config.steps, done + int((config.budget_s - seconds) / pace)))
            )
        if done % config.eval_every and done < config.steps:
            try:
                yield Step(done, config.steps, loss, seconds)
            except GeneratorExit:
                if config.anywhere:
                    save(seconds)
                raise
            continue
        score = _score(recipe, network)
        is_best = score > best  # strictly: on a tie the earlier one stays
        if is_best:
            best, best_step = score, done
        seconds = before + time.perf_counter() - start
        save(seconds)
        yield Step(done, config.steps, loss, seconds, score, is_best)
        if config.patience and done - best_step >= config.patience:
            return


def _update(
    recipe: Recipe,
    network: nn.Module,
    parameters: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    config: TrainConfig,
    done: int,
) -> float:
    """One step; returns the loss."""
    network.train()
    torch.manual_seed(config.seed * 1_000_003 + done)  # dropout
    for group in optimizer.param_groups:
        group["lr"] = config.learning_rate * config.rate(done)
    loss = recipe.loss(done)
    if not math.isfinite(value := loss.item()):
        raise LossDiverged(
            f"The loss became {value} at step {done + 1}.",
            hint=f"Try a learning rate below {config.learning_rate:g}.",
        )
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(parameters, config.clip_norm)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return value


def _score(recipe: Recipe, network: nn.Module) -> float:
    network.eval()
    with torch.inference_mode():
        return recipe.score()


def _save(
    path: Path, parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer, **numbers: Any
) -> None:
    """Write a temporary file and rename it, so that a killed run leaves the previous checkpoint."""
    part = path.with_name(f"{path.name}.part")
    state = {"parameters": [p.detach() for p in parameters], "optimizer": optimizer.state_dict(), **numbers}
    torch.save(state, part)
    part.replace(path)


def _restore(state: dict[str, Any], parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
    with torch.no_grad():
        for parameter, value in zip(parameters, state["parameters"], strict=True):
            parameter.copy_(value)
    optimizer.load_state_dict(state["optimizer"])
