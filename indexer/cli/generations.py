"""indexer generations, rollback, history: the generations of a collection, and the retrains that made them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, Group, command, json_option, pass_app
from indexer.cli.output import print_json, say, show_result, table, working
from indexer.export.formatting import clean, duration, moment, size

if TYPE_CHECKING:
    from indexer.catalog.entries import Run
    from indexer.engines.generations import Generations
    from indexer.runs.rollback import RollbackReport

OWNER = "indexer generations remove"  # of the lock
GENERATIONS_HEAD = ("number", "state", "bundle", "documents", "size", "made")
HISTORY_HEAD = ("started", "by", "what", "verdict", "took", "why")


@click.group(cls=Group, default="list")
def generations() -> None:
    """List and remove generations of the collection.

    A generation is everything that was mined with one encoder. `indexer retrain` builds a new one next to the live one
    and switches to it in one step; the previous one is kept, and `indexer rollback` switches back. The switch removes
    older ones, unless INDEXER_KEEP_GENERATIONS keeps more.

    \b
    Examples:
      indexer generations
      indexer generations remove 2
    """


@generations.command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List the generations: live, kept, or left unfinished.

    \b
    Examples:
      indexer generations
      indexer generations list --json
    """
    with _opened(app) as generations:
        found = generations.all()
    rows = [
        (str(g.number), g.state, clean(g.bundle) or "-", f"{g.documents:,}", size(g.bytes), moment(g.created))
        for g in found
    ]
    text = table(rows, head=GENERATIONS_HEAD, right=(0, 3, 4)) or "no generations"
    show_result([asdict(generation) for generation in found], text, as_json=as_json)


@generations.command()
@json_option
@pass_app
def reindex(app: App, as_json: bool) -> None:
    """Copy the live generation into new indices, and switch to them; nothing is mined.

    For a collection that an earlier version made in Elasticsearch: its rows get the present, smaller form. It is
    searched and written concurrently. Stopped, the same command resumes. The old indices are kept: `indexer rollback`
    switches back, `indexer generations remove` deletes them.

    \b
    Examples:
      indexer generations reindex
    """
    with app.collection() as collection, working(app) as progress:
        report = collection.reindex(progress=progress)
    text = (
        f"Generation {report.generation} is live: {report.documents:,} documents copied in "
        f"{duration(report.seconds)}. Generation {report.replaced} is kept."
    )
    show_result(asdict(report), text, as_json=as_json)


@generations.command()
@click.argument("number", type=click.IntRange(1))
@pass_app
def remove(app: App, number: int) -> None:
    """Delete a kept or unfinished generation, with all its rows.

    A generation that a retrain is building is not removed. `indexer doctor --remove-unfinished` finds abandoned ones.

    \b
    Examples:
      indexer generations remove 2
    """
    from indexer.catalog import Catalog
    from indexer.pipeline.next_generation import discard

    settings = app.existing()
    with Catalog.open(settings.database) as catalog, _opened(app) as generations:
        discard(generations, catalog, settings.collection, number, OWNER)
    say(f"generation {number} removed")


@contextmanager
def _opened(app: App) -> Iterator[Generations]:
    """Open the generations for any encoder in the settings: it need not fit the live one."""
    from indexer.engines.registry import open_generations

    with closing(open_generations(app.existing())) as generations:
        yield generations


@command()
@click.option("--to", type=click.IntRange(1), metavar="N",
              help="Generation to switch to, older or newer.  [default: the one before]")  # fmt: skip
@json_option
@pass_app
def rollback(app: App, to: int | None, as_json: bool) -> None:
    """Switch back to the generation before the last retrain.

    Its topics, names and search results are back at once. Later changes of documents are kept: found by words and
    facets at once; by meaning when they are mined, which this command does next. The same command resumes an
    interrupted rollback. `indexer generations` lists the choices.

    \b
    Examples:
      indexer rollback
      indexer rollback --to 3 --json
    """
    with app.collection() as collection, working(app, resumable=True) as progress:
        report = collection.rollback(to, switched=_report_switch, progress=progress)
    if as_json:
        print_json(report.counts())
        return
    say(f"{report.verdict}: {clean(report.reason)}")
    if report.mined or report.failed:
        say(f"{report.mined:,} documents mined, {report.failed:,} failed, in {report.seconds:.1f} s")


def _report_switch(report: RollbackReport) -> None:
    click.echo(
        f"Generation {report.generation} is live after {report.switched_after:.1f} s. Mining later changes.",
        err=True,
    )


@command()
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Number of runs."
)
@click.option("--all", "idle", is_flag=True, help="Include runs that found nothing to do.")
@json_option
@pass_app
def history(app: App, limit: int, idle: bool, as_json: bool) -> None:
    """List retrains and rollbacks: time, user, verdict, reason.

    Runs that found nothing to do are left out. --json includes the scores.

    \b
    Examples:
      indexer history
      indexer history --all --limit 100
      indexer history --json
    """
    with app.collection() as collection:
        runs = collection.history(limit, idle=idle)
    text = table([_history_row(run) for run in runs], head=HISTORY_HEAD) or "no retrains yet"
    show_result([asdict(run) for run in runs], text, as_json=as_json)


def _history_row(run: Run) -> tuple[str, ...]:
    ended = run.finished_at or datetime.now(UTC)  # of an interrupted run, its last sign of life
    seconds = float(run.counts.get("seconds") or (ended - run.started_at).total_seconds())
    return (
        moment(run.started_at),
        clean(run.started_by),
        run.kind,
        str(run.counts.get("verdict", run.state)) if run.state == "finished" else run.state,
        duration(seconds),
        clean(str(run.counts.get("reason") or run.error)),
    )
