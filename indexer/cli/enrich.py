"""indexer enrich"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.options import topics_option
from indexer.cli.output import print_json, say, warn, working
from indexer.export.formatting import count, duration

if TYPE_CHECKING:
    from indexer.runs.enrich import EnrichReport

POLL_INTERVAL_S = 30.0  # seconds


@command()
@click.argument("index")
@click.option("--text-field", metavar="FIELD", default="", help="Field with the text; several as a,b.")
@click.option("--title-field", metavar="FIELD", default="", help="Field with the title.")
@click.option("--field", "fields", metavar="FIELD", multiple=True,
              help="Another field that searches may filter by; mined anew when it changes. May be repeated.")  # fmt: skip
@click.option("--into", metavar="NAME", default="indexer", show_default=True,
              help="Name of the object that is added to each document.")  # fmt: skip
@click.option("--no-vector", is_flag=True, help="Leave out the document's vector.")
@topics_option
@click.option("--throttle", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Write to at most so many documents a second.")  # fmt: skip
@click.option("--watch", is_flag=True, help="Go on, and keep up with new, changed and deleted documents.")
@click.option("--every", type=click.FloatRange(min=0.1), default=POLL_INTERVAL_S, show_default=True, metavar="SECONDS",
              help="How often --watch looks.")  # fmt: skip
@click.option("--undo", is_flag=True, help="Take back what was added, and empty the collection.")
@json_option
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
    Phrases go to the collection's own indices, so that search, topics and phrases work as usual. Given again, only
    what changed is done. The whole needs --engine URL, or INDEXER_ENGINE.

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
    check(app.settings(), index, options)  # before a collection is made for nothing
    with working(app) as progress, app.collection(make=not undo) as collection:
        if undo:
            taken = collection.undo_enrich(index, options, progress=progress)
            _show_undo(index, into, taken, as_json=as_json)
        elif watch:
            click.echo(f"Keeps up with {index}, and looks every {duration(every)}. Ctrl-C ends it.", err=True)
            with closing(collection.watch(index, options, every=every, progress=progress)) as looks:
                _show(app, next(looks), as_json=as_json)
                for report in looks:
                    _show_look(app, report, as_json=as_json)
        else:
            _show(app, collection.enrich(index, options, topics=topics, progress=progress), as_json=as_json)


def _show(app: App, report: EnrichReport, *, as_json: bool) -> None:
    from indexer.cli.index import show_report

    show_report(app, report, as_json=as_json)
    if as_json:
        return
    if report.written:
        say(f"{count(report.written, 'document')} of the index written")
    if report.without_text:
        say(f"{count(report.without_text, 'document')} without text left as they are")
    _show_more_warnings(report)


def _show_look(app: App, report: EnrichReport, *, as_json: bool) -> None:
    """What one look of a watch did, in a line with its time."""
    from indexer.cli.index import show_report, show_warnings

    if as_json:
        show_report(app, report, as_json=True)
        return
    done = {"mined": report.mined, "deleted": report.deleted, "written": report.written}
    said = ", ".join(f"{number:,} {what}" for what, number in done.items() if number)
    say(f"{time.strftime('%H:%M:%S')} {said}")
    show_warnings(app, report)
    _show_more_warnings(report)


def _show_more_warnings(report: EnrichReport) -> None:
    if report.outgrown:
        warn("After that, enrich once more: it writes the new topics to the index.")
    if report.unsettled:
        warn(
            f"{count(report.unsettled, 'document')} changed again and again while they were mined. "
            "The next run, or --watch, brings them up to date."
        )


def _show_undo(index: str, into: str, taken: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"documents": taken})
    else:
        say(f"{count(taken, 'document')} of {index} as before")
        say(f"The mapping keeps the field '{into}', empty: Elasticsearch cannot remove one.")
