"""indexer topics list"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from indexer import plain
from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.text import print_json, say, table
from indexer.wording import clean

if TYPE_CHECKING:
    from indexer.records import Topic

PHRASES_SHOWN = 6


@command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List all topics, largest first, with their leading phrases.

    \b
    Examples:
      indexer topics
      indexer topics list --json
    """
    with app.collection() as collection:
        found = collection.topics()
    if as_json:
        print_json([plain.topic(topic) for topic in found])
    else:
        say(rendered(found) or "no topics yet")


def rendered(topics: Sequence[Topic]) -> str:
    """Topics, one on a line."""
    return table(
        [
            (topic.id, f"{topic.size:,}", clean(topic.label), clean("; ".join(topic.phrases[:PHRASES_SHOWN])))
            for topic in topics
        ],
        head=("id", "documents", "label", "leading phrases"),
        right=(1,),
    )
