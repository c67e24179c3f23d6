"""indexer rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import print_json, say, working
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.runs.rollback import RollbackReport


@command()
@click.option("--to", type=click.IntRange(1), metavar="N",
              help="Generation to go to, also a later one; without it, the one that the live one replaced.")  # fmt: skip
@json_option
@pass_app
def rollback(app: App, to: int | None, as_json: bool) -> None:
    """Go back to the generation before the last retrain.

    Its answers are back at once, with topics and names. What came, changed or went since is there too: by words and
    facets from the first moment; by meaning when it has been mined, which this command does then. Killed, the
    same command goes on. `indexer generations` lists what there is to go to.

    \b
    Examples:
      indexer rollback
      indexer rollback --to 3 --json
    """
    with app.collection() as collection, working(app, resumable=True) as progress:
        report = collection.rollback(to, switched=_told, progress=progress)
    if as_json:
        print_json(report.counts())
        return
    say(f"{report.verdict}: {clean(report.reason)}")
    if report.mined or report.failed:
        say(f"{report.mined:,} documents mined, {report.failed:,} failed, in {report.seconds:.1f} s")


def _told(report: RollbackReport) -> None:
    click.echo(
        f"Generation {report.generation} is live after {report.switched_after:.1f} s. Mining what came since.",
        err=True,
    )
