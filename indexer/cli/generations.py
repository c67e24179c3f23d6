"""indexer generations: the group and its commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, Group, command, json_option, pass_app
from indexer.cli.output import print_json, say, table
from indexer.export.formatting import clean, moment, size

if TYPE_CHECKING:
    from indexer.cli.app import App
    from indexer.engines.generations import Generations

SECTIONS = {
    "Commands": {
        "list": "indexer.cli.generations:list_",
        "remove": "indexer.cli.generations:remove",
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


@contextmanager
def opened(app: App) -> Iterator[Generations]:
    """For reading, whatever encoder the settings name: it need not fit the live generation."""
    from indexer.engines.registry import open_generations

    with closing(open_generations(app.existing())) as generations:
        yield generations


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


OWNER = "indexer generations remove"


@command()
@click.argument("number", type=click.IntRange(1))
@pass_app
def remove(app: App, number: int) -> None:
    """Delete a generation that is not live, or was left unfinished, with all its rows.

    One that a retrain is building is not removed. `indexer doctor --remove-unfinished` finds what was left.

    \b
    Examples:
      indexer generations remove 2
    """
    from indexer.catalog import Catalog
    from indexer.pipeline.next_generation import discard

    settings = app.existing()
    with Catalog.open(settings.database) as catalog, opened(app) as generations:
        discard(generations, catalog, settings.collection, number, OWNER)
    say(f"generation {number} removed")
