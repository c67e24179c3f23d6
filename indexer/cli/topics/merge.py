"""indexer topics merge"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import print_json, say, working
from indexer.export import serialize
from indexer.export.formatting import clean, count


@command()
@click.argument("into")
@click.argument("others", nargs=-1, required=True)
@json_option
@pass_app
def merge(app: App, into: str, others: tuple[str, ...], as_json: bool) -> None:
    """Make one topic of several.

    INTO keeps its id and name, OTHERS retire. The ids of the retired topics lead to INTO from now on. It cannot
    be undone.

    \b
    Example:
      indexer topics merge 3 7 12
    """
    with working(app) as progress, app.collection() as collection:
        topic, changed = collection.merge_topics(into, others, progress=progress)
    if as_json:
        print_json({**serialize.topic(topic), "changed": changed})
    else:
        say(clean(f"{topic.id} '{topic.label}' has {count(topic.size, 'document')} now, {changed:,} changed"))
