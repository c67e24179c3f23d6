"""indexer history."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import print_json, say, table
from indexer.export.formatting import clean, duration, moment

if TYPE_CHECKING:
    from indexer.catalog.entries import Run


@command()
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="The last N."
)
@click.option("--all", "every", is_flag=True, help="Those too that found nothing to do.")
@json_option
@pass_app
def history(app: App, limit: int, every: bool, as_json: bool) -> None:
    """List retrains and rollbacks: when, who, what, and why.

    Nights on which there was nothing to do are left out. --json gives the figures too.

    \b
    Examples:
      indexer history
      indexer history --all --limit 100
      indexer history --json
    """
    with app.collection() as collection:
        runs = collection.history(limit, idle=every)
    if as_json:
        print_json([asdict(run) for run in runs])
        return
    rows = [
        (
            moment(run.started_at),
            clean(run.started_by),
            run.kind,
            str(run.counts.get("verdict", run.state)) if run.state == "finished" else run.state,
            duration(_seconds(run)),
            clean(str(run.counts.get("reason") or run.error)),
        )
        for run in runs
    ]
    say(table(rows, head=("started", "by", "what", "verdict", "took", "why")) if rows else "no retrains yet")


def _seconds(run: Run) -> float:
    """How long it was at work; of one that did not end in order, until it was last heard of."""
    ended = run.finished_at or datetime.now(UTC)
    return float(run.counts.get("seconds") or (ended - run.started_at).total_seconds())
