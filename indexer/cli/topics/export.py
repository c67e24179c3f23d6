"""indexer topics export"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from indexer.cli import plain
from indexer.cli.app import App, command, pass_app

if TYPE_CHECKING:
    from indexer.collection import Collection

TOPIC_COLUMNS = ("id", "label", "documents", "named_by_hand", "phrases")
DOCUMENT_COLUMNS = ("document", "title", "topic", "label", "weight")

Row = dict[str, Any]


@command()
@click.option("--format", "kind", type=click.Choice(["json", "csv"]), default="json", show_default=True,
              help="One JSON array, or CSV with a header.")  # fmt: skip
@click.option("--documents", is_flag=True, help="Rows of document, topic and weight, in place of the topics.")
@click.option("--output", type=click.Path(dir_okay=False, writable=True, path_type=Path), metavar="FILE",
              help="Where to write.  [default: standard output]")  # fmt: skip
@pass_app
def export(app: App, kind: str, documents: bool, output: Path | None) -> None:
    """Write topics, or who has which, as JSON or CSV.

    \b
    Examples:
      indexer topics export --format csv --output topics.csv
      indexer topics export --documents --format csv > document_topics.csv
    """
    with app.collection() as collection, _opened(output) as stream:
        rows = _document_rows(collection) if documents else map(plain.topic, collection.topics())
        if kind == "json":
            _write_json(rows, stream)
        else:
            _write_csv(rows, DOCUMENT_COLUMNS if documents else TOPIC_COLUMNS, stream)


def _document_rows(collection: Collection) -> Iterator[Row]:
    labels = plain.labels_of(collection.topics())
    for stored in collection.documents():
        for topic in plain.topic_weights(stored.topics, labels):
            yield {
                "document": stored.document.id,
                "title": stored.document.title,
                "topic": topic["id"],
                "label": topic["label"],
                "weight": topic["weight"],
            }


def _write_json(rows: Iterable[Row], stream: IO[str]) -> None:
    """A JSON array, a row on a line; never the whole in memory."""
    separator = "[\n"
    for row in rows:
        stream.write(separator + json.dumps(row, ensure_ascii=False))
        separator = ",\n"
    stream.write("[]\n" if separator == "[\n" else "\n]\n")


def _write_csv(rows: Iterable[Row], columns: tuple[str, ...], stream: IO[str]) -> None:
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {name: "; ".join(value) if isinstance(value, list) else value for name, value in row.items()}
        )


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that appears when it is complete."""
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        part.replace(output)
    except OSError as error:
        from indexer.errors import InputError

        raise InputError(f"{output} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
