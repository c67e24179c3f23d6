"""indexer delete"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.index import show_report
from indexer.cli.output import working


@command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@json_option
@pass_app
def delete(app: App, ids: tuple[str, ...], as_json: bool) -> None:
    """Take documents out, with everything that was mined from them.

    ID is as search prints it. A document comes back when a file that it stands in is indexed again; to take out
    what stands in a file no more: indexer index FILE --delete-missing

    \b
    Example:
      indexer delete arxiv:1405.3939
    """
    with working(app) as progress, app.collection() as collection:
        report = collection.delete(ids, progress=progress)
    show_report(app, report, as_json=as_json)
