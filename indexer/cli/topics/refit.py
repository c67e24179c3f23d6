"""indexer topics refit"""

from __future__ import annotations

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.index import show_report
from indexer.cli.options import topics_option
from indexer.cli.output import working


@command()
@topics_option
@json_option
@pass_app
def refit(app: App, topics: str | None, as_json: bool) -> None:
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
