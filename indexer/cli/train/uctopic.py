"""indexer train uctopic."""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.train.shared import (
    SOURCE,
    budget_option,
    corpus_option,
    licence_option,
    lora_option,
    name_option,
    seed_option,
    steps_option,
    train_and_say,
)


@command()
@corpus_option
@click.option("--target", type=SOURCE, multiple=True, metavar="SOURCE",
              help="Texts that the encoder is wanted for: up to half of the lessons come from them.")  # fmt: skip
@click.option("--mentions", type=SOURCE, multiple=True, metavar="FILE",
              help="A target whose phrases are known: JSON Lines with sentence, start, end.")  # fmt: skip
@name_option("uctopic")
@budget_option
@steps_option(600)
@click.option("--ccl", type=click.IntRange(2), metavar="K",
              help="Learn from the K clusters of the texts themselves instead of from pairs.")  # fmt: skip
@lora_option
@licence_option
@seed_option
@json_option
@pass_app
def uctopic(
    app: App,
    corpus: tuple[Path, ...],
    target: tuple[Path, ...],
    mentions: tuple[Path, ...],
    name: str,
    budget: float,
    steps: int,
    ccl: int | None,
    lora: int,
    licence: str,
    seed: int,
    as_json: bool,
) -> None:
    """Learn vectors for phrases in their context (UCTopic, ACL 2022).

    Two sentences that hold the same phrase are a lesson: their vectors for it should be alike, and unlike those of
    other phrases. With --ccl, the clusters that the texts' phrases form are the lessons: that adapts a trained encoder
    to a small collection. The encoder that --bundle names is where it starts. Stopped, the same command goes on.

    \b
    Examples:
      indexer train uctopic --corpus articles.jsonl --budget 30m
      indexer train uctopic --corpus general.jsonl.gz --target mine/ --name mine --lora 16
    """
    if not (corpus or target or mentions):
        raise click.UsageError("Nothing to learn from. Name texts: --corpus, --target or --mentions.")
    from trainer.base.loop import TrainConfig
    from trainer.train import CCL_RATE, Sources, TrainingOptions

    settings = app.settings()
    rate = CCL_RATE if ccl else TrainConfig.learning_rate
    order = TrainingOptions(
        name,
        TrainConfig(steps=steps, budget_s=budget, seed=seed, learning_rate=rate),
        recipe="ccl" if ccl else "uctopic",
        clusters=ccl or 0,
        lora=lora,
        licence=licence,
        tagger=settings.tagger,
        threads=settings.threads,
    )
    train_and_say(app, Sources(corpus, target, mentions), order, as_json=as_json)
