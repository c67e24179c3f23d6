"""Options of the commands that read sources."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

Function = Callable[..., Any]

sources_argument = click.argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)


def reading_options(function: Function) -> Function:
    """Add the options that say how to read; the command gets them as `options: ReadOptions`."""

    @click.option("--text-field", metavar="FIELD", default="",
                  help="Field with the text; several as a,b.  [default: text, body, content or abstract]")  # fmt: skip
    @click.option("--title-field", metavar="FIELD", default="",
                  help="Field with the title.  [default: title]")  # fmt: skip
    @click.option("--id-field", metavar="FIELD", default="",
                  help="Field with the id.  [default: id, else a hash of the content]")  # fmt: skip
    @click.option("--delimiter", metavar="CHARACTER", default="",
                  help="What stands between the cells of a CSV file, or 'tab'.  [default: as in its head]")  # fmt: skip
    @wraps(function)
    def reading(
        *args: Any, text_field: str, title_field: str, id_field: str, delimiter: str, **kwargs: Any
    ) -> Any:
        from indexer.readers import ReadOptions

        options = ReadOptions(text_field, title_field, id_field, delimiter)
        return function(*args, options=options, **kwargs)

    return reading
