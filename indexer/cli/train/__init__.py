"""indexer train: a group; each recipe is a command in a file of its own."""

from __future__ import annotations

import click

from indexer.cli.app import Group

SECTIONS = {
    "Recipes": {
        "uctopic": "indexer.cli.train.uctopic:uctopic",
        "phrase-bert": "indexer.cli.train.phrase_bert:phrase_bert",
        "keyphrases": "indexer.cli.train.keyphrases:keyphrases",
        "hs-gc": "indexer.cli.train.hsgc:hs_gc",
    }
}


@click.group(cls=Group, sections=SECTIONS)
def train() -> None:
    """Train an encoder on your own texts; no labels are needed.

    \b
    Example:
      indexer train uctopic --corpus articles.jsonl --budget 30m --name mine
      indexer index articles.jsonl --collection tuned --bundle mine
    """
