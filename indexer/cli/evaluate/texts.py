"""indexer evaluate texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.evaluate.shared import data_option, encoder_of, limit_option, seeds_option, show
from indexer.cli.output import working
from indexer.cli.train import budget_option, layers_option, steps_option

if TYPE_CHECKING:
    from indexer.protocols import Encoder, Progress
    from indexer.settings import Settings
    from models.bundle import Bundle


@command()
@data_option("JSON Lines with text and label.")
@limit_option("texts")
@seeds_option
@click.option("--adapt", type=click.IntRange(0), default=0, metavar="N",
              help="First train on the texts of the file, N times with another seed; never on labels.")  # fmt: skip
@layers_option
@steps_option(300)
@budget_option
@json_option
@pass_app
def texts(
    app: App,
    data: Path,
    limit: int | None,
    seeds: int,
    adapt: int,
    all_layers: bool,
    steps: int,
    budget: float,
    as_json: bool,
) -> None:
    """Cluster short texts and compare the clusters with their labels.

    As in HS-GC: K-means on document vectors with the true number of clusters; the labels are only used to score.
    Prints accuracy and NMI, with published figures beside them where the file is a known one. With --adapt, two more
    rows: the mean over all layers of the encoder as it is, and of one that was trained on the texts; its bundles stay.

    \b
    Examples:
      indexer evaluate texts --data stackoverflow.jsonl.gz
      indexer evaluate texts --data googlenews_ts.jsonl.gz --seeds 3 --json
      indexer evaluate texts --data stackoverflow.jsonl.gz --adapt 1 --bundle minilm-base
    """
    from trainer.evaluation.texts import evaluate_texts

    settings = app.settings()
    with working(app, resumable=bool(adapt)) as progress:
        others = _adapted(settings, data, adapt, all_layers, steps, budget, progress) if adapt else {}
        found = evaluate_texts(
            data,
            encoder=encoder_of(settings),
            others=others,
            seeds=range(seeds),
            limit=limit,
            progress=progress,
        )
    show(found, as_json=as_json)


def _adapted(
    settings: Settings,
    data: Path,
    times: int,
    all_layers: bool,
    steps: int,
    budget: float,
    progress: Progress,
) -> dict[str, list[Encoder]]:
    """Encoders with all layers in their document vectors: untrained, and trained on the file."""
    from models.load import run_bundle
    from models.registry import Registry
    from trainer.evaluation.texts import number_of_labels
    from trainer.hsgc.options import HSGCOptions
    from trainer.hsgc.train import holistic, train_hsgc

    base = Registry(settings.home).get(settings.bundle)
    bundles = [
        train_hsgc(
            base,
            HSGCOptions(
                name=f"{base.name}-{data.name.partition('.')[0]}-{'all' if all_layers else 'own'}-{seed}",
                corpus=(data,),
                all_layers=all_layers,
                clusters=number_of_labels(data),
                steps=steps,
                budget=budget,
                seed=seed,
                threads=settings.threads,
            ),
            home=settings.home,
            progress=progress,
        )
        for seed in range(times)
    ]

    def running(bundle: Bundle) -> Encoder:
        return run_bundle(bundle, home=settings.home, backend=settings.backend, threads=settings.threads)

    return {"all layers": [running(holistic(base))], "HS-GC": [running(bundle) for bundle in bundles]}
