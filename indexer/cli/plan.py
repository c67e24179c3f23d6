"""indexer plan"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.options import reading_options, sources_argument
from indexer.cli.output import near, print_json, say, working
from indexer.export.formatting import count, duration

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.readers import ReadOptions
    from indexer.runs.plan import Plan


@command()
@sources_argument
@reading_options
@json_option
@pass_app
def plan(app: App, sources: tuple[Path, ...], options: ReadOptions, as_json: bool) -> None:
    """Show what indexing these sources would do; write nothing.

    Reads the sources and compares them with the collection: how many documents are new, changed or gone, what
    cannot be read, about how much disk and time a run needs. The time is known from earlier runs only.

    \b
    Examples:
      indexer plan articles.jsonl notes/
      indexer plan dump.csv --text-field body --json
    """
    with working(app, resumable=False), _look(app) as collection:
        found = collection.plan(list(sources), options=options)
    if as_json:
        print_json(asdict(found))
        return
    say("\n".join(_lines(found)))
    for problem in found.problems:
        click.echo(near(problem), err=True)


def _lines(found: Plan) -> Iterator[str]:
    yield (
        f"{count(found.documents, 'document')}: {found.new:,} new, {found.changed:,} changed, "
        f"{found.unchanged:,} unchanged"
    )
    if found.unreadable:
        yield f"{count(found.unreadable, 'problem')} in reading"
    if found.missing:
        yield f"{count(found.missing, 'document')} not in these sources any more (--delete-missing removes them)"
    if found.new or found.changed:
        time = (
            f"about {duration(found.seconds)}"
            if found.seconds is not None
            else "time unknown before a first run"
        )
        yield f"about {found.megabytes:,} MB more on disk, {time}"
    yield "nothing was written"


def _look(app: App) -> AbstractContextManager[Collection]:
    """The collection; an empty one aside when there is none, so that a plan leaves no trace."""
    from indexer.errors import NotFound

    settings = app.settings()
    try:
        return app.collection(settings)
    except NotFound:
        return app.aside(settings)
