"""indexer compare"""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate import data_option, limit_option
from indexer.cli.options import TopicsParam
from indexer.cli.output import bold, print_json, say, table, working
from indexer.export import serialize
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from trainer.evaluation.documents import ChoiceResult

MAX_PRESENT, MAX_ABSENT = 5, 3  # keyphrases of a document


@command()
@data_option("Documents, as for indexer index.")
@click.option("--topics", "models", type=TopicsParam(), multiple=True, metavar="N|MODEL",
              help="A topic model, as for indexer index; may be repeated.  [default: all of them]")  # fmt: skip
@click.option("--with", "bundles", multiple=True, metavar="BUNDLE",
              help="An encoder; may be repeated.  [default: that of --bundle]")  # fmt: skip
@limit_option("documents")
@click.option("--show", "sample", type=click.IntRange(1), default=5, show_default=True, metavar="N",
              help="Number of documents to compare, spread over the file.")  # fmt: skip
@click.option("--most", type=click.IntRange(1), default=10, show_default=True, metavar="N",
              help="Number of topics of each choice, the largest.")  # fmt: skip
@json_option
@pass_app
def compare(
    app: App,
    data: Path,
    models: tuple[str, ...],
    bundles: tuple[str, ...],
    limit: int | None,
    sample: int,
    most: int,
    as_json: bool,
) -> None:
    """Mine the same documents in several ways, side by side.

    Each combination of an encoder and a topic model is a column: its largest topics, and the topics and keyphrases of
    the same documents, with absent keyphrases in [brackets]. The temporary collections are deleted.

    \b
    Examples:
      indexer compare --data articles.jsonl --limit 600
      indexer compare --data articles.jsonl --topics clusters:10 --topics documents:10 --with minilm-base
    """
    from indexer.topics.models.registry import TOPIC_MODELS
    from trainer.evaluation.documents import outcomes, read_documents

    settings = app.settings()
    documents = read_documents(data, limit)
    step = max(1, len(documents) // sample)
    ids = [document.id for document in documents[::step][:sample]]
    found: list[ChoiceResult] = []
    with working(app, resumable=False) as progress:
        for bundle in bundles or (settings.bundle,):
            with app.aside(settings.model_copy(update={"bundle": bundle})) as collection:
                requested = models or tuple(TOPIC_MODELS)
                found += outcomes(collection, bundle, documents, requested, ids, progress=progress)
    if as_json:
        print_json([_as_json(outcome) for outcome in found])
        return
    say(_columns(found, [[f"{t.label} ({t.size})" for t in outcome.topics[:most]] for outcome in found]))
    for at in range(len(ids)):
        say(f"\n{bold(clean(found[0].documents[at].document.name))}")
        say(_columns(found, [_mined(outcome, at) for outcome in found]))
    if any(not k.present for outcome in found for document in outcome.documents for k in document.keyphrases):
        say("\n[keyphrase]: not in the text")


def _mined(outcome: ChoiceResult, at: int) -> list[str]:
    """Return topics of a document, its best present keyphrases, and its absent ones in brackets."""
    stored = outcome.documents[at]
    topics = [f"# {label}" for label in outcome.labels(stored)] or ["# none"]
    present = [k.text for k in stored.keyphrases if k.present]
    absent = [f"[{k.text}]" for k in stored.keyphrases if not k.present]
    return [*topics, *present[:MAX_PRESENT], *absent[:MAX_ABSENT]]


def _columns(found: list[ChoiceResult], columns: list[list[str]]) -> str:
    """Format one column for each choice."""
    several = len({outcome.bundle for outcome in found}) > 1
    head = [f"{outcome.finder}, {outcome.bundle}" if several else outcome.finder for outcome in found]
    rows = [[clean(cell) for cell in row] for row in zip_longest(*columns, fillvalue="")]
    return table(rows, head=head)


def _as_json(outcome: ChoiceResult) -> dict[str, Any]:
    labels = serialize.labels_of(outcome.topics)
    return {
        "bundle": outcome.bundle,
        "finder": outcome.finder,
        "topics": [serialize.topic(topic) for topic in outcome.topics],
        "documents": [
            {**serialize.document(stored.document), **serialize.mined(stored, labels)}
            for stored in outcome.documents
        ],
    }
