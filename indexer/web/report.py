"""A self-contained HTML report of a collection's topics: map, table, examples."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files

from indexer.collection import Collection
from indexer.web.pages.charts import shortened
from indexer.web.pages.map_layout import pictures
from indexer.web.pages.rendering import render
from indexer.web.pages.topics import InOrder, groups

EXAMPLES = 3  # documents of a topic
BEGIN = 280  # characters of each


def report(collection: Collection) -> str:
    """The file, as HTML."""
    drawn = pictures(collection)
    spots = drawn[0].map.spots
    tree = collection.topic_tree()
    style = (files("indexer.web") / "static" / "style.css").read_text(encoding="utf-8")
    return render(
        "report.html",
        collection=collection.title,
        style=style,
        pictures=drawn,
        spots=spots,
        groups=groups(spots, tree),
        sections=groups(spots, tree),
        order=InOrder(),
        trends=collection.topic_trends(),
        details=[collection.topic(spot.topic.id, documents=EXAMPLES) for spot in spots],
        info=collection.engine.info(),
        begin=lambda text: shortened(" ".join(text[: 4 * BEGIN].split()), BEGIN),
        now=datetime.now(UTC),
        base="#",
    )
