"""Write docs/commands.md from the help of every command: `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from indexer.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"


def reference() -> str:
    """The whole page as Markdown."""
    root = click.Context(main, info_name="indexer", **main.context_settings)
    blocks = ["# Commands", "Written by `make docs` from `indexer COMMAND --help`.", *_description(main)]
    blocks += ["Options of every command, before or after its name:", _options(root)]
    for heading, context in _sections(root):
        blocks += [f"## {heading}"] if heading else []
        blocks += _command(context)
    return "\n\n".join(blocks) + "\n"


def commands(parent: click.Context | None = None) -> Iterator[click.Context]:
    """Contexts of all commands and groups below a group, in the order of its help."""
    parent = parent or click.Context(main, info_name="indexer", **main.context_settings)
    group = parent.command
    if isinstance(group, click.Group):
        for name in group.list_commands(parent):
            command = group.get_command(parent, name)
            assert command is not None
            context = click.Context(command, info_name=name, parent=parent)
            yield context
            yield from commands(context)


def _sections(root: click.Context) -> Iterator[tuple[str, click.Context]]:
    """All commands; the first one of a section with its heading."""
    from indexer.cli.app import SECTIONS

    headings = {next(iter(names)): heading for heading, names in SECTIONS.items()}
    for context in commands(root):
        top_level = context.parent is root
        yield headings.get(str(context.info_name), "") if top_level else "", context


def _command(context: click.Context) -> Iterator[str]:
    yield f"### {context.command_path}"
    yield f"`{context.command_path} {' '.join(context.command.collect_usage_pieces(context))}`"
    yield from _description(context.command)
    if options := _options(context):
        yield options


def _description(command: click.Command) -> Iterator[str]:
    """Paragraphs of the help; those that keep their line breaks are fenced."""
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        first, *lines = paragraph.split("\n")
        yield "\n".join(["```text", *lines, "```"]) if first == "\b" else " ".join([first, *lines])


def _options(context: click.Context) -> str:
    """A table of the visible options; --help is everywhere."""
    options = [option for option in context.command.params if isinstance(option, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context))]
    cells = [[cell.replace("|", "\\|") for cell in record] for record in records]
    rows = [f"| `{names}` | {text} |" for names, text in cells]
    return "\n".join(["| option | |", "|---|---|", *rows]) if rows else ""


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
