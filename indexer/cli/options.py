"""Options that several commands share: filters of a search, the topic model, sources and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
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
    from indexer.search.query import parse_filter

    return [
        *(Filter("topic", "=", topic) for topic in topics),
        *(Filter("keyphrase", "=", keyphrase) for keyphrase in keyphrases),
        *(parse_filter(condition) for condition in conditions),
    ]


class TopicsParam(click.ParamType):  # type: ignore[type-arg]
    """How many topics, by which finder, or both."""

    name = "topics"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        # Imported here: the help must not wait for numpy.
        from indexer.errors import SettingsError
        from indexer.topics.models.registry import TopicRequest

        try:
            TopicRequest.read(value)
        except SettingsError as error:
            self.fail(str(error), param, ctx)
        return str(value)


topics_option = click.option(
    "--topics", type=TopicsParam(), metavar="N|FINDER",
    help="About how many topics to find (40), by which finder (clusters, pntm, documents), or both (pntm:40).  "
    "[default: as many as suit the texts]",
)  # fmt: skip

sources_argument = click.argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)


def reading_options(function: Function) -> Function:
    """Add the options that say how to read; the command gets them as `options: ReadOptions`."""

    @click.option("--text-field", metavar="FIELD", default="",
                  help="Field with the text; several as a,b.  [default: text, body, content or abstract]")  # fmt: skip
    @click.option("--title-field", metavar="FIELD", default="",
                  help="Field with the title.  [default: title]")  # fmt: skip
    @click.option("--id-field", metavar="FIELD", default="",
                  help="Field with the id.  [default: id, else a hash of the content]")  # fmt: skip
    @click.option("--delimiter", metavar="CHARACTER", default="",
                  help="What stands between the cells of a CSV file, or 'tab'.  [default: as in its head]")  # fmt: skip
    @wraps(function)
    def reading(
        *args: Any, text_field: str, title_field: str, id_field: str, delimiter: str, **kwargs: Any
    ) -> Any:
        from indexer.readers import ReadOptions

        options = ReadOptions(text_field, title_field, id_field, delimiter)
        return function(*args, options=options, **kwargs)

    return reading
