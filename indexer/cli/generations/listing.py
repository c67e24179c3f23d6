"""indexer generations list"""

from __future__ import annotations

from dataclasses import asdict

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.generations.opened import opened
from indexer.cli.text import print_json, say, table
from indexer.wording import clean, moment, size


@command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List the generations: live, kept, or left unfinished.

    \b
    Examples:
      indexer generations
      indexer generations list --json
    """
    with opened(app) as generations:
        found = generations.all()
    if as_json:
        print_json([asdict(generation) for generation in found])
        return
    rows = [
        (str(g.number), g.state, clean(g.bundle) or "-", f"{g.documents:,}", size(g.bytes), moment(g.created))
        for g in found
    ]
    head = ("number", "state", "bundle", "documents", "size", "made")
    say(table(rows, head=head, right=(0, 3, 4)) if rows else "no generations")
