"""indexer report"""

from __future__ import annotations

from pathlib import Path

import click

from indexer.cli.app import App, command, pass_app
from indexer.cli.output import say
from indexer.export.formatting import size


@command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@pass_app
def report(app: App, file: Path) -> None:
    """Write FILE, a web page about the topics of the collection.

    It has a map, a table, and of each topic its phrases and documents that stand for it. It is a single file that
    needs nothing else, to be sent to somebody. Titles and beginnings of texts are in it.

    \b
    Example:
      indexer report topics.html
    """
    from indexer.export.tables import save
    from indexer.web.report import report as made

    with app.collection() as collection:
        content = made(collection).encode("utf-8", "replace")
    save(file, [content])
    say(f"{file}: {size(len(content))}")
