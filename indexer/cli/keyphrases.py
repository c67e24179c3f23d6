"""indexer keyphrases"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.options import reading_options
from indexer.cli.output import print_json, say, table
from indexer.cli.show import marked_text
from indexer.export import serialize
from indexer.export.formatting import clean

if TYPE_CHECKING:
    from indexer.readers import ReadOptions
    from indexer.records import Keyphrase


@command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most so many.  [default: 10]")
@click.option("--mark", is_flag=True, help="Print the text too, with the keyphrases marked in it.")
@reading_options
@json_option
@pass_app
def keyphrases(
    app: App, file: Path, limit: int | None, mark: bool, options: ReadOptions, as_json: bool
) -> None:
    """Find the keyphrases of one document, without a collection.

    FILE is a text, Markdown, HTML, PDF or Word file, or - for plain text from standard input. The
    document is not stored; only what was measured on this machine is kept in the home. Places are characters of
    the title or text, from 0, the end not included.

    \b
    Examples:
      indexer keyphrases paper.pdf
      pbpaste | indexer keyphrases - --mark
      indexer keyphrases abstract.txt --limit 5 --json
    """
    from indexer.readers import read_one

    document = read_one(file, options)
    settings = app.settings()
    with app.aside(settings) as collection:
        found = collection.keyphrases(document, limit=limit)
    if as_json:
        print_json([serialize.keyphrase(keyphrase) for keyphrase in found])
        return
    if mark:
        say(marked_text(document, found) + "\n")
    say(rendered(found) or "no keyphrases")


def rendered(found: Sequence[Keyphrase]) -> str:
    """Keyphrases, one on a line."""
    return table(
        [
            (
                f"{k.score:.2f}",
                clean(k.text),
                " ".join(f"{p.field}:{p.start}-{p.end}" for p in k.places) or "not in the text",
            )
            for k in found
        ],
        head=("score", "keyphrase", "places"),
    )
