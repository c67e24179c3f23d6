"""indexer doctor: checks, the quick ones first, each shown as soon as it is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, is_there, json_option, pass_app
from indexer.cli.doctor.checks import Check, Found
from indexer.cli.output import pad, print_json, say, table
from indexer.export.formatting import clean, count

if TYPE_CHECKING:
    from indexer.settings import Settings

COLOURS = {"OK": "green", "WARN": "yellow", "FAIL": "red"}
STATES, NAMES = 4, 12  # columns: FAIL, dead letters


@command()
@click.option("--remove-unfinished", is_flag=True,
              help="Remove generations that are unfinished and that no process is building.")  # fmt: skip
@click.option("--deep", is_flag=True, help="Compare everything with what was written, not a sample.")
@click.option("--repair", is_flag=True,
              help="Do that, and write again what is damaged and can be made again.")  # fmt: skip
@json_option
@pass_app
def doctor(app: App, remove_unfinished: bool, deep: bool, repair: bool, as_json: bool) -> None:
    """Check installation, home, servers, collection and encoder.

    --repair makes vectors, keyphrases, phrases, topics and indexes of the tables again, and names the files to index
    again where texts are lost. It leaves the rest of a collection as it is.

    Each line is OK, WARN (it works, and something should be known) or FAIL. Exits with 1 when a check failed.

    \b
    Examples:
      indexer doctor
      indexer doctor --deep
      indexer doctor --repair
      indexer doctor --remove-unfinished
      indexer doctor --json
    """
    found: list[Check] = []
    for one in _checks(app, remove_unfinished, deep=deep, repair=repair):
        check = replace(one, hint=app.completed(one.hint))
        found.append(check)
        if not as_json:
            say(_row(check))
    if as_json:
        print_json([{"check": c.name, "state": c.state, "found": c.found, "hint": c.hint} for c in found])
    else:
        say(f"\n{_end(found)}")
    if any(check.state == "FAIL" for check in found):
        click.get_current_context().exit(1)


def _row(check: Check) -> str:
    """One check, the hint below."""
    state = click.style(check.state, fg=COLOURS[check.state])
    said = clean(check.found) + (f"\n{clean(check.hint)}" if check.hint else "")
    return table([(pad(state, STATES), pad(check.name, NAMES), said)])


def _end(found: list[Check]) -> str:
    failed, warned = (sum(check.state == state for check in found) for state in ("FAIL", "WARN"))
    if not failed and not warned:
        return "all is well"
    return f"{count(failed, 'check')} failed, {count(warned, 'warning')}"


def _checks(app: App, remove_unfinished: bool, *, deep: bool, repair: bool) -> Iterator[Check]:
    """All of them; those that load the encoder and measure it take seconds, and come last."""
    from indexer.cli.doctor import machine, places

    settings = app.settings()
    yield from machine.python()
    yield from machine.packages()
    yield from machine.home(settings)
    yield from machine.sqlite()
    answering = True
    for check in _of_places(settings):
        yield check
        answering = answering and check.state != "FAIL"
    if settings.broker:
        yield from places.broker(settings)
    if answering:
        yield from _of_collection(app, settings, remove_unfinished, deep=deep, repair=repair)
    yield from machine.threads(settings)
    yield from machine.tagger(settings)
    yield from machine.encoder(settings)


def _of_places(settings: Settings) -> Found:
    from indexer.cli.doctor import places
    from indexer.engines.registry import is_elasticsearch

    if is_elasticsearch(settings):
        yield from places.server(settings)
    yield from places.catalog(settings)


def _of_collection(
    app: App, settings: Settings, remove_unfinished: bool, *, deep: bool, repair: bool
) -> Found:
    from indexer.cli.doctor import collection as checks
    from indexer.errors import IndexerError, NotFound

    if not is_there(settings):
        hint = f"Make one: {app.again('index SOURCE')}"
        yield Check("collection", "OK", f"none yet in {settings.home}", hint)
        return
    try:
        opened = app.collection(settings)
    except IndexerError as error:
        yield Check("collection", "OK" if isinstance(error, NotFound) else "FAIL", str(error), error.hint)
        return
    with opened as collection:
        yield from checks.generations(app, collection, remove=remove_unfinished)
        if repair:  # the checks below then say what is left
            yield from checks.repaired(app, collection)
        yield from checks.engine(collection)
        if not repair:
            yield from checks.integrity(app, collection, deep=deep)
        yield from checks.counts(app, collection)
        yield from checks.runs(app, collection)
        yield from checks.letters(app, collection)
