"""indexer retry"""

from __future__ import annotations

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.index import show_report
from indexer.cli.work import working


@command()
@json_option
@pass_app
def retry(app: App, as_json: bool) -> None:
    """Do again what could not be processed before.

    Reads the files of the dead letters once more, and mines what was stored and not mined. What succeeds
    leaves the list; what fails again stays on it. See the list: indexer status --dead

    \b
    Example:
      indexer retry
    """
    with working(app) as progress, app.collection() as collection:
        report = collection.retry(progress=progress)
    show_report(app, report, as_json=as_json)
