"""indexer train hs-gc."""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import working
from indexer.cli.train.shared import (
    budget_option,
    corpus_option,
    layers_option,
    licence_option,
    lora_option,
    name_option,
    say_trained,
    seed_option,
    steps_option,
)


@command("hs-gc")
@corpus_option
@click.option("--clusters", type=click.IntRange(2), metavar="K",
              help="Into how many the documents fall.  [default: as many as suit the texts]")  # fmt: skip
@layers_option
@name_option("hs-gc")
@budget_option
@steps_option(300)
@lora_option
@licence_option
@seed_option
@json_option
@pass_app
def hs_gc(
    app: App,
    corpus: tuple[Path, ...],
    clusters: int | None,
    all_layers: bool,
    name: str,
    budget: float,
    steps: int,
    lora: int,
    licence: str,
    seed: int,
    as_json: bool,
) -> None:
    """Learn document vectors that fall into clusters (HS-GC, LREC-COLING 2024).

    Two views of a text should be alike, and so should the clusters that the texts form in both. Document vectors become
    the mean over all layers, or stay those of the encoder: the packaged one is better with --own-layers. The encoder
    that --bundle names is where it starts. Stopped, the same command goes on.

    \b
    Examples:
      indexer train hs-gc --corpus titles.jsonl --clusters 20 --bundle minilm-base --own-layers
      indexer index titles.jsonl --collection clustered --bundle hs-gc --topics documents
    """
    if not corpus:
        raise click.UsageError("Nothing to learn from. Name texts: --corpus.")
    # Imported here: the help must not wait for torch.
    from models.registry import Registry
    from trainer.hsgc.train import HSGCOptions, train_documents

    settings = app.settings()
    order = HSGCOptions(
        name,
        clusters=clusters,
        all_layers=all_layers,
        steps=steps,
        budget_s=budget,
        lora=lora,
        licence=licence,
        seed=seed,
        threads=settings.threads,
    )
    with working(app, lines=True) as progress:
        base = Registry(settings.home).get(settings.bundle)
        bundle = train_documents(base, corpus, order, home=settings.home, progress=progress)
    say_trained(app, bundle, as_json=as_json)
