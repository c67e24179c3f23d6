"""What the shell completes: topics and fields of the collection.

A shell that waits for a Tab shows no error: where the collection cannot be read, nothing is completed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from indexer.cli.app import App

if TYPE_CHECKING:
    from indexer.collection import Collection

MOST = 50


def topics(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return labels that begin so, with the number of documents."""
    return _read(
        context,
        lambda collection: [
            CompletionItem(topic.label, help=f"{topic.size:,} documents")
            for topic in collection.topic_tree().topics
            if topic.label.casefold().startswith(typed.casefold())
        ],
    )


def fields(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return names of the documents' own fields that begin so."""
    return _read(
        context,
        lambda collection: [
            CompletionItem(name) for name in collection.engine.fields() if name.startswith(typed)
        ],
    )


def facets(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return what can be counted and begins so."""
    ours = ("topic", "keyphrase", "absent_keyphrase")
    named = [CompletionItem(name) for name in ours if name.startswith(typed)]
    return [*named, *fields(context, parameter, typed)]


def _read(context: click.Context, find: Callable[[Collection], list[CompletionItem]]) -> list[CompletionItem]:
    from indexer.errors import IndexerError

    try:
        with context.ensure_object(App).collection() as collection:
            return find(collection)[:MOST]
    except IndexerError:
        return []
