"""indexer index"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.options import reading_options, sources_argument, topics_option
from indexer.cli.output import (
    near,
    print_json,
    say,
    warn,
    working,
)
from indexer.export.formatting import count, duration

if TYPE_CHECKING:
    from indexer.pipeline.run import RunReport
    from indexer.readers import ReadOptions
    from indexer.settings import Settings


ENOUGH_FOR_A_RATE = 100  # documents; before that, most of the time goes into starting


@command()
@sources_argument
@reading_options
@topics_option
@click.option("--refit-topics", is_flag=True, help="Find the topics anew; ids go on where a topic does.")
@click.option("--delete-missing", is_flag=True,
              help="Remove documents that came from these sources and are not in them any more.")  # fmt: skip
@click.option("--no-workers", is_flag=True, help="Do it all here, although a broker is set.")
@click.option("--no-wait", is_flag=True, help="Store, hand over to the workers, and do not wait for them.")
@click.option("--strict", is_flag=True, help="Exit with 1 when anything could not be processed.")
@json_option
@pass_app
def index(
    app: App,
    sources: tuple[Path, ...],
    options: ReadOptions,
    topics: str | None,
    refit_topics: bool,
    delete_missing: bool,
    no_workers: bool,
    no_wait: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Read files and folders, mine them, and make them searchable.

    SOURCE is a file (jsonl, csv, tsv, txt, md, html, pdf, docx; also .gz), a folder with such files, or - for
    JSON Lines from standard input. Given again, only what changed is done. What cannot be read is reported,
    kept in a list (indexer status --dead), and never stops the run. With a broker (INDEXER_BROKER), workers do
    the mining, and this waits for them.

    \b
    Examples:
      indexer index articles.jsonl
      indexer index papers/ notes/ --topics 40
      indexer index reviews.csv --text-field review --title-field product
      zcat dump.jsonl.gz | indexer index -
    """
    settings = app.settings()
    if no_wait:
        _check_workers(settings, no_workers)
    with working(app) as progress, app.collection(settings, make=True) as collection:
        _tell_of_other_encoder(app, collection.settings)
        report = collection.index(
            list(sources), options=options, topics=topics, refit=refit_topics, delete_missing=delete_missing,
            workers=not no_workers, wait=not no_wait, progress=progress,
        )  # fmt: skip
    show_report(app, report, as_json=as_json)
    if strict and report.failed:
        click.get_current_context().exit(1)


def _tell_of_other_encoder(app: App, settings: Settings) -> None:
    """--bundle is for a new collection: one that there is goes on with its encoder, and that should be known."""
    option = "encoder" if "encoder" in app.flags else "bundle"
    requested = app.flags.get(option)
    if requested and requested != settings.bundle:
        warn(
            f"Collection '{settings.collection}' goes on with its encoder '{settings.bundle}': --{option} {requested} "
            "would count for a new one (--collection NAME)."
        )


def _check_workers(settings: Settings, no_workers: bool) -> None:
    """Whether there is anybody to leave the mining to."""
    from indexer.errors import SettingsError

    if no_workers:
        raise click.UsageError("--no-wait leaves the mining to workers, and --no-workers does it here.")
    if not settings.broker:
        raise SettingsError(
            "--no-wait leaves the mining to workers, and there is no broker that could tell them.",
            hint="Set INDEXER_BROKER, as docs/workers.md says, or leave --no-wait out.",
        )


def show_report(app: App, report: RunReport, *, as_json: bool) -> None:
    """What a run did: to stdout. The rest to stderr."""
    if as_json:
        from dataclasses import asdict

        print_json({**asdict(report), "nothing_changed": report.nothing_changed})
    elif report.nothing_changed:
        say("nothing changed")
    else:
        say("\n".join(_summary(app, report)))
    show_warnings(app, report)


def show_warnings(app: App, report: RunReport) -> None:
    """What a run could not do, and what else should be known."""
    for note in report.notes:
        click.echo(f"Note: {near(note)}", err=True)
    if report.outgrown:
        warn(
            f"{count(report.without_topic, 'document')} got no topic: they are unlike those that the topics were "
            f"found in. Find topics anew: {app.again('topics refit')}"
        )
    if report.failed:
        _show_problems(app, report)


def _summary(app: App, report: RunReport) -> list[str]:
    lines = []
    if report.read or report.deleted or report.failed:  # a refit reads nothing
        lines.append(
            f"{count(report.read, 'document')} read: {report.new:,} new, {report.changed:,} changed, "
            f"{report.unchanged:,} unchanged, {report.deleted:,} deleted, {report.failed:,} failed"
        )
    if report.mined:
        telling = report.mined >= ENOUGH_FOR_A_RATE and report.seconds
        speed = f", {report.mined / report.seconds:.1f} a second" if telling else ""
        lines.append(f"{count(report.mined, 'document')} mined in {duration(report.seconds)}{speed}")
    if report.taken_over:
        lines.append(f"{count(report.taken_over, 'document')} finished that an earlier run had mined")
    if report.left_to_workers and not report.mined:
        lines.append(
            f"{count(report.left_to_workers, 'document')} left to the workers: {app.again('status --watch')}"
        )
    if report.topics:
        lines.append(f"{count(report.topics, 'topic')}{' found' if report.new_fit else ''}")
    return lines


def _show_problems(app: App, report: RunReport) -> None:
    for problem in report.problems:
        click.echo(near(problem), err=True)
    more = report.failed - len(report.problems)
    warn(
        f"{count(report.failed, 'problem')}{f', {more:,} of them not shown' if more > 0 else ''}. "
        f"See them: {app.again('status --dead')}. Try them again: {app.again('retry')}"
    )
