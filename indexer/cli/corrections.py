"""indexer topics correct, corrections: which documents a topic has."""

from __future__ import annotations

import click

from indexer.cli import completion
from indexer.cli.app import App, json_of, json_option, pass_app
from indexer.cli.index import show_report
from indexer.cli.output import show_result, table, working
from indexer.export import serialize
from indexer.export.formatting import clean, count


@click.command()
@click.argument("topic", shell_complete=completion.topics)
@click.argument("documents", nargs=-1, required=True, metavar="ID...")
@click.option("--not", "wrong", is_flag=True, help="They do not have the topic.")
@click.option("--undo", is_flag=True, help="Forget what was said of them and the topic.")
@json_option
@pass_app
def correct(app: App, topic: str, documents: tuple[str, ...], wrong: bool, undo: bool, as_json: bool) -> None:
    """Say that the documents with these IDs have TOPIC, and find the topics again, which learn from it.

    A document that was given topics has those and no others. Refits and retrains keep it.

    \b
    Examples:
      indexer topics correct 'solar wind' arxiv:1405.3939 arxiv:1207.0012
      indexer topics correct 3 arxiv:1405.3939 --not
      indexer topics correct 3 arxiv:1405.3939 --undo
    """
    if wrong and undo:
        raise click.UsageError("Give --not or --undo, not both.")
    with working(app) as progress, app.collection() as collection:
        report = collection.correct_topic(
            topic, documents, belongs=None if undo else not wrong, progress=progress
        )
        said = len(collection.corrections())
    report.notes.append(f"{count(said, 'correction')} now. See: indexer topics corrections")
    show_report(app, report, as_json=as_json)


@click.command()
@json_of("document, topic (its id), belongs (false: the document does not have it)")
@pass_app
def corrections(app: App, as_json: bool) -> None:
    """List what was said of documents and topics.

    \b
    Examples:
      indexer topics corrections
      indexer topics corrections --json
    """
    with app.collection() as collection:
        found = collection.corrections()
        labels = serialize.labels_of(collection.topics())
    rows = [
        (clean(one.document), "is" if one.belongs else "is not", clean(labels.get(one.topic, one.topic)))
        for one in found
    ]
    text = table(rows, head=("document", "", "topic"))
    show_result([serialize.correction(one) for one in found], text or "no corrections", as_json=as_json)
