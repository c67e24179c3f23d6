"""indexer topics show"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import (
    bold,
    dim,
    facts,
    print_json,
    say,
    table,
)
from indexer.cli.topics.history import events_table
from indexer.export import serialize
from indexer.export.formatting import clean, percent

if TYPE_CHECKING:
    from indexer.topics.history import TopicDetails

WHOLLY = 0.995  # weight from which on a share says nothing: 100 %


@command()
@click.argument("topic")
@click.option("--documents", type=click.IntRange(0), default=5, show_default=True, help="Documents to show.")
@json_option
@pass_app
def show(app: App, topic: str, documents: int, as_json: bool) -> None:
    """Show phrases, documents and history of a topic.

    \b
    Examples:
      indexer topics show 3
      indexer topics show t-000003 --documents 20
      indexer topics show 'ocean waves' --json
    """
    with app.collection() as collection:
        details = collection.topic(topic, documents=documents)
    if as_json:
        print_json(serialize.topic_details(details))
    else:
        say(rendered(details))


def rendered(details: TopicDetails) -> str:
    """Facts, documents, history."""
    topic = details.topic
    blocks = [
        facts(
            [
                (
                    "topic",
                    bold(clean(topic.label)) + (dim("  (named by hand)") if topic.label_locked else ""),
                ),
                ("id", topic.id),
                ("documents", f"{topic.size:,}"),
                ("phrases", clean("; ".join(topic.phrases))),
                *(("became too", clean(f"{other.id} '{other.label}'")) for other in details.others),
            ]
        )
    ]
    if details.significant_keyphrases:
        telling = [
            (clean(s.keyphrase), f"{s.documents:,} of {s.everywhere:,}")
            for s in details.significant_keyphrases
        ]
        blocks.append(table(telling, head=("special here", "documents, of all with it"), right=(1,)))
    if details.documents:
        weights = [serialize.weight(d, topic.id) for d in details.documents]
        named = [(clean(d.document.id), clean(d.document.name)) for d in details.documents]
        if min(weights) < WHOLLY:
            shares = [(percent(weight), *names) for weight, names in zip(weights, named, strict=True)]
            blocks.append(table(shares, head=("share", "id", "document"), right=(0,)))
        else:
            blocks.append(table(named, head=("id", "document")))
    blocks.append(events_table(details.history))
    return "\n\n".join(blocks)
