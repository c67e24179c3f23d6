"""What the recipes share: texts, time, the name of the bundle, and what is said at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.cli.app import App
from indexer.cli.output import print_json, say, warn, working
from indexer.export.formatting import count

if TYPE_CHECKING:
    from models.bundle import Bundle
    from trainer.train import Sources, TrainingOptions

F = TypeVar("F", bound=Callable[..., Any])

SOURCE = click.Path(exists=True, path_type=Path)


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 90s, 30m or 2h, in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        from indexer.settings import seconds_of

        seconds = seconds_of(str(value))
        if seconds is None:
            self.fail(f"{value!r} is no time; write 90s, 30m or 2h.", param, ctx)
        return seconds


corpus_option = click.option(
    "--corpus", type=SOURCE, multiple=True, metavar="SOURCE",
    help="Texts to learn from: files or folders, as for indexer index; may be repeated.",
)  # fmt: skip
budget_option = click.option(
    "--budget", type=Duration(), default="0s", metavar="TIME", help="Stop in time, for example 30m."
)
lora_option = click.option(
    "--lora", type=click.IntRange(0), default=0, show_default=True, metavar="RANK",
    help="Train a small addition to the weights; 0 trains the weights.",
)  # fmt: skip
licence_option = click.option("--licence", default="", help="Of the texts, for the bundle's card.")
layers_option = click.option(
    "--all-layers/--own-layers", default=True, show_default=True,
    help="Make documents the mean over all layers, as in the paper, or keep the encoder's own.",
)  # fmt: skip
seed_option = click.option("--seed", type=int, default=0, show_default=True)


def name_option(default: str) -> Callable[[F], F]:
    """Add ``--name``."""
    return click.option("--name", default=default, show_default=True, help="Of the new bundle.")


def steps_option(default: int) -> Callable[[F], F]:
    """Add ``--steps``."""
    return click.option(
        "--steps", type=click.IntRange(1), default=default, show_default=True,
        help="Updates of the weights; fewer when the time is up.",
    )  # fmt: skip


def train_and_say(app: App, sources: Sources, order: TrainingOptions, *, as_json: bool) -> None:
    """Train from the bundle that the settings name, and tell what came out."""
    # Imported here: the help must not wait for torch.
    from models.registry import Registry
    from trainer.train import train_bundle

    settings = app.settings()
    with working(app, lines=True) as progress:
        base = Registry(settings.home).get(settings.bundle)
        bundle = train_bundle(base, sources, order, home=settings.home, progress=progress)
    say_trained(app, bundle, as_json=as_json)


def say_trained(app: App, bundle: Bundle, *, as_json: bool) -> None:
    """Tell what came out, and what to do with it."""
    if as_json:
        print_json({"name": bundle.name, "folder": str(bundle.folder), "scores": dict(bundle.scores)})
        return
    from trainer.base.job import FEW

    say(f"Bundle '{bundle.name}' is in {bundle.folder}.")
    say(f"{bundle.scores['held_back']:.0%} of what was held back is answered right.")
    steps = int(bundle.scores.get("steps", FEW))  # a bundle of an earlier version may not say
    if steps < FEW:
        warn(
            f"Only {count(steps, 'step')}: it has hardly learned anything. Give it more (--steps, --budget)."
        )
    app.flags.pop("bundle", None)  # where training began
    say(f"Index with it: {app.again(f'index SOURCE --bundle {bundle.name} --collection NAME')}")
