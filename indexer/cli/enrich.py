"""indexer enrich"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_of, pass_app
from indexer.cli.index import show_report, show_warnings
from indexer.cli.options import topics_option
from indexer.cli.output import say, show_result, warn, working
from indexer.export.formatting import count, duration

if TYPE_CHECKING:
    from indexer.runs.enrich import EnrichReport

POLL_INTERVAL_S = 30.0


@command()
@click.argument("index")
@click.option("--text-field", metavar="FIELD", default="", help="Field with the text; several as a,b.")
@click.option("--title-field", metavar="FIELD", default="", help="Field with the title.")
@click.option("--field", "fields", metavar="FIELD", multiple=True,
              help="Field to filter by; a change of it is mined again. May be repeated.")  # fmt: skip
@click.option("--into", metavar="NAME", default="indexer", show_default=True,
              help="Name of the object added to each document.")  # fmt: skip
@click.option("--no-vector", is_flag=True, help="Leave out the document's vector.")
@topics_option
@click.option("--throttle", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Maximum number of documents written a second.")  # fmt: skip
@click.option("--watch", is_flag=True, help="Keep running, and follow new, changed and deleted documents.")
@click.option("--every", type=click.FloatRange(min=0.1), default=POLL_INTERVAL_S, show_default=True, metavar="SECONDS",
              help="Interval of --watch.")  # fmt: skip
@click.option("--undo", is_flag=True, help="Remove what was added, and empty the collection.")
@json_of("as for indexer index, and written, without_text, unsettled (changed during mining); one object for each change "
         "with --watch; documents with --undo")  # fmt: skip
@pass_app
def enrich(
    app: App,
    index: str,
    text_field: str,
    title_field: str,
    fields: tuple[str, ...],
    into: str,
    no_vector: bool,
    topics: str | None,
    throttle: float | None,
    watch: bool,
    every: float,
    undo: bool,
    as_json: bool,
) -> None:
    """Add topics, keyphrases and vectors to your Elasticsearch index.

    Each document of INDEX gets one object with what was mined from its text; its other fields stay as they are.
    Phrases go to the collection's own indices, so that search, topics and phrases work as usual. A repeated run
    processes only changes. Needs --engine URL, or INDEXER_ENGINE. Guarantees: docs/elasticsearch.md

    \b
    Examples:
      indexer enrich news --text-field body --title-field headline
      indexer enrich news --text-field body --throttle 50 --watch
      indexer enrich news --undo
    """
    if not undo and not text_field:
        raise click.UsageError("Name the field with the text: --text-field FIELD")
    from indexer.engines.elastic.user_index import EnrichOptions
    from indexer.runs.enrich import check

    options = EnrichOptions(
        "" if undo else text_field, "" if undo else title_field, () if undo else fields, into, not no_vector, throttle
    )  # fmt: skip
    check(app.settings(), index, options)  # before a collection is made
    with working(app) as progress, app.collection(make=not undo) as collection:
        if undo:
            number = collection.undo_enrich(index, options, progress=progress)
            text = (
                f"{count(number, 'document')} of {index} restored\n"
                f"The mapping keeps the field '{into}', empty: Elasticsearch cannot remove one."
            )
            show_result({"documents": number}, text, as_json=as_json)
        elif watch:
            click.echo(f"Following {index}, every {duration(every)}. Ctrl-C ends it.", err=True)
            with closing(collection.watch(index, options, every=every, progress=progress)) as reports:
                _show(app, next(reports), as_json=as_json)
                for report in reports:
                    _show_change(app, report, as_json=as_json)
        else:
            _show(app, collection.enrich(index, options, topics=topics, progress=progress), as_json=as_json)


def _show(app: App, report: EnrichReport, *, as_json: bool) -> None:
    show_report(app, report, as_json=as_json)
    if as_json:
        return
    if report.written:
        say(f"{count(report.written, 'document')} of the index written")
    if report.without_text:
        say(f"{count(report.without_text, 'document')} without text left as they are")
    _show_more_warnings(report)


def _show_change(app: App, report: EnrichReport, *, as_json: bool) -> None:
    """Print one report of a watch, in a line with its time."""
    if as_json:
        show_report(app, report, as_json=True)
        return
    done = {"mined": report.mined, "deleted": report.deleted, "written": report.written}
    counts = ", ".join(f"{number:,} {name}" for name, number in done.items() if number)
    say(f"{time.strftime('%H:%M:%S')} {counts}")
    show_warnings(app, report)
    _show_more_warnings(report)


def _show_more_warnings(report: EnrichReport) -> None:
    if report.outgrown:
        warn("Then run enrich again: it writes the new topics to the index.")
    if report.unsettled:
        warn(
            f"{count(report.unsettled, 'document')} changed repeatedly during mining. "
            "The next run, or --watch, updates them."
        )
