"""indexer evaluate entities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, encoder_of, limit_option, seeds_option, show
from indexer.cli.output import working
from indexer.cli.train import corpus_option, steps_option

if TYPE_CHECKING:
    from indexer.protocols import Progress
    from indexer.settings import Settings


@command()
@data_option("JSON Lines with sentence, start, end, phrase and label.")
@limit_option("mentions")
@seeds_option
@click.option("--adapt", type=click.IntRange(0), default=0, metavar="N",
              help="First train on the mentions of the file, N times with another seed; never on labels.")  # fmt: skip
@corpus_option
@steps_option(150)
@json_option
@pass_app
def entities(
    app: App,
    data: Path,
    limit: int | None,
    seeds: int,
    adapt: int,
    corpus: tuple[Path, ...],
    steps: int,
    as_json: bool,
) -> None:
    """Cluster mentions and compare the clusters with kinds of entities.

    As in UCTopic: a mention is encoded in its sentence, the number of clusters is the true one, labels are only
    used to score. Prints accuracy and NMI of K-means and of a Gaussian mixture, each on the vectors as they are
    and smoothed over phrases named side by side, with published figures where the file is a known one. With --adapt,
    up to half of the lessons are the mentions of the file, the others from --corpus; the trained bundles stay.

    \b
    Examples:
      indexer evaluate entities --data wnut2017.jsonl.gz
      indexer evaluate entities --data bc5cdr.jsonl.gz --seeds 3 --json
      indexer evaluate entities --data wnut2017.jsonl.gz --adapt 3 --corpus articles.jsonl
    """
    from trainer.evaluation.entities import evaluate_entities

    settings = app.settings()
    with working(app) as progress:
        bundles = [settings.bundle]
        if adapt:
            bundles = _adapted(settings, data, corpus, steps, adapt, progress)
        found = evaluate_entities(
            data,
            encoders=[encoder_of(settings, bundle) for bundle in bundles],
            seeds=range(seeds),
            limit=limit,
            progress=progress,
        )
    show(found, as_json=as_json)


def _adapted(
    settings: Settings, data: Path, corpus: tuple[Path, ...], steps: int, times: int, progress: Progress
) -> list[str]:
    """Names of bundles that were trained on the file."""
    from shutil import rmtree

    from models.registry import Registry
    from trainer.uctopic.options import UCTopicOptions
    from trainer.uctopic.train import train_uctopic

    base = Registry(settings.home).get(settings.bundle)
    mined = settings.home / "training" / f"{base.name}-{data.name.partition('.')[0]}-mined"
    names = []
    for seed in range(times):
        options = UCTopicOptions(
            name=f"{base.name}-{data.name.partition('.')[0]}-{seed}",
            corpus=corpus,
            mentions=(data,),
            steps=steps,
            seed=seed,
            tagger=settings.tagger,
            threads=settings.threads,
        )
        made = train_uctopic(base, options, home=settings.home, mined=mined, progress=progress)
        names.append(made.name)
    rmtree(mined, ignore_errors=True)  # nothing was mined where all were there already
    return names
