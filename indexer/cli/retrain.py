"""indexer retrain."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.gate import judgement
from indexer.cli.output import print_json, say, warn, working
from indexer.cli.train import Duration, seed_option
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from trainer.retrain.report import RetrainReport

REFUSED = 3  # exit code when the gate said no
NICE = 10  # searches on this machine come first


@command()
@click.option("--if-drifted", is_flag=True,
              help="Only if new documents are unlike the old ones, or very many.")  # fmt: skip
@click.option("--method", type=click.Choice(["pairs", "ccl", "both"]), default="both", show_default=True,
              help="Learn from phrases in two texts, from clusters, or from one after the other.")  # fmt: skip
@click.option("--budget", type=Duration(), default="0s", metavar="TIME",
              help="Stop the trainings in time, for example 45m; judging and building come on top.")  # fmt: skip
@click.option("--gold", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Labelled examples that decide too: JSON Lines, see docs/retraining.md.")  # fmt: skip
@click.option("--candidate", default="", metavar="BUNDLE",
              help="Train nothing: judge this encoder, by its name or folder.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Train and judge; build and change nothing.")
@click.option("--force", is_flag=True, help="Train though nothing changed, and swap whatever the gate says.")
@click.option("--workers", is_flag=True, help="Let workers do it, and do not wait.")
@click.option("--give-up", is_flag=True, help="End a retrain that was left to workers, and do no other.")
@seed_option
@json_option
@pass_app
def retrain(app: App, /, as_json: bool, workers: bool, give_up: bool, **asked: Any) -> None:
    """Adapt the encoder to the collection; swap only if better.

    Trains on the collection's own texts, compares the new encoder with the old one on texts kept aside, and builds the
    next generation beside the live one, which takes over in one step. Topics keep their ids and names. Searches and
    indexing go on meanwhile. Killed, the same command goes on.

    Exit code 0: swapped, or nothing to do; 3: refused; 1: failed.

    \b
    Examples:
      indexer retrain --if-drifted --budget 45m
      indexer retrain --method pairs --dry-run --json
      indexer retrain --gold examples.jsonl
      indexer retrain --candidate my-encoder --dry-run
    """
    from trainer.retrain.report import RetrainOptions

    if give_up:
        _give_up(app)
        return
    if asked["candidate"] and asked["budget"]:
        raise click.UsageError("--candidate trains nothing: there is no --budget for it.")
    if asked["force"] and asked["if_drifted"]:
        raise click.UsageError("--force asks for nothing, --if-drifted for something: give one of them.")
    asked["candidate"] = _address(asked["candidate"])
    options = RetrainOptions(**asked)
    with app.collection() as collection:
        if workers:
            from workers.retrain_tasks import enqueue

            report = enqueue(collection.settings, options)
        else:
            os.nice(NICE)
            with working(app, lines=True) as progress:
                report = collection.retrain(options, progress=progress)
    if as_json:
        print_json(report.counts())
    else:
        _show(app, report)
    if report.verdict == "refused":
        raise SystemExit(REFUSED)


def _give_up(app: App) -> None:
    from workers.retrain_tasks import give_up

    with app.collection() as collection:
        ended = give_up(collection.catalog, collection.name)
    say("given up; what it has done is kept for the next one" if ended else "no retrain is with workers")


def _address(candidate: str) -> str:
    """A folder from the root on; names have no separator."""
    return str(Path(candidate).absolute()) if os.sep in candidate else candidate


def _show(app: App, report: RetrainReport) -> None:
    for note in report.notes:
        warn(app.completed(clean(note)))
    for name, judged in report.judged.items():
        say(judgement(name, judged))
        for reason in judged.reasons:
            say(reason)
        say("")
    said = "with the workers" if report.verdict == "paused" else report.verdict
    say(f"{said}: {app.completed(clean(report.reason))}")
