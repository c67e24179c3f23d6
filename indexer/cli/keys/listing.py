"""indexer keys list"""

from __future__ import annotations

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.text import print_json, say, table


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
    from indexer.keys import Keys

    found = Keys(app.settings().home).all()
    if as_json:
        print_json([{"name": key.name, "scope": key.scope, "made": key.made} for key in found])
    else:
        rows = [(key.name, key.scope, key.made) for key in found]
        say(table(rows, head=("name", "scope", "made")) if rows else "no keys")
