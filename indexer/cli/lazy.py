"""Groups whose commands are imported when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

Sections = Mapping[str, Mapping[str, str]]  # heading ► command ► "module:attribute"


class LazyGroup(click.Group):
    """A group that knows the names of its commands, and imports a command when it is called or listed.

    Args:
        sections: Headings of the help page, each with its commands.
    """

    def __init__(self, *args: Any, sections: Sections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections
        self._places = {name: place for commands in sections.values() for name, place in commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._places:
            return None
        module, attribute = self._places[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._places and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{name}'.{self._nearest(name)}")
        return super().resolve_command(ctx, args)

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches

        return "".join(f" Did you mean '{near}'?" for near in get_close_matches(name, self._places, n=1))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(len(name) for name in self._places)
        for heading, names in self._sections.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [
                (name.ljust(longest), command.get_short_help_str(formatter.width - longest - 6))
                for name, command in found
                if command is not None
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)
