"""indexer topics: a group, one file per command."""

from __future__ import annotations

import click

from indexer.cli.app import Group

HERE = "indexer.cli.topics"
SECTIONS = {
    "Commands": {
        "list": f"{HERE}.listing:list_",
        "show": f"{HERE}.show:show",
        "why": f"{HERE}.why:why",
        "history": f"{HERE}.history:history",
        "rename": f"{HERE}.rename:rename",
        "merge": f"{HERE}.merge:merge",
        "refit": f"{HERE}.refit:refit",
        "export": f"{HERE}.export:export",
    }
}


@click.group(cls=Group, sections=SECTIONS, default="list")
def topics() -> None:
    """List, explain, name and merge the mined topics.

    A topic's id (t-000042) is permanent: it stays through every later run. Wherever a TOPIC is asked for, the
    id, its number (42) or its label will do.

    \b
    Examples:
      indexer topics
      indexer topics show 3
      indexer topics rename 3 'Ocean waves'
    """
