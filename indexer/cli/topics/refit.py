"""indexer topics refit"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.index import show_report
from indexer.cli.work import working


@command()
@click.option("--topics", type=click.IntRange(min=2), metavar="N",
              help="About how many topics to find.  [default: as many as suit the texts]")  # fmt: skip
@json_option
@pass_app
def refit(app: App, topics: int | None, as_json: bool) -> None:
    """Find the topics anew, from what is stored.

    No source is read. A topic that goes on keeps its id and the name that was given by hand; what became of
    the others is recorded (indexer topics show).

    \b
    Example:
      indexer topics refit --topics 40
    """
    with working(app) as progress, app.collection() as collection:
        report = collection.index([], topics=topics, refit=True, progress=progress)
    show_report(app, report, as_json=as_json)
