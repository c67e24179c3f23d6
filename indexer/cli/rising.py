"""indexer topics rising: subjects of new documents that have no topic yet."""

from __future__ import annotations

import click

from indexer.cli.app import App, json_of, pass_app
from indexer.cli.output import show_result, table, working
from indexer.export import serialize
from indexer.export.formatting import clean, count

PHRASES = 5  # listed


@click.command()
@click.option("--add", "numbers", type=click.IntRange(1), multiple=True, metavar="N",
              help="Make a topic of the N-th one; may be repeated.")  # fmt: skip
@json_of("label, documents (ids), phrases; with --add the new topics, as indexer topics lists them")
@pass_app
def rising(app: App, numbers: tuple[int, ...], as_json: bool) -> None:
    """List subjects of new documents that have no topic yet.

    Looked for after each run: at least a dozen documents that came since the topics were fitted, and that are more like
    each other than like any that were there. With --add one becomes a topic, and new documents get it; the other topics
    keep their ids and names. With INDEXER_BIRTHS=make every run adds them by itself.

    \b
    Examples:
      indexer topics rising
      indexer topics rising --add 1
    """
    with working(app) as progress, app.collection() as collection:
        if numbers:
            topics = collection.add_rising(numbers, progress=progress)
            text = "\n".join(f"{t.id} {clean(t.label)}: {count(t.size, 'document')}" for t in topics)
            show_result([serialize.topic(topic) for topic in topics], text, as_json=as_json)
            return
        found = collection.rising()
    rows = [
        (str(at), str(len(one.documents)), clean(one.label), clean("; ".join(one.phrases[1:PHRASES])))
        for at, one in enumerate(found, 1)
    ]
    text = table(rows, head=("", "documents", "subject", "phrases"), right=(0, 1))
    show_result([serialize.rising(one) for one in found], text or "nothing is rising", as_json=as_json)
