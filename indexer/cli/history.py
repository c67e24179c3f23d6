"""indexer history."""

from __future__ import annotations

from dataclasses import asdict

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.text import print_json, say, table
from indexer.wording import clean, duration, moment


@command()
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="The last N."
)
@json_option
@pass_app
def history(app: App, limit: int, as_json: bool) -> None:
    """List retrains and rollbacks: when, who, what, and why.

    --json gives the figures too.

    \b
    Examples:
      indexer history
      indexer history --json
    """
    with app.collection() as collection:
        runs = collection.history(limit)
    if as_json:
        print_json([asdict(run) for run in runs])
        return
    rows = [
        (
            moment(run.started_at),
            clean(run.started_by),
            run.kind,
            str(run.counts.get("verdict", run.state)) if run.state == "finished" else run.state,
            duration(run.counts.get("seconds", 0.0)),
            clean(str(run.counts.get("reason") or run.error)),
        )
        for run in runs
    ]
    say(table(rows, head=("started", "by", "what", "verdict", "took", "why")) if rows else "no retrains yet")
