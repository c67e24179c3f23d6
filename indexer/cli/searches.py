"""indexer searches: searches that are saved, and repeated after each run for what is new."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, Group, json_option, pass_app
from indexer.cli.options import filter_options
from indexer.cli.output import say, show_result, table
from indexer.export.formatting import clean, corrections, count, moment

if TYPE_CHECKING:
    from indexer.catalog import SavedSearch
    from indexer.engines.base import Filter
    from indexer.search.results import Mode

HEAD = ("name", "query", "mode", "to", "checked", "new", "problem")


@click.group(cls=Group, default="list")
def searches() -> None:
    """Save searches, and deliver what is new to them.

    After each run, new hits go to a file, an address or a command.

    A document counts when it was read, new or changed, after the search was saved. By words it must be found by the
    search; by meaning it must be among the 20 nearest, and close.

    \b
    Examples:
      indexer searches add wind 'solar wind' --file wind.jsonl
      indexer searches
    """


@searches.command()
@click.argument("name")
@click.argument("query", nargs=-1)
@click.option("--mode", type=click.Choice(["words", "meaning", "both"]), default="both", show_default=True,
              help="Find the words, documents similar in meaning, or both.")  # fmt: skip
@filter_options
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Add a line of JSON for each new hit.")  # fmt: skip
@click.option("--webhook", default="", metavar="URL", help="Send new hits of a run as JSON, by POST.")
@click.option("--command", "program", default="", metavar="COMMAND",
              help="Run a program for new hits, with a line of JSON for each; no shell (but: sh -c '...').")  # fmt: skip
@json_option
@pass_app
def add(
    app: App,
    name: str,
    query: tuple[str, ...],
    mode: Mode,
    filters: list[Filter],
    file: Path | None,
    webhook: str,
    program: str,
    as_json: bool,
) -> None:
    """Save a search under a name. Documents that are there already are not new to it.

    \b
    Examples:
      indexer searches add wind 'solar wind' --file wind.jsonl
      indexer searches add robots robot --where 'year>=2026' --webhook https://chat.example.org/hook
      indexer searches add ice 'sea ice' --command 'mail -s "New on sea ice" me@example.org'
    """
    from indexer.export.saved_searches import Wanted

    if sum(map(bool, (file, webhook, program))) != 1:
        raise click.UsageError("Say where new hits go: --file, --webhook or --command, one of them.")
    conditions = tuple((one.field, one.operator, one.value) for one in filters)
    path = str(file.absolute()) if file else ""
    wanted = Wanted(" ".join(query), mode, conditions, path, webhook, program)
    with app.collection() as collection:
        found = collection.add_saved_search(name, wanted)
    said = [f"Saved '{clean(name)}'.", *map(clean, corrections(found))]
    if mode != "meaning":
        said.append(f"It finds {count(found.total, 'document')} by words now.")
    text = " ".join([*said, "New hits are delivered after each run."])
    show_result({"name": name, "total": found.total}, text, as_json=as_json)


@searches.command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List saved searches: what they search, when they were checked, and how many new hits there were last.

    \b
    Examples:
      indexer searches
      indexer searches list --json
    """
    with app.collection() as collection:
        found = collection.saved_searches()
    text = table([_row(one) for one in found], head=HEAD, right=(5,)) or "no saved searches"
    show_result([asdict(one) for one in found], text, as_json=as_json)


@searches.command()
@click.argument("name")
@pass_app
def remove(app: App, name: str) -> None:
    """Remove a saved search; what it has delivered stays.

    \b
    Example:
      indexer searches remove wind
    """
    with app.collection() as collection:
        collection.remove_saved_search(name)
    say(f"Removed '{clean(name)}'.")


@searches.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
@pass_app
def check(app: App, names: tuple[str, ...], as_json: bool) -> None:
    """Look for new hits now, and deliver them. Each run does so at its end; exit code 1 if a delivery failed.

    \b
    Examples:
      indexer searches check
      indexer searches check wind
    """
    with app.collection() as collection:
        checked = collection.check_saved_searches(names or None)
    lines = [f"{clean(name)}: {count(new, 'new hit')}" for name, new in checked.found.items()]
    lines += [f"{clean(name)}: not delivered: {clean(reason)}" for name, reason in checked.failed.items()]
    show_result(asdict(checked), "\n".join(lines) or "no saved searches", as_json=as_json)
    click.get_current_context().exit(1 if checked.failed else 0)


def _row(saved: SavedSearch) -> tuple[str, ...]:
    search = saved.search
    conditions = " ".join(f"{field}{operator}{value}" for field, operator, value in search["filters"])
    targets = [search["file"], search["webhook"], search["command"]]
    return (
        clean(saved.name),
        clean(" ".join(filter(None, (search["query"], conditions)))),
        search["mode"],
        clean(", ".join(filter(None, targets))),
        moment(saved.checked_at) if saved.checked_at else "-",
        f"{saved.new:,}",
        clean(saved.error),
    )
