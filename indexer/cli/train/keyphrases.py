"""indexer train keyphrases."""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.train.shared import (
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
@name_option("keyphrases")
@budget_option
@steps_option(600)
@click.option("--encoder/--no-encoder", default=True, show_default=True,
              help="Train the encoder too, or only how phrases weigh against their text.")  # fmt: skip
@lora_option
@licence_option
@seed_option
@json_option
@pass_app
def keyphrases(
    app: App,
    corpus: tuple[Path, ...],
    name: str,
    budget: float,
    steps: int,
    encoder: bool,
    lora: int,
    licence: str,
    seed: int,
    as_json: bool,
) -> None:
    """Learn which phrases, taken together, say what a text says (SEKE 2022).

    The phrases of a text are weighed so that their sum is nearer to it than the texts most like it are. The encoder
    that --bundle names is where it starts. Stopped, the same command goes on.

    \b
    Examples:
      indexer train keyphrases --corpus articles.jsonl --budget 10m
      indexer train keyphrases --corpus articles.jsonl --no-encoder --name weighed
    """
    if not corpus:
        raise click.UsageError("Nothing to learn from. Name texts: --corpus.")
    from trainer.base.loop import TrainConfig
    from trainer.train import SEKE_RATE, Sources, TrainingOptions

    settings = app.settings()
    order = TrainingOptions(
        name,
        TrainConfig(steps=steps, budget_s=budget, seed=seed, learning_rate=SEKE_RATE),
        recipe="seke",
        whole=encoder,
        lora=lora,
        licence=licence,
        tagger=settings.tagger,
        threads=settings.threads,
    )
    train_and_say(app, Sources(corpus), order, as_json=as_json)
