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

    One that a retrain is building is not removed.

    \b
    Examples:
      indexer generations remove 2
    """
    from contextlib import ExitStack

    from indexer.catalog import Catalog
    from indexer.succession import building, complete, remove_generation

    name = app.existing().collection
    with Catalog.open(app.existing().database) as catalog, opened(app) as generations, ExitStack() as held:
        if number in [one.number for one in generations.all() if one.state == "unfinished"]:
            held.enter_context(building(catalog, name, OWNER))
        held.enter_context(catalog.lock(name, OWNER))
        complete(generations, catalog, name)
        remove_generation(generations, catalog, name, number)
    say(f"generation {number} removed")
