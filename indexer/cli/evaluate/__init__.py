"""indexer evaluate: a group, one file per task."""

from __future__ import annotations

import click

from indexer.cli.app import Group

HERE = "indexer.cli.evaluate"
SECTIONS = {
    "Tasks": {
        "keyphrases": f"{HERE}.keyphrases:keyphrases",
        "entities": f"{HERE}.entities:entities",
        "phrases": f"{HERE}.phrases:phrases",
        "texts": f"{HERE}.texts:texts",
        "topics": f"{HERE}.topics:topics",
        "search": f"{HERE}.search:search",
    }
}


@click.group(cls=Group, sections=SECTIONS)
def evaluate() -> None:
    """Measure an encoder, topics and search beside published figures.

    \b
    Examples:
      indexer evaluate keyphrases --data inspec_test.jsonl
      indexer evaluate entities --data wnut2017.jsonl.gz
    """
