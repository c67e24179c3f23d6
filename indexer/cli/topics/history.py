"""indexer topics history"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import print_json, say, table
from indexer.export import serialize
from indexer.export.formatting import clean, describe_event, moment

if TYPE_CHECKING:
    from indexer.topics.history import TopicHistory


@command()
@click.argument("topic")
@json_option
@pass_app
def history(app: App, topic: str, as_json: bool) -> None:
    """List what became of TOPIC through all fits, oldest first.

    Also of one that is retired: ids are never given out twice.

    \b
    Examples:
      indexer topics history 3
      indexer topics history t-000003 --json
    """
    with app.collection() as collection:
        found = collection.topic_history(topic)
    if as_json:
        print_json(serialize.topic_history(found))
        return
    say(f"{found.entry.id} {clean(found.entry.label)}: {_now(found)}")
    say("")
    say(events_table(found))


def _now(found: TopicHistory) -> str:
    if found.entry.state == "live":
        return f"live, {found.entry.size:,} documents"
    heirs = ", ".join(found.successors)
    return f"retired; it leads to {heirs}" if heirs else "retired, without a successor"


def events_table(history: TopicHistory) -> str:
    """When, by which run, what happened, and the name that the topic had then."""
    rows = [
        (
            moment(event.entry.at),
            event.by,
            clean(what),
            clean(event.entry.label) if event.entry.new_id == history.entry.id else "",
        )
        for event, what in describe_event(history)
    ]
    return table(rows, head=("when", "by", "what happened", "name"))
