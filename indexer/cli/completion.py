"""What the shell completes: topics and fields of the collection.

A shell that waits for a Tab shows no error: where the collection cannot be read, nothing is completed.
"""

from __future__ import annotations

from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from indexer.cli.app import App
from indexer.errors import IndexerError

MOST = 50


def topics(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return labels that begin so, with the number of documents."""
    with suppress(IndexerError), context.ensure_object(App).collection() as collection:
        beginning = typed.casefold()
        return [
            CompletionItem(topic.label, help=f"{topic.size:,} documents")
            for topic in collection.topics()
            if topic.label.casefold().startswith(beginning)
        ][:MOST]
    return []


def fields(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return names of the documents' own fields that begin so."""
    with suppress(IndexerError), context.ensure_object(App).collection() as collection:
        return [CompletionItem(name) for name in collection.engine.fields() if name.startswith(typed)][:MOST]
    return []


def facets(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return what can be counted and begins so."""
    ours = [
        CompletionItem(name) for name in ("topic", "keyphrase", "absent_keyphrase") if name.startswith(typed)
    ]
    return [*ours, *fields(context, parameter, typed)]
