"""indexer index, plan, retry, delete: everything that reads or removes documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_of, json_option, pass_app
from indexer.cli.options import levels_option, reading_options, sources_argument, topics_option
from indexer.cli.output import near, print_json, say, show_result, warn, working
from indexer.export.formatting import count, duration

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.pipeline.run import RunReport
    from indexer.readers import ReadOptions
    from indexer.runs.plan import Plan
    from indexer.settings import Settings

MIN_FOR_A_RATE = 100  # documents; with fewer, most of the time is startup


@command()
@sources_argument
@reading_options
@topics_option
@levels_option
@click.option("--refit-topics", is_flag=True, help="Find topics again; continued topics keep their ids.")
@click.option("--delete-missing", is_flag=True,
              help="Delete documents that came from these sources and are no longer in them.")  # fmt: skip
@click.option("--no-workers", is_flag=True, help="Mine in this process, even with a broker.")
@click.option("--no-wait", is_flag=True, help="Store the documents, queue them for workers, and return.")
@click.option("--strict", is_flag=True, help="Exit with 1 if anything could not be processed.")
@json_of("counts (read, new, changed, unchanged, deleted, mined, failed, topics, duplicates), problems (the first), "
         "notes, new_fit, seconds, stages, nothing_changed")  # fmt: skip
@pass_app
def index(
    app: App,
    sources: tuple[Path, ...],
    options: ReadOptions,
    topics: str | None,
    levels: str | None,
    refit_topics: bool,
    delete_missing: bool,
    no_workers: bool,
    no_wait: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Read files and folders, mine them, and make them searchable.

    SOURCE is a file (such as jsonl, csv, txt, md or pdf; also .gz), a folder of such files, or - for
    JSON Lines from standard input. A repeated run processes only changes. Unreadable records are reported, listed
    (indexer status --dead), and never stop the run. With a broker (INDEXER_BROKER), workers do the mining, and this
    command waits for them.

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
        _warn_of_other_encoder(app, collection.settings)
        report = collection.index(
            list(sources), options=options, topics=topics, levels=levels, refit=refit_topics,
            delete_missing=delete_missing, workers=not no_workers, wait=not no_wait, progress=progress,
        )  # fmt: skip
    show_report(app, report, as_json=as_json, nothing=_nothing_done(report, sources))
    if strict and report.failed:
        click.get_current_context().exit(1)


@command()
@sources_argument
@reading_options
@json_option
@pass_app
def plan(app: App, sources: tuple[Path, ...], options: ReadOptions, as_json: bool) -> None:
    """Show what indexing these sources would do; write nothing.

    Reads the sources and compares them with the collection: the number of new, changed and missing documents, what
    cannot be read, and an estimate of disk space and time. The time comes from earlier runs.

    \b
    Examples:
      indexer plan articles.jsonl notes/
      indexer plan dump.csv --text-field body --json
    """
    with working(app, resumable=False), _existing_or_empty(app) as collection:
        found = collection.plan(list(sources), options=options)
    if as_json:
        print_json(asdict(found))
        return
    say("\n".join(_plan_lines(found)))
    for problem in found.problems:
        click.echo(near(problem), err=True)


@command()
@click.option("--drop", multiple=True, metavar="NUMBER|STAGE|all",
              help="Remove these from the list without a retry. Several: --drop 3 --drop 4")  # fmt: skip
@json_option
@pass_app
def retry(app: App, drop: tuple[str, ...], as_json: bool) -> None:
    """Process again what failed before.

    Reads the files of the dead letters again, and mines what was stored but not mined. Successes leave the list,
    failures stay. A document that has a newer version from another file stays as it is. The list: indexer status --dead

    \b
    Examples:
      indexer retry
      indexer retry --drop 3
      indexer retry --drop read
    """
    if drop:
        with app.collection() as collection:
            dropped = _drop(collection, drop)
        show_result({"dismissed": dropped}, f"{count(dropped, 'dead letter')} dropped", as_json=as_json)
        return
    with working(app) as progress, app.collection() as collection:
        report = collection.retry(progress=progress)
    show_report(app, report, as_json=as_json)


@command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@json_option
@pass_app
def delete(app: App, ids: tuple[str, ...], as_json: bool) -> None:
    """Delete documents, with everything that was mined from them.

    ID is as search prints it. A document comes back when a file that contains it is indexed again; to delete what
    a file no longer contains: indexer index FILE --delete-missing

    \b
    Example:
      indexer delete arxiv:1405.3939
    """
    with working(app) as progress, app.collection() as collection:
        report = collection.delete(ids, progress=progress)
    show_report(app, report, as_json=as_json)


# -- before a run -------------------------------------------------------------------------------------------


def _warn_of_other_encoder(app: App, settings: Settings) -> None:
    """Warn that an existing collection ignores --bundle and --encoder."""
    option = "encoder" if "encoder" in app.flags else "bundle"
    requested = app.flags.get(option)
    if requested and requested != settings.bundle:
        warn(
            f"Collection '{settings.collection}' keeps its encoder '{settings.bundle}': --{option} {requested} "
            "applies to a new one (--collection NAME)."
        )


def _check_workers(settings: Settings, no_workers: bool) -> None:
    """Check that --no-wait has workers to queue for."""
    from indexer.errors import SettingsError

    if no_workers:
        raise click.UsageError("--no-wait leaves the mining to workers, and --no-workers does it here.")
    if not settings.broker:
        raise SettingsError(
            "--no-wait leaves the mining to workers, and no broker is set.",
            hint="Set INDEXER_BROKER, as docs/workers.md says, or leave --no-wait out.",
        )


def _existing_or_empty(app: App) -> AbstractContextManager[Collection]:
    """Open the collection, or a temporary empty one if there is none, so that a plan leaves no trace."""
    from indexer.errors import NotFound

    settings = app.settings()
    try:
        return app.collection(settings)
    except NotFound:
        return app.aside(settings)


def _drop(collection: Collection, names: tuple[str, ...]) -> int:
    """Dismiss dead letters by number, by stage, or all; return their number."""
    from indexer.catalog.entries import STAGES

    numbers = [int(name) for name in names if name.isdecimal()]
    stages = STAGES if "all" in names else tuple(stage for stage in STAGES if stage in names)
    unknown = [name for name in names if not name.isdecimal() and name not in (*STAGES, "all")]
    existing = {letter.id for letter in collection.dead_letters()}
    unknown += [str(number) for number in numbers if number not in existing]
    if unknown:
        raise click.UsageError(
            f"There is no dead letter and no stage '{unknown[0]}'. See the list: indexer status --dead"
        )
    dropped = collection.dismiss(numbers)
    return dropped + (collection.dismiss(stages=stages) if stages else 0)


# -- after a run --------------------------------------------------------------------------------------------


def _plan_lines(found: Plan) -> Iterator[str]:
    yield (
        f"{count(found.documents, 'document')}: {found.new:,} new, {found.changed:,} changed, "
        f"{found.unchanged:,} unchanged"
    )
    if found.unreadable:
        yield f"{count(found.unreadable, 'problem')} in reading"
    if found.missing:
        yield f"{count(found.missing, 'document')} not in these sources any more (--delete-missing removes them)"
    if found.new or found.changed:
        known = found.seconds is not None
        time = f"about {duration(found.seconds or 0)}" if known else "time unknown before a first run"
        yield f"about {found.megabytes:,} MB more on disk, {time}"
    yield "nothing was written"


def _nothing_done(report: RunReport, sources: Sequence[Path]) -> str:
    """Say why a run changed nothing."""
    if report.read:
        return "nothing changed"
    from indexer.readers.registry import FORMATS

    suffixes = ", ".join(f".{suffix}" for suffix in FORMATS)
    return (
        f"No readable document was found in {', '.join(map(str, sources))}. These files are read: {suffixes}."
    )


def show_report(app: App, report: RunReport, *, as_json: bool, nothing: str = "nothing changed") -> None:
    """Print the results of a run to stdout, its warnings to stderr. Exit code 1 where everything failed."""
    if as_json:
        print_json({**asdict(report), "nothing_changed": report.nothing_changed})
    else:
        say(nothing if report.nothing_changed else "\n".join(_summary(app, report)))
    show_warnings(app, report)
    if report.failed and not (report.read or report.deleted or report.mined or report.taken_over):
        raise SystemExit(1)


def show_warnings(app: App, report: RunReport) -> None:
    """Print what a run could not do, and its notes."""
    for note in report.notes:
        click.echo(f"Note: {near(note)}", err=True)
    if report.outgrown:
        warn(
            f"{count(report.without_topic, 'document')} got no topic: they are not similar to any. "
            f"Find topics again: {app.again('topics refit')}"
        )
    for problem in report.problems:
        click.echo(near(problem), err=True)
    if report.failed:
        more = report.failed - len(report.problems)
        warn(
            f"{count(report.failed, 'problem')}{f', {more:,} of them not listed' if more > 0 else ''}. "
            f"See them: {app.again('status --dead')}. Try them again: {app.again('retry')}"
        )


def _summary(app: App, report: RunReport) -> Iterator[str]:
    if report.read or report.deleted or report.failed:  # a refit reads nothing
        yield (
            f"{count(report.read, 'document')} read: {report.new:,} new, {report.changed:,} changed, "
            f"{report.unchanged:,} unchanged, {report.deleted:,} deleted, {report.failed:,} failed"
        )
    if report.mined:
        has_rate = report.mined >= MIN_FOR_A_RATE and report.seconds
        speed = f", {report.mined / report.seconds:.1f} a second" if has_rate else ""
        yield f"{count(report.mined, 'document')} mined in {duration(report.seconds)}{speed}"
    if report.duplicates:
        yield f"{count(report.duplicates, 'near duplicate')} found"
    if report.taken_over:
        yield f"{count(report.taken_over, 'document')} of an earlier run finished"
    if report.left_to_workers and not report.mined:
        left = count(report.left_to_workers, "document")
        yield f"{left} left to the workers: {app.again('status --watch')}"
    if report.topics:
        yield f"{count(report.topics, 'topic')}{' found' if report.new_fit else ''}"
