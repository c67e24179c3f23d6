"""indexer evaluate keyphrases."""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, encoder_of, limit_option, show
from indexer.cli.output import working


@command()
@data_option("JSON Lines with id, title, text and keyphrases (a list).")
@click.option("--validate", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Of the same kind: choose there what attention counts, for one more row as published.")  # fmt: skip
@click.option("--protocol", type=click.Choice(["unsupervised", "simckp"]), default="unsupervised", show_default=True,
              help="How to count; simckp keeps apart what stands in the text and what does not.")  # fmt: skip
@limit_option("documents")
@json_option
@pass_app
def keyphrases(
    app: App, data: Path, validate: Path | None, protocol: str, limit: int | None, as_json: bool
) -> None:
    """Compare the keyphrases that are found with those that people have given.

    Prints F1 of the first 5, 10 and 15, with published figures beside it where the file is a known one. The
    protocol is printed with it.

    \b
    Examples:
      indexer evaluate keyphrases --data inspec_test.jsonl
      indexer evaluate keyphrases --data inspec_test.jsonl --validate inspec_valid.jsonl
      indexer evaluate keyphrases --data kp20k_test.jsonl --protocol simckp --bundle ranked
      indexer evaluate keyphrases --data semeval2017.jsonl.gz --limit 100 --json
    """
    from trainer.evaluation.keyphrases import evaluate_keyphrases
    from trainer.evaluation.present_absent import evaluate_separately

    if validate and protocol != "unsupervised":
        raise click.UsageError("--validate belongs to the protocol 'unsupervised'.")
    settings = app.settings()
    encoder = encoder_of(settings)
    with working(app, resumable=False) as progress:
        if protocol == "simckp":
            found = evaluate_separately(
                data,
                encoder=encoder,
                keyphrases=settings.keyphrases,
                tagger=settings.tagger,
                limit=limit,
                progress=progress,
            )
        else:
            found = evaluate_keyphrases(
                data,
                encoder=encoder,
                validate=validate,
                tagger=settings.tagger,
                limit=limit,
                progress=progress,
            )
    show(found, as_json=as_json)
