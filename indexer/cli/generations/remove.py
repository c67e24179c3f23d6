"""indexer generations remove"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.generations.opened import opened
from indexer.cli.text import say

OWNER = "indexer generations remove"


@command()
@click.argument("number", type=click.IntRange(1))
@pass_app
def remove(app: App, number: int) -> None:
    """Delete a generation that is not live, or was left unfinished, with all its rows.

    One that a retrain is building is not removed. `indexer doctor --remove-unfinished` finds what was left.

    \b
    Examples:
      indexer generations remove 2
    """
    from indexer.catalog import Catalog
    from indexer.succession import discard

    settings = app.existing()
    with Catalog.open(settings.database) as catalog, opened(app) as generations:
        discard(generations, catalog, settings.collection, number, OWNER)
    say(f"generation {number} removed")
