"""indexer demo"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.cli.app import App, command, pass_app, program
from indexer.cli.index import show_report
from indexer.cli.output import bold, dim, say, working
from indexer.cli.phrases import format_mentions, format_phrases
from indexer.cli.search import format_document, format_results
from indexer.cli.topics import format_topics, format_votes
from indexer.export import serialize
from indexer.export.formatting import count

if TYPE_CHECKING:
    from indexer.cli.opened import OpenedCollection

HOME = Path(".indexer-demo")
SAMPLE = "arxiv_sample600.jsonl"  # 600 abstracts of ten fields, CC0

QUERY = "neural networks"
CONDITION = "date>=2010"
PHRASE = "stock market"
IN_CONTEXT = "Ocean [[waves]] break on the beach."
TOPICS_SHOWN = 10
VOTES_SHOWN = 8


@command()
@pass_app
def demo(app: App) -> None:
    """Index 600 abstracts and show what can be done.

    The abstracts are shipped with the program (arXiv, ten fields). Makes ./.indexer-demo, or --home PATH. The
    first time takes a minute or two; after that, everything is there already. It ends with commands to try
    next.

    \b
    Example:
      indexer demo
    """
    settings = app.settings(home=HOME)
    app.flags.setdefault("home", settings.home)
    with app.collection(settings, make=True) as collection:
        _make(app, collection)
        _tour(app, collection)


def _make(app: App, collection: OpenedCollection) -> None:
    """Index the sample, unless that has been done."""
    with as_file(files("indexer") / "data" / SAMPLE) as sample:
        with sample.open("rb") as lines:
            documents = sum(1 for _ in lines)
        if collection.catalog.count(collection.name)["done"] >= documents:
            return
        say(f"Reading and mining {count(documents, 'abstract')}, the first time only.")
        with working(app) as progress:
            collection.progress = progress
            report = collection.index([sample], progress=progress)
    show_report(app, report, as_json=False)


def _tour(app: App, collection: OpenedCollection) -> None:
    topics = collection.topics()
    labels = serialize.labels_of(topics)
    _step(app, "Topics that were found, with documents and leading phrases", "topics")
    say(format_topics([(0, topic) for topic in topics[:TOPICS_SHOWN]]))
    if len(topics) > TOPICS_SHOWN:
        say(dim(f"and {len(topics) - TOPICS_SHOWN:,} more"))

    from indexer.search.query import parse_filter

    _step(
        app,
        "Search by words and by meaning, with facets",
        f"search {QUERY} --where '{CONDITION}' --facet topic --facet label --limit 3",
    )
    results = collection.search(
        QUERY, filters=[parse_filter(CONDITION)], facets=("topic", "label"), facet_size=5, limit=3
    )
    say(format_results(results))

    _step(app, "Phrases that mean nearly the same", f"phrases {PHRASE}")
    say(format_phrases(collection.phrases(PHRASE, limit=6), labels))

    _step(app, "A phrase in its context", f"phrases --in '{IN_CONTEXT}' --limit 4")
    near = collection.phrases_in(IN_CONTEXT, limit=4)
    say(format_mentions(near, collection.titles([row.document_id for row, _ in near])))

    several = [hit for hit in results.hits if len(hit.stored.topics) > 1]  # say more when asked why
    chosen = (several or results.hits)[0].stored.document.id
    _step(app, "A document, with its keyphrases marked", f"show {chosen}")
    say(format_document(collection.document(chosen), labels))

    _step(app, "Why it has these topics", f"topics why {chosen}")
    say(format_votes(collection.why(chosen), labels, limit=VOTES_SHOWN))

    say(f"\n{bold('Next steps')}\n")
    for text in (
        "topics show 1",
        "topics rename 1 'A better name'",
        "search --topic 1 --facet label",
        "status",
    ):
        say(f"  {app.again(text)}")
    say(f"\n{bold('The same on your own files')}\n")
    for text in ("index FILE_OR_FOLDER", "topics", "search WORDS"):
        say(f"  {program()} {text}")


def _step(app: App, title: str, typed: str) -> None:
    say(f"\n{bold(title)}")
    say(dim(f"$ {app.again(typed)}"))
    say()
