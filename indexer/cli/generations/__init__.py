"""indexer generations: a group, one file per command."""

from __future__ import annotations

import click

from indexer.cli.app import Group

HERE = "indexer.cli.generations"
SECTIONS = {
    "Commands": {
        "list": f"{HERE}.listing:list_",
        "remove": f"{HERE}.remove:remove",
    }
}


@click.group(cls=Group, sections=SECTIONS, default="list")
def generations() -> None:
    """List and remove generations of the collection.

    A generation is everything that was mined with one encoder. `indexer retrain` makes a new one beside the live one, and
    it takes over at once; the one before is kept, and `indexer rollback` goes back to it. Older ones are
    removed then, unless INDEXER_KEEP_GENERATIONS says otherwise.

    \b
    Examples:
      indexer generations
      indexer generations remove 2
    """
