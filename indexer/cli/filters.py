"""Options that narrow a search."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from indexer.engines.base import Filter

Function = Callable[..., Any]


def filter_options(function: Function) -> Function:
    """Add ``--topic``, ``--keyphrase`` and ``--where``; the command gets them as `filters: list[Filter]`."""

    @click.option("--topic", "topics", multiple=True, metavar="TOPIC",
                  help="Only documents with this topic: id, number or label. Several: one of them.")  # fmt: skip
    @click.option("--keyphrase", "keyphrases", multiple=True, metavar="PHRASE",
                  help="Only documents with this keyphrase. Several: one of them.")  # fmt: skip
    @click.option("--where", "conditions", multiple=True, metavar="CONDITION",
                  help="Only documents whose field fits: label=cs.RO, 'year>=2015', lang!=de.")  # fmt: skip
    @wraps(function)
    def narrowed(
        *args: Any,
        topics: tuple[str, ...],
        keyphrases: tuple[str, ...],
        conditions: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        return function(*args, filters=_filters(topics, keyphrases, conditions), **kwargs)

    return narrowed


def _filters(
    topics: tuple[str, ...], keyphrases: tuple[str, ...], conditions: tuple[str, ...]
) -> list[Filter]:
    from indexer.engines.base import Filter
    from indexer.search import parse_filter

    return [
        *(Filter("topic", "=", topic) for topic in topics),
        *(Filter("keyphrase", "=", keyphrase) for keyphrase in keyphrases),
        *(parse_filter(condition) for condition in conditions),
    ]
