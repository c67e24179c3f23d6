"""indexer topics list"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from indexer.cli.app import App, command, json_option, pass_app
from indexer.cli.output import print_json, say, table
from indexer.export import serialize
from indexer.export.formatting import clean, growth

if TYPE_CHECKING:
    from indexer.records import Topic
    from indexer.search.trends import Trends

PHRASES_SHOWN = 6


@command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List all topics, largest first, with their leading phrases.

    Where documents have dates, it says how the share of each topic among the newest fifth of them differs from its
    share before; not where fewer than five documents could be expected in one of both.

    \b
    Examples:
      indexer topics
      indexer topics list --json
    """
    with app.collection() as collection:
        found = collection.topics()
        trends = collection.topic_trends()
    if as_json:
        print_json([serialize.growing(topic, trends) for topic in found])
    else:
        say(rendered(found, trends) or "no topics yet")


def rendered(topics: Sequence[Topic], trends: Trends | None = None) -> str:
    """Topics, one on a line; with how they grow, where documents have dates."""
    rows = [
        (topic.id, f"{topic.size:,}", clean(topic.label), clean("; ".join(topic.phrases[:PHRASES_SHOWN])))
        for topic in topics
    ]
    head = ("id", "documents", "label", "leading phrases")
    if trends is None:
        return table(rows, head=head, right=(1,))
    grown = [growth(trends.by_topic.get(topic.id)) for topic in topics]
    with_growth = [(*row[:2], how, *row[2:]) for row, how in zip(rows, grown, strict=True)]
    return table(with_growth, head=(*head[:2], f"growth since {trends.since}", *head[2:]), right=(1, 2))
