"""indexer topics export"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.app import App, command, pass_app
from indexer.export import serialize

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.export.tables import Row

DOCUMENT_COLUMNS = ("document", "title", "topic", "label", "weight")


@command()
@click.option("--format", "kind", type=click.Choice(["json", "csv", "jsonl", "parquet"]), default="json",
              show_default=True, help="A JSON array, CSV with a header, JSON Lines, or Parquet (pyarrow).")  # fmt: skip
@click.option("--documents", is_flag=True, help="Rows of document, topic and weight, in place of the topics.")
@click.option("--output", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE",
              help="Where to write.  [default: standard output]")  # fmt: skip
@pass_app
def export(app: App, kind: Any, documents: bool, output: Path | None) -> None:
    """Write topics, or who has which, as a file for other programs.

    \b
    Examples:
      indexer topics export --format csv --output topics.csv
      indexer topics export --documents --format csv > document_topics.csv
    """
    from indexer.export.tables import TOPIC_COLUMNS, WRITERS, save

    with app.collection() as collection:
        rows = _document_rows(collection) if documents else _topic_rows(collection)
        columns = DOCUMENT_COLUMNS if documents else TOPIC_COLUMNS
        parts = _as_json(rows) if kind == "json" else WRITERS[kind](rows, columns)
        if output:
            save(output, parts)
        else:
            for part in parts:
                click.echo(part.removeprefix(codecs.BOM_UTF8), nl=False)  # the next program knows what comes


def _topic_rows(collection: Collection) -> Iterator[Row]:
    from indexer.export.tables import topic_rows

    return topic_rows(collection.topics(), collection.topic_trends())


def _document_rows(collection: Collection) -> Iterator[Row]:
    labels = serialize.labels_of(collection.topics())
    for stored in collection.documents():
        for topic in serialize.topic_weights(stored.topics, labels):
            yield {
                "document": stored.document.id,
                "title": stored.document.title,
                "topic": topic["id"],
                "label": topic["label"],
                "weight": topic["weight"],
            }


def _as_json(rows: Iterable[Row]) -> Iterator[bytes]:
    """A JSON array, a row on a line; never the whole in memory."""
    separator = "[\n"
    for row in rows:
        yield (separator + json.dumps(row, ensure_ascii=False)).encode("utf-8", "backslashreplace")
        separator = ",\n"
    yield b"[]\n" if separator == "[\n" else b"\n]\n"
