"""indexer topics rename"""

from __future__ import annotations

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import print_json, say
from indexer.export import serialize
from indexer.export.formatting import clean


@command()
@click.argument("topic")
@click.argument("label", required=False)
@click.option("--mined", is_flag=True, help="Take the name back: call it after its leading phrase again.")
@json_option
@pass_app
def rename(app: App, topic: str, label: str | None, mined: bool, as_json: bool) -> None:
    """Give TOPIC the name LABEL, or take such a name back.

    The id stays, and the name stays too when topics are found anew.

    \b
    Examples:
      indexer topics rename 3 'Ocean waves'
      indexer topics rename 3 --mined
    """
    if mined == (label is not None):
        raise click.UsageError("Give either a LABEL, or --mined.")
    with app.collection() as collection:
        before = {found.id: found.label for found in collection.topics()}
        renamed = collection.unname_topic(topic) if label is None else collection.rename_topic(topic, label)
    if as_json:
        print_json(serialize.topic(renamed))
    elif before[renamed.id] == renamed.label:
        say("nothing changed")
    else:
        say(clean(f"{renamed.id} is now '{renamed.label}' (was '{before[renamed.id]}')"))
