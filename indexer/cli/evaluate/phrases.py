"""indexer evaluate phrases."""

from __future__ import annotations

from pathlib import Path

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, encoder_of, limit_option, seeds_option, show
from indexer.cli.output import working


@command()
@data_option("JSON Lines with a, b and score; or a, b, label and split; or query, choices and answer.")
@limit_option("lines")
@seeds_option
@json_option
@pass_app
def phrases(app: App, data: Path, limit: int | None, seeds: int, as_json: bool) -> None:
    """Compare vectors of phrases with what people say of them.

    As in Phrase-BERT, by what the lines hold. A score: correlation with the cosine. A label and a split: accuracy
    of a small classifier on the pair, trained on 'train', chosen on 'dev', reported on 'test'. A query and
    choices: how often the nearest choice is the answer.

    \b
    Examples:
      indexer evaluate phrases --data bird.jsonl.gz
      indexer evaluate phrases --data ppdb_filtered.jsonl.gz --json
    """
    from trainer.evaluation.phrases import evaluate_phrases

    encoder = encoder_of(app.settings())
    with working(app, resumable=False) as progress:
        found = evaluate_phrases(data, encoder=encoder, seeds=range(seeds), limit=limit, progress=progress)
    show(found, as_json=as_json)
