"""indexer keys add"""

from __future__ import annotations

from typing import Any

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.text import say


@command()
@click.argument("name")
@click.option("--scope", type=click.Choice(["read", "write", "admin"]), default="read", show_default=True,
              help="read: search and look; write: also index, rename and retry; admin: also retrain.")  # fmt: skip
@pass_app
def add(app: App, name: str, scope: Any) -> None:
    """Make a key called NAME, and print it.

    It is shown this once. Programs send it as "Authorization: Bearer KEY"; people type it on the page.

    \b
    Example:
      indexer keys add nightly-import --scope write
    """
    from indexer.keys import Keys

    settings = app.settings()
    settings.make_home()
    say(Keys(settings.home).add(name, scope))
