"""The option of the commands that find topics."""

from __future__ import annotations

from typing import Any

import click


class Topics(click.ParamType):  # type: ignore[type-arg]
    """How many topics, by which finder, or both."""

    name = "topics"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        # Imported here: the help must not wait for numpy.
        from indexer.analysis.finders import Asked
        from indexer.errors import SettingsError

        try:
            Asked.read(value)
        except SettingsError as error:
            self.fail(str(error), param, ctx)
        return str(value)


topics_option = click.option(
    "--topics", type=Topics(), metavar="N|FINDER",
    help="About how many topics to find (40), by which finder (clusters, pntm, documents), or both (pntm:40).  "
    "[default: as many as suit the texts]",
)  # fmt: skip
