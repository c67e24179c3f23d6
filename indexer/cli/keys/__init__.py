"""indexer keys: a group, one file per command."""

from __future__ import annotations

import click

from indexer.cli.app import Group

HERE = "indexer.cli.keys"
SECTIONS = {
    "Commands": {
        "list": f"{HERE}.listing:list_",
        "add": f"{HERE}.add:add",
        "remove": f"{HERE}.remove:remove",
    }
}


@click.group(cls=Group, sections=SECTIONS, default="list")
def keys() -> None:
    """Make and remove keys for the page and the API.

    They are needed when indexer serve listens to other machines. Only hashes are kept, in keys.json of the home.

    \b
    Examples:
      indexer keys
      indexer keys add reading-room --scope read
      indexer keys remove reading-room
    """
