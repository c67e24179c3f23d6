"""indexer models: a group, one file per command."""

from __future__ import annotations

import click

from indexer.cli.app import Group

HERE = "indexer.cli.models"
SECTIONS = {
    "Commands": {
        "list": f"{HERE}.listing:list_",
        "show": f"{HERE}.show:show",
        "import": f"{HERE}.importing:import_",
        "remove": f"{HERE}.remove:remove",
    }
}


@click.group(cls=Group, sections=SECTIONS, default="list")
def models() -> None:
    """List, show, import and remove encoders (bundles).

    A bundle is an encoder on disk: a base model, what training has changed in it, and where it comes from.
    Some are shipped with the program; others lie in the home.

    \b
    Examples:
      indexer models
      indexer models show minilm-base
      indexer models import downloads/luke-base --name luke
    """
