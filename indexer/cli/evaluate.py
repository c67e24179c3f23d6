"""indexer evaluate: a group; each task is a command."""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, Group, command, json_option, pass_app
from indexer.cli.text import print_json, say
from indexer.cli.work import working

SECTIONS = {"Tasks": {"keyphrases": "indexer.cli.evaluate:keyphrases"}}


@click.group(cls=Group, sections=SECTIONS)
def evaluate() -> None:
    """Measure the encoder beside published figures.

    \b
    Example:
      indexer evaluate keyphrases --data inspec_test.jsonl
    """


@command()
@click.option("--data", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True, metavar="FILE",
              help="JSON Lines with id, title, text and keyphrases (a list).")  # fmt: skip
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Only the first N documents.  [default: all]"
)
@json_option
@pass_app
def keyphrases(app: App, data: Path, limit: int | None, as_json: bool) -> None:
    """Compare the keyphrases that are found with those that people have given.

    Prints F1 of the first 5, 10 and 15, with published figures beside it where the file is a known one. The
    protocol is printed with it.

    \b
    Examples:
      indexer evaluate keyphrases --data inspec_test.jsonl
      indexer evaluate keyphrases --data semeval2017.jsonl.gz --limit 100 --json
    """
    from models.load import load_encoder
    from trainer.evaluation.keyphrases import evaluate_keyphrases

    settings = app.settings()
    encoder = load_encoder(
        settings.bundle, home=settings.home, backend=settings.backend, threads=settings.threads
    )
    with working(app, resumable=False) as progress:
        found = evaluate_keyphrases(
            data, encoder=encoder, tagger=settings.tagger, limit=limit, progress=progress
        )
    if as_json:
        print_json(found.as_json())
    else:
        say(found.render())
