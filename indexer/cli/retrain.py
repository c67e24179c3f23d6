"""indexer retrain."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.models import gate_table
from indexer.cli.output import print_json, say, warn, working
from indexer.cli.train import Duration, seed_option
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from trainer.retrain.report import RetrainReport

REFUSED = 3  # exit code when the gate said no
EXAMPLES = click.Path(exists=True, dir_okay=False, path_type=Path)
NICE = 10  # searches on this machine come first


@command()
@click.option("--if-drifted", is_flag=True,
              help="Only if new documents differ from the old ones, or are very many.")  # fmt: skip
@click.option("--method", type=click.Choice(["pairs", "ccl", "both"]), default="both", show_default=True,
              help="Learn from phrases in two texts, from clusters, or from one after the other.")  # fmt: skip
@click.option("--budget", type=Duration(), default="0s", metavar="TIME",
              help="Stop the trainings in time, for example 45m; judging and building come on top.")  # fmt: skip
@click.option("--ground-truth", type=EXAMPLES, metavar="FILE",
              help="Labelled examples that decide too: JSON Lines, see docs/retraining.md.")  # fmt: skip
@click.option("--gold", type=EXAMPLES, hidden=True)  # its name in version 0.1.0
@click.option("--candidate", default="", metavar="BUNDLE",
              help="Train nothing: judge this encoder, by its name or folder.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Train and judge; build and change nothing.")
@click.option(
    "--force", is_flag=True, help="Train although nothing changed, and swap even if the gate refuses."
)
@click.option("--workers", is_flag=True, help="Leave it to workers, and do not wait.")
@click.option(
    "--give-up", is_flag=True, help="Cancel a retrain that was left to workers, and start no other."
)
@seed_option
@json_option
@pass_app
def retrain(app: App, /, as_json: bool, workers: bool, give_up: bool, **given: Any) -> None:
    """Adapt the encoder to the collection; swap only if better.

    Trains on the collection's own texts, compares the new encoder with the old one on texts set aside, builds the next
    generation next to the live one, and switches to it in one step. Topics keep their ids and names. Searches and
    indexing continue. Killed, the same command resumes.

    Exit code 0: swapped, or nothing to do; 3: refused; 1: failed.

    \b
    Examples:
      indexer retrain --if-drifted --budget 45m
      indexer retrain --method pairs --dry-run --json
      indexer retrain --ground-truth examples.jsonl
      indexer retrain --candidate my-encoder --dry-run
    """
    from trainer.retrain.report import RetrainOptions

    given["ground_truth"] = given.pop("gold") or given["ground_truth"]
    if give_up:
        _cancel(app)
        return
    if given["candidate"] and given["budget"]:
        raise click.UsageError("--candidate trains nothing, so it has no --budget.")
    if given["force"] and given["if_drifted"]:
        raise click.UsageError("--force has no condition, --if-drifted has one: give one of them.")
    given["candidate"] = _address(given["candidate"])
    options = RetrainOptions(**given)
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


def _cancel(app: App) -> None:
    from workers.retrain_tasks import cancel

    with app.collection() as collection:
        ended = cancel(collection.catalog, collection.name)
    say("cancelled; its progress is kept for the next one" if ended else "no retrain is left to workers")


def _address(candidate: str) -> str:
    """A folder from the root on; names have no separator."""
    return str(Path(candidate).absolute()) if os.sep in candidate else candidate


def _show(app: App, report: RetrainReport) -> None:
    for note in report.notes:
        warn(app.completed(clean(note)))
    for name, judged in report.judged.items():
        say(gate_table(name, judged))
        for reason in judged.reasons:
            say(reason)
        say("")
    outcome = "left to workers" if report.verdict == "paused" else report.verdict
    say(f"{outcome}: {app.completed(clean(report.reason))}")
