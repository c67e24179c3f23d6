"""indexer train: a command for each recipe of `trainer.registry`, with options from the fields of its options class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from indexer.cli.app import App, Command, Group, json_option, pass_app
from indexer.cli.output import print_json, say, warn, working
from trainer.base.options import EncoderOptions, TrainingOptions, metadata_of
from trainer.registry import RECIPES, options_of

if TYPE_CHECKING:
    from models.bundle import Bundle

F = TypeVar("F", bound=Callable[..., Any])


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 90s, 30m or 2h, in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        from indexer.settings import seconds_of

        seconds = seconds_of(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a time; write 90s, 30m or 2h.", param, ctx)
        return seconds


class RecipeGroup(Group):
    """Makes the command of a recipe when it is called or listed."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return recipe_command(cmd_name) if cmd_name in RECIPES else None


@click.group(cls=RecipeGroup, sections={"Recipes": RECIPES})
def train() -> None:
    """Train an encoder on your own texts; no labels are needed.

    \b
    Example:
      indexer train uctopic --corpus articles.jsonl --budget 30m --name mine
      indexer index articles.jsonl --collection tuned --bundle mine
    """


def recipe_command(recipe: str) -> Command:
    """The command of a recipe; the docstring of its options class is the help."""
    options = options_of(recipe)
    run = json_option(pass_app(partial(_train, options)))
    for name in reversed(metadata_of(options)):
        run = option_of(options, name, recipe if name == "name" else None)(run)
    return click.command(recipe, cls=Command, help=inspect.getdoc(options))(run)


def option_of(options: type[TrainingOptions], name: str, default: Any = None) -> Callable[[F], F]:
    """The click option of a field.

    Args:
        default: In place of the field's own.
    """
    metadata = metadata_of(options)[name]
    default = default or next(one.default for one in fields(options) if one.name == name)
    flags = metadata.get("flags", f"--{name.replace('_', '-')}")
    minimum = metadata.get("minimum")
    absent = default in (None, ()) or (minimum is not None and default < minimum)
    shown = metadata.get(
        "show_default", "/" in flags or (isinstance(default, int | str) and not _is_flag(flags))
    )
    return click.option(
        flags, name,
        type=_type_of(metadata.get("kind"), minimum),
        is_flag=_is_flag(flags) or None,
        multiple=default == (),
        required=metadata.get("required", False),
        show_default=bool(shown) and not absent,
        metavar=metadata.get("metavar"),
        help=metadata["help"] or None,
        **({} if absent else {"default": default}),
    )  # fmt: skip


def _is_flag(flags: str) -> bool:
    return "/" in flags or flags == "--silver"


def _type_of(kind: str | None, minimum: int | None) -> Any:
    """The click type of a field; None lets click take that of the default."""
    if kind == "time":
        return Duration()
    if kind:
        return click.Path(exists=True, dir_okay=kind != "file", file_okay=kind != "folder", path_type=Path)
    return None if minimum is None else click.IntRange(minimum)


def _train(options: type[TrainingOptions], app: App, as_json: bool, **given: Any) -> None:
    """Train from the bundle that the settings name, and print what came out."""
    from models.registry import Registry

    if not any(given.get(name) for name in options.sources):
        named = [f"--{name}" for name in options.sources if name in given]
        raise click.UsageError(f"Nothing to learn from. Name texts: {' or '.join(named)}.")
    settings = app.settings()
    known = {one.name for one in fields(options)}
    places = {name: getattr(settings, name) for name in ("tagger", "threads", "backend") if name in known}
    chosen = options(**places, **{name: value for name, value in given.items() if value is not None})
    with working(app, lines=True) as progress:
        base = Registry(settings.home).get(settings.bundle)
        bundle = chosen.train(base, home=settings.home, progress=progress)
    _say_trained(app, chosen, bundle, as_json=as_json)


def _say_trained(app: App, options: TrainingOptions, bundle: Bundle, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": bundle.name, "folder": str(bundle.folder), "scores": options.scores(bundle)})
        return
    say(f"Bundle '{bundle.name}' is in {bundle.folder}.")
    say(options.summary(bundle))
    if warning := options.warning(bundle):
        warn(warning)
    app.flags.pop("bundle", None)  # where training began
    say(f"Index with it: {app.again(f'index SOURCE --bundle {bundle.name} --collection NAME')}")


corpus_option = option_of(EncoderOptions, "corpus")
budget_option = option_of(EncoderOptions, "budget")
seed_option = option_of(EncoderOptions, "seed")
layers_option = option_of(options_of("hs-gc"), "all_layers")


def steps_option(default: int) -> Callable[[F], F]:
    """Add ``--steps``."""
    return option_of(EncoderOptions, "steps", default)
