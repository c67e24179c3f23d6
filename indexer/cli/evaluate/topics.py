"""indexer evaluate topics."""

from __future__ import annotations

from pathlib import Path

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, limit_option, show
from indexer.cli.options import topics_option
from indexer.cli.output import working


@command()
@data_option("Documents, as for indexer index; maybe with a field label.")
@topics_option
@limit_option("documents")
@json_option
@pass_app
def topics(app: App, data: Path, topics: str | None, limit: int | None, as_json: bool) -> None:
    """Find the topics of a file and measure how good they are.

    The file is indexed into a collection that is removed again. Measured without labels: whether a topic's
    leading phrases stand together in documents (NPMI), are near in meaning, differ from each other and say something,
    and whether a phrase of another topic stands out among them. Where the documents have a field label, the agreement of
    topics and labels (NMI) is printed too, beside K-means on the document vectors.

    \b
    Examples:
      indexer evaluate topics --data abstracts.jsonl.gz --limit 3000
      indexer evaluate topics --data articles.jsonl --topics 20 --json
    """
    from trainer.evaluation.topics import evaluate_topics

    settings = app.settings()
    with working(app, resumable=False) as progress, app.aside(settings) as collection:
        found = evaluate_topics(collection, data, asked=topics, limit=limit, progress=progress)
    show(found, as_json=as_json)
