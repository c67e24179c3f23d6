"""indexer generations: a group, one file per command."""

from __future__ import annotations

import click

from indexer.cli.app import Group

HERE = "indexer.cli.generations"
SECTIONS = {
    "Commands": {
        "list": f"{HERE}.listing:list_",
        "use": f"{HERE}.use:use",
        "remove": f"{HERE}.remove:remove",
    }
}


@click.group(cls=Group, sections=SECTIONS, default="list")
def generations() -> None:
    """List, change and remove generations of the collection.

    A generation is everything that was mined with one encoder. A new one is made beside the live one and takes over
    at once; the one before is kept until you remove it.

    \b
    Examples:
      indexer generations
      indexer generations use 1
      indexer generations remove 2
    """
