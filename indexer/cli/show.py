"""indexer show"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import (
    bold,
    dim,
    facts,
    indented,
    marked,
    near,
    print_json,
    say,
)
from indexer.export import serialize
from indexer.export.formatting import clean, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indexer.records import Document, Keyphrase, StoredDocument


@command()
@click.argument("id_", metavar="ID")
@json_option
@pass_app
def show(app: App, id_: str, as_json: bool) -> None:
    """Show a document, with its keyphrases marked in the text.

    ID is as search prints it. Below the text stand its topics, its keyphrases and your own fields.

    \b
    Example:
      indexer show arxiv:1405.3939
    """
    with app.collection() as collection:
        stored = collection.document(id_)
        labels = serialize.labels_of(collection.topics())
    if as_json:
        of_document = serialize.document(stored.document, text=True)
        print_json(
            {**of_document, **serialize.mined(stored, labels), "bundle": stored.bundle, "run": stored.run}
        )
    else:
        say(rendered(stored, labels))


def rendered(stored: StoredDocument, labels: serialize.Labels) -> str:
    """The text with its present keyphrases marked, and what was mined from it."""
    rows = facts(_about(stored, labels))
    return "\n\n".join(part for part in (marked_text(stored.document, stored.keyphrases), rows) if part)


def marked_text(document: Document, keyphrases: Sequence[Keyphrase]) -> str:
    """Title and text, wrapped, with the present keyphrases marked."""
    parts = []
    for field in ("title", "text"):
        spans = [(p.start, p.end) for k in keyphrases for p in k.places if p.field == field]
        text = marked(getattr(document, field), spans)
        parts.append(indented(bold(text) if field == "title" and not spans else text, ""))
    return "\n\n".join(part for part in parts if part)


def _about(stored: StoredDocument, labels: serialize.Labels) -> Iterator[tuple[str, str]]:
    yield "id", clean(stored.document.id)
    if stored.topics:
        yield (
            "topics",
            clean(
                ", ".join(f"{labels.get(t.topic_id, t.topic_id)} {percent(t.weight)}" for t in stored.topics)
            ),
        )
    present = [k.text for k in stored.keyphrases if k.present]
    absent = [k.text for k in stored.keyphrases if not k.present]
    if present:
        yield "keyphrases", clean("; ".join(present))
    if absent:
        yield "absent", clean("; ".join(absent)) + dim("  (fitting, though not in the text)")
    for name, value in stored.document.meta.items():
        yield clean(name), clean(", ".join(value) if isinstance(value, list) else str(value))
    if stored.document.source:
        yield "source", clean(near(stored.document.source))
    if not stored.bundle:
        yield "mined", "not yet"
