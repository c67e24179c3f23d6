"""Keeps docs/commands.md true: the help of every command stands in it word for word.

    python -m indexer.cli.reference docs/commands.md            writes the blocks anew
    python -m indexer.cli.reference docs/commands.md --check    exits with 1 when that would change something

A block begins with ``<!-- help: topics show -->`` (nothing after the colon: the program itself) and is followed by a
fenced text. What stands between the blocks is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from indexer.cli.root import main

WIDTH = 98  # what click leaves for text on a terminal of a hundred columns
BLOCK = re.compile(r"<!-- help: ?(?P<name>[a-z -]*?) ?-->\n(?:```text\n.*?\n```\n)?", re.DOTALL)


def commands() -> Iterator[str]:
    """The names of all commands as they are typed, groups included: "index", "topics", "topics show"."""
    yield from _below(main, "")


def _below(group: click.Group, prefix: str) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{prefix}{name}"
        if isinstance(command, click.Group):
            yield from _below(command, f"{prefix}{name} ")


def help_of(name: str) -> str:
    """What ``indexer NAME --help`` prints on a terminal of a hundred columns."""
    settings = {"terminal_width": WIDTH, **main.context_settings}
    context = click.Context(main, info_name="indexer", **settings)
    for part in name.split():
        group = context.command
        command = group.get_command(context, part) if isinstance(group, click.Group) else None
        if command is None:
            raise KeyError(name)
        context = click.Context(command, info_name=part, parent=context)
    return context.command.get_help(context)


def rewritten(page: str) -> str:
    """The page with every block as the program says it now."""

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- help: {name} -->\n```text\n{help_of(name)}\n```\n".replace("help:  -->", "help: -->")

    return BLOCK.sub(block, page)


@click.command()
@click.argument("page", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when the page is not up to date.")
def reference(page: Path, check: bool) -> None:
    """Bring the help texts in PAGE up to date."""
    old = page.read_text(encoding="utf-8")
    new = rewritten(old)
    if new == old:
        return
    if check:
        raise click.ClickException(f"{page} is not up to date: python -m indexer.cli.reference {page}")
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    reference()
