"""indexer evaluate entities."""

from __future__ import annotations

from pathlib import Path

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, encoder_of, limit_option, seeds_option, show
from indexer.cli.work import working


@command()
@data_option("JSON Lines with sentence, start, end, phrase and label.")
@limit_option("mentions")
@seeds_option
@json_option
@pass_app
def entities(app: App, data: Path, limit: int | None, seeds: int, as_json: bool) -> None:
    """Cluster mentions and compare the clusters with kinds of entities.

    As in UCTopic: a mention is encoded in its sentence, the number of clusters is the true one, labels are only
    used to score. Prints accuracy and NMI of K-means and of a Gaussian mixture, each on the vectors as they are
    and smoothed over phrases named side by side, with published figures where the file is a known one.

    \b
    Examples:
      indexer evaluate entities --data wnut2017.jsonl.gz
      indexer evaluate entities --data bc5cdr.jsonl.gz --seeds 3 --json
    """
    from trainer.evaluation.entities import evaluate_entities

    encoder = encoder_of(app.settings())
    with working(app, resumable=False) as progress:
        found = evaluate_entities(data, encoder=encoder, seeds=range(seeds), limit=limit, progress=progress)
    show(found, as_json=as_json)
