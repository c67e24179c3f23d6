"""indexer generations use"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.generations.opened import locked
from indexer.cli.text import say


@command()
@click.argument("number", type=click.IntRange(1))
@pass_app
def use(app: App, number: int) -> None:
    """Make a generation the live one; the one before is kept.

    \b
    Examples:
      indexer generations use 1
    """
    with locked(app, "indexer generations use") as generations:
        generations.switch(number)
    say(f"generation {number} is live")
