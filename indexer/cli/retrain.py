"""indexer retrain."""

from __future__ import annotations

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.gate import judgement
from indexer.cli.text import clean, print_json, say
from indexer.cli.train.shared import budget_option, seed_option
from indexer.cli.work import working

REFUSED = 3  # exit code when the gate said no


@command()
@click.option("--method", type=click.Choice(["pairs", "ccl", "both"]), default="both", show_default=True,
              help="Learn from phrases in two texts, from clusters, or from one after the other.")  # fmt: skip
@budget_option
@click.option("--dry-run", is_flag=True, help="Train and judge; build and change nothing.")
@click.option("--force", is_flag=True, help="Train though nothing changed, and swap whatever the gate says.")
@seed_option
@json_option
@pass_app
def retrain(
    app: App, method: str, budget: float, dry_run: bool, force: bool, seed: int, as_json: bool
) -> None:
    """Adapt the encoder to the collection; swap only if better.

    Trains on the collection's own texts, compares the new encoder with the old one on texts kept aside, and builds the
    next generation beside the live one, which takes over in one step. Topics keep their ids and names. Searches and
    indexing go on meanwhile. Killed, the same command goes on. Exit code 3: the gate refused.

    \b
    Examples:
      indexer retrain --budget 45m
      indexer retrain --method pairs --dry-run --json
    """
    from trainer.retrain.run import RetrainOptions

    options = RetrainOptions(method, budget, dry_run, force, seed)  # type: ignore[arg-type]  # one of the choices
    with app.collection() as collection, working(app, resumable=True) as progress:
        report = collection.retrain(options, progress=progress)
    if as_json:
        print_json(report.counts())
    else:
        for name, judged in report.judged.items():
            say(judgement(name, judged))
            say("")
        say(f"{report.verdict}: {clean(report.reason)}")
    if report.verdict == "refused":
        raise SystemExit(REFUSED)
