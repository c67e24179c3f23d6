"""indexer evaluate search."""

from __future__ import annotations

from pathlib import Path

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, limit_option, show
from indexer.cli.output import working


@command()
@data_option("Documents with titles, as for indexer index; maybe with a field keyphrases (a list).")
@limit_option("documents")
@json_option
@pass_app
def search(app: App, data: Path, limit: int | None, as_json: bool) -> None:
    """Search documents by their own titles and measure what is found.

    The documents are indexed without titles, into a collection that is removed again. Then each title should find its
    document, and a phrase of a title (or of the keyphrases) all documents whose titles have it. Prints recall, MRR and
    nDCG of the first ten hits, by words, by meaning and by both.

    \b
    Examples:
      indexer evaluate search --data articles.jsonl
      indexer evaluate search --data abstracts.jsonl.gz --limit 3000 --json
    """
    from trainer.evaluation.search import evaluate_search

    settings = app.settings()
    with working(app, resumable=False) as progress, app.aside(settings) as collection:
        found = evaluate_search(collection, data, limit=limit, progress=progress)
    show(found, as_json=as_json)
