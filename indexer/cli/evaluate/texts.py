"""indexer evaluate texts."""

from __future__ import annotations

from pathlib import Path

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, encoder_of, limit_option, seeds_option, show
from indexer.cli.work import working


@command()
@data_option("JSON Lines with text and label.")
@limit_option("texts")
@seeds_option
@json_option
@pass_app
def texts(app: App, data: Path, limit: int | None, seeds: int, as_json: bool) -> None:
    """Cluster short texts and compare the clusters with their labels.

    As in HS-GC: K-means on document vectors with the true number of clusters; the labels are only used to score.
    Prints accuracy and NMI, with published figures beside them where the file is a known one.

    \b
    Examples:
      indexer evaluate texts --data stackoverflow.jsonl.gz
      indexer evaluate texts --data googlenews_ts.jsonl.gz --seeds 3 --json
    """
    from trainer.evaluation.texts import evaluate_texts

    encoder = encoder_of(app.settings())
    with working(app, resumable=False) as progress:
        found = evaluate_texts(data, encoder=encoder, seeds=range(seeds), limit=limit, progress=progress)
    show(found, as_json=as_json)
