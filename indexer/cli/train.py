"""indexer train: a group; each recipe is a command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from indexer.cli.app import App, Group, command, json_option, pass_app
from indexer.cli.text import print_json, say
from indexer.cli.work import working

SECTIONS = {"Recipes": {"uctopic": "indexer.cli.train:uctopic"}}
UNITS = {"s": 1, "m": 60, "h": 3600}


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 90s, 30m or 2h, in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", str(value).strip().lower())
        if not found:
            self.fail(f"{value!r} is no time; write 90s, 30m or 2h.", param, ctx)
        return float(found[1]) * UNITS[found[2]]


SOURCE = click.Path(exists=True, path_type=Path)


@click.group(cls=Group, sections=SECTIONS)
def train() -> None:
    """Train an encoder on your own texts; no labels are needed.

    \b
    Example:
      indexer train uctopic --corpus articles.jsonl --budget 30m --name mine
      indexer index articles.jsonl --collection tuned --bundle mine
    """


@command()
@click.option("--corpus", type=SOURCE, multiple=True, metavar="SOURCE",
              help="Texts to learn from: files or folders, as for indexer index; may be repeated.")  # fmt: skip
@click.option("--target", type=SOURCE, multiple=True, metavar="SOURCE",
              help="Texts that the encoder is wanted for: half of the lessons come from them.")  # fmt: skip
@click.option("--mentions", type=SOURCE, multiple=True, metavar="FILE",
              help="A target whose phrases are known: JSON Lines with sentence, start, end.")  # fmt: skip
@click.option("--name", default="uctopic", show_default=True, help="Of the new bundle.")
@click.option("--budget", type=Duration(), metavar="TIME", help="Stop in time, for example 30m.")
@click.option("--steps", type=click.IntRange(1), default=1300, show_default=True,
              help="Updates of the weights; fewer when the time is up.")  # fmt: skip
@click.option("--ccl", type=click.IntRange(2), metavar="K",
              help="Learn from the K clusters of the texts themselves instead of from pairs.")  # fmt: skip
@click.option("--lora", type=click.IntRange(0), default=0, show_default=True, metavar="RANK",
              help="Train a small addition to the weights; 0 trains the weights.")  # fmt: skip
@click.option("--licence", default="", help="Of the texts, for the bundle's card.")
@click.option("--seed", type=int, default=0, show_default=True)
@json_option
@pass_app
def uctopic(
    app: App,
    corpus: tuple[Path, ...],
    target: tuple[Path, ...],
    mentions: tuple[Path, ...],
    name: str,
    budget: float | None,
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
    from models.registry import Registry
    from trainer.loop import TrainConfig
    from trainer.train import CCL_RATE, Order, Sources, train_uctopic

    settings = app.settings()
    order = Order(
        name,
        TrainConfig(
            steps=steps,
            budget_s=budget or 0.0,
            seed=seed,
            learning_rate=CCL_RATE if ccl else TrainConfig.learning_rate,
        ),
        clusters=ccl or 0,
        lora=lora,
        licence=licence,
        tagger=settings.tagger,
        threads=settings.threads,
    )
    with working(app) as progress:
        bundle = train_uctopic(
            Registry(settings.home).get(settings.bundle),
            Sources(corpus, target, mentions),
            order,
            home=settings.home,
            progress=progress,
        )
    if as_json:
        print_json({"name": bundle.name, "folder": str(bundle.folder), "scores": dict(bundle.scores)})
        return
    say(f"Bundle '{bundle.name}' is in {bundle.folder}.")
    say(f"{bundle.scores['pairs']:.0%} of the pairs that were held back are found.")
    say(f"Index with it: {app.again(f'index SOURCE --bundle {bundle.name} --collection NAME')}")
