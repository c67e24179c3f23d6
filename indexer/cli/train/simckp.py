"""indexer train simckp."""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import print_json, say, warn, working
from indexer.cli.train.shared import licence_option, name_option, seed_option


@command()
@click.option("--data", type=click.Path(exists=True, dir_okay=False, path_type=Path), multiple=True,
              required=True, metavar="FILE",
              help="JSON Lines with id, title, text and keyphrases (a list); may be repeated.")  # fmt: skip
@click.option("--silver", is_flag=True,
              help="Take the phrases of the titles as keyphrases; none have to be given.")  # fmt: skip
@click.option("--bart", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER",
              help="A BART in safetensors, to be trained in place of the encoder: it writes keyphrases.")  # fmt: skip
@name_option("simckp")
@click.option("--steps", type=click.IntRange(1), metavar="N",
              help="Updates of the weights in each of the two stages.  [default: ten epochs at most]")  # fmt: skip
@licence_option
@seed_option
@json_option
@pass_app
def simckp(
    app: App,
    data: tuple[Path, ...],
    silver: bool,
    bart: Path | None,
    name: str,
    steps: int | None,
    licence: str,
    seed: int,
    as_json: bool,
) -> None:
    """Learn keyphrases from documents that have some, in the text or not (SimCKP, EMNLP Findings 2023).

    Two small networks are put on the encoder that --bundle names; the encoder itself stays as it is, and so do the
    vectors. One ranks phrases of the document, the other phrases that other documents have and this one might. With
    --bart a BART is trained to rank and to write first, as in the paper, and the bundle carries it. Stopped, the same
    command goes on.

    \b
    Examples:
      indexer train simckp --data keyphrases.jsonl.gz --name ranked
      indexer train simckp --data articles.jsonl --silver --name by-title
      indexer train simckp --data keyphrases.jsonl.gz --bart bart-base/ --name written
    """
    from indexer.cli.evaluate import encoder_of
    from models.registry import Registry
    from trainer.simckp.train import SimCKPOptions, train_simckp

    settings = app.settings()
    order = SimCKPOptions(name, silver, bart, steps or 0, seed, licence, settings.tagger, settings.threads)
    with working(app, lines=True) as progress:
        base = Registry(settings.home).get(settings.bundle)
        bundle = train_simckp(
            base, lambda: encoder_of(settings), data, order, home=settings.home, progress=progress
        )
    scores = {stage: bundle.scores[f"{stage}_f1@5"] for stage in ("present", "absent")}
    if as_json:
        print_json({"name": bundle.name, "folder": str(bundle.folder), "scores": scores})
        return
    say(f"Bundle '{bundle.name}' is in {bundle.folder}.")
    say(
        f"F1 of the first five on documents held back: {scores['present']:.3f} in the text, "
        f"{scores['absent']:.3f} not in it."
    )
    if not scores["absent"]:
        warn(
            "None of the first five that are not in the text was right: leave them out when you index "
            "(INDEXER_ABSENT_KEYPHRASES=0), or train on more documents."
        )
    app.flags.pop("bundle", None)  # where training began
    say(f"Index with it: {app.again(f'index SOURCE --bundle {bundle.name} --collection NAME')}")
