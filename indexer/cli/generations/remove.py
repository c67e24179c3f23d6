"""indexer generations remove"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.generations.opened import locked
from indexer.cli.text import say


@command()
@click.argument("number", type=click.IntRange(1))
@pass_app
def remove(app: App, number: int) -> None:
    """Delete a generation that is not live, or was left unfinished, with all its rows.

    \b
    Examples:
      indexer generations remove 2
    """
    with locked(app, "indexer generations remove") as generations:
        generations.remove(number)
    say(f"generation {number} removed")
