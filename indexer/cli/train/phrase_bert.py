"""indexer train phrase-bert."""

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


@command("phrase-bert")
@corpus_option
@name_option("phrase-bert")
@budget_option
@steps_option(1000)
@lora_option
@licence_option
@seed_option
@json_option
@pass_app
def phrase_bert(
    app: App,
    corpus: tuple[Path, ...],
    name: str,
    budget: float,
    steps: int,
    lora: int,
    licence: str,
    seed: int,
    as_json: bool,
) -> None:
    """Learn vectors for phrases that stand alone (Phrase-BERT, EMNLP 2021).

    A phrase should be nearer to what says the same (a short form, another name, the same words in another order) than
    to another phrase, and nearer to a sentence that it was cut from than to another sentence. The encoder that --bundle
    names is where it starts. Stopped, the same command goes on.

    \b
    Examples:
      indexer train phrase-bert --corpus articles.jsonl --budget 20m
      indexer train phrase-bert --corpus terms/ --name terms --lora 16
      indexer evaluate phrases --data bird.jsonl.gz --bundle phrase-bert
    """
    if not corpus:
        raise click.UsageError("Nothing to learn from. Name texts: --corpus.")
    from trainer.base.loop import TrainConfig
    from trainer.train import PHRASE_BERT_RATE, Sources, TrainingOptions

    settings = app.settings()
    order = TrainingOptions(
        name,
        TrainConfig(
            steps=steps,
            budget_s=budget,
            seed=seed,
            learning_rate=PHRASE_BERT_RATE,
            warmup=max(1, steps // 10),
        ),
        recipe="phrase-bert",
        lora=lora,
        licence=licence,
        tagger=settings.tagger,
        threads=settings.threads,
    )
    train_and_say(app, Sources(corpus), order, as_json=as_json)
