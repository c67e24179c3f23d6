"""indexer generations remove"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.generations.opened import opened
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
    from indexer.catalog import Catalog
    from indexer.succession import complete, remove_generation

    name = app.existing().collection
    with (
        Catalog.open(app.existing().database) as catalog,
        catalog.lock(name, "indexer generations remove"),
        opened(app) as generations,
    ):
        complete(generations, catalog, name)
        remove_generation(generations, catalog, name, number)
    say(f"generation {number} removed")
