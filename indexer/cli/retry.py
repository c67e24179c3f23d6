"""indexer retry"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.index import show_report
from indexer.cli.output import print_json, say, working
from indexer.export.formatting import count

if TYPE_CHECKING:
    from indexer.collection import Collection


@command()
@click.option("--drop", multiple=True, metavar="NUMBER|STAGE|all",
              help="Take these off the list instead, without trying them. Several: --drop 3 --drop 4")  # fmt: skip
@json_option
@pass_app
def retry(app: App, drop: tuple[str, ...], as_json: bool) -> None:
    """Do again what could not be processed before.

    Reads the files of the dead letters once more, and mines what was stored and not mined. What succeeds
    leaves the list; what fails again stays on it. A document of which a newer version was stored since, from
    another file, stays as it is. See the list: indexer status --dead

    \b
    Examples:
      indexer retry
      indexer retry --drop 3
      indexer retry --drop read
    """
    if drop:
        with app.collection() as collection:
            dropped = _drop(collection, drop)
        if as_json:
            print_json({"dismissed": dropped})
        else:
            say(f"{count(dropped, 'dead letter')} dropped")
        return
    with working(app) as progress, app.collection() as collection:
        report = collection.retry(progress=progress)
    show_report(app, report, as_json=as_json)


def _drop(collection: Collection, named: tuple[str, ...]) -> int:
    from indexer.catalog.entries import STAGES

    numbers = [int(one) for one in named if one.isdecimal()]
    stages = STAGES if "all" in named else tuple(stage for stage in STAGES if stage in named)
    unknown = [one for one in named if not one.isdecimal() and one not in (*STAGES, "all")]
    there = {letter.id for letter in collection.dead_letters()}
    unknown += [str(number) for number in numbers if number not in there]
    if unknown:
        raise click.UsageError(
            f"There is no dead letter and no stage '{unknown[0]}'. See the list: indexer status --dead"
        )
    dropped = collection.dismiss(numbers)
    return dropped + (collection.dismiss(stages=stages) if stages else 0)
