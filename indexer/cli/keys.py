"""indexer keys: the group and its commands."""

from __future__ import annotations

from typing import Any

import click

from indexer.cli.app import App, Group, command, json_option, pass_app
from indexer.cli.output import print_json, say, table

SECTIONS = {
    "Commands": {
        "list": "indexer.cli.keys:list_",
        "add": "indexer.cli.keys:add",
        "remove": "indexer.cli.keys:remove",
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
    from indexer.web.api_keys import Keys

    settings = app.settings()
    settings.make_home()
    say(Keys(settings.home).add(name, scope))


@command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List the keys: names, scopes, when they were made.

    \b
    Examples:
      indexer keys
      indexer keys list --json
    """
    from indexer.web.api_keys import Keys

    found = Keys(app.settings().home).all()
    if as_json:
        print_json([{"name": key.name, "scope": key.scope, "made": key.made} for key in found])
    else:
        rows = [(key.name, key.scope, key.made) for key in found]
        say(table(rows, head=("name", "scope", "made")) if rows else "no keys")


@command()
@click.argument("name")
@pass_app
def remove(app: App, name: str) -> None:
    """Remove the key NAME: a server that runs refuses it from now on.

    \b
    Example:
      indexer keys remove nightly-import
    """
    from indexer.web.api_keys import Keys

    Keys(app.settings().home).remove(name)
    say(f"key {name} removed")
