"""indexer models remove"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.models.listing import used_by
from indexer.cli.output import say


@command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_app
def remove(app: App, name: str, yes: bool) -> None:
    """Delete the encoder NAME from the home.

    Shipped ones stay, and so does one that a generation of the collection was mined with.

    \b
    Example:
      indexer models remove my-encoder
    """
    from indexer.errors import QueryError
    from models.registry import Registry

    settings = app.settings()
    registry = Registry(settings.home)
    path = registry.path(name)
    in_home = path.is_relative_to(registry.folder)
    if in_home and (numbers := used_by(settings).of.get(name)):
        raise QueryError(
            f"Generation {numbers[0]} of '{settings.collection}' uses the bundle '{name}'.",
            hint="Its vectors could not be searched by meaning any more.",
        )
    if in_home and not yes:
        click.confirm(f"Delete {path}?", abort=True, err=True)
    registry.remove(name)
    say(f"{name} removed")
