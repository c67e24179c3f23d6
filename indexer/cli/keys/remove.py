"""indexer keys remove"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.text import say


@command()
@click.argument("name")
@pass_app
def remove(app: App, name: str) -> None:
    """Remove the key NAME: a server that runs refuses it from now on.

    \b
    Example:
      indexer keys remove nightly-import
    """
    from indexer.keys import Keys

    Keys(app.settings().home).remove(name)
    say(f"key {name} removed")
