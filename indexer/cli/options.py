"""Options that several commands share: filters of a search, the topic model, sources and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from indexer.cli import completion

Function = Callable[..., Any]


def filter_options(function: Function) -> Function:
    """Add ``--topic``, ``--keyphrase``, ``--where``, ``--hide-duplicates``: the argument `filters: list[Filter]`."""

    @click.option("--topic", "topics", multiple=True, metavar="TOPIC", shell_complete=completion.topics,
                  help="Only documents with this topic: id, number or label. Several: one of them.")  # fmt: skip
    @click.option("--keyphrase", "keyphrases", multiple=True, metavar="PHRASE",
                  help="Only documents with this keyphrase. Several: one of them.")  # fmt: skip
    @click.option("--where", "conditions", multiple=True, metavar="CONDITION",
                  shell_complete=completion.fields,
                  help="Only documents whose field matches: label=cs.RO, 'year>=2015', lang!=de.")  # fmt: skip
    @click.option("--hide-duplicates", is_flag=True,
                  help="Only one of each group of near duplicates: the original.")  # fmt: skip
    @wraps(function)
    def filtered(
        *args: Any, topics: Any, keyphrases: Any, conditions: Any, hide_duplicates: bool, **kwargs: Any
    ) -> Any:
        from indexer.engines.base import NO_DUPLICATES, Filter
        from indexer.search.query import parse_filter

        filters = [
            *(Filter("topic", "=", topic) for topic in topics),
            *(Filter("keyphrase", "=", keyphrase) for keyphrase in keyphrases),
            *map(parse_filter, conditions),
            *([NO_DUPLICATES] if hide_duplicates else []),
        ]
        return function(*args, filters=filters, **kwargs)

    return filtered


class TopicsParam(click.ParamType):  # type: ignore[type-arg]
    """The number of topics, the topic model, or both."""

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
    "--topics", type=TopicsParam(), metavar="N|MODEL",
    help="Approximate number of topics (40), a topic model of docs/topics.md (pntm), or both (pntm:40).  "
    "[default: chosen from the texts]",
)  # fmt: skip


class LevelsParam(click.ParamType):  # type: ignore[type-arg]
    """The number of levels, or the number of topics at each."""

    name = "levels"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from indexer.errors import SettingsError
        from indexer.topics.levels import Levels

        try:
            return str(Levels.read(value))
        except SettingsError as error:
            self.fail(str(error), param, ctx)


levels_option = click.option(
    "--levels", type=LevelsParam(), metavar="N|N,N",
    help="Levels of topics (2), or the number of topics at each (7,20).  "
    "[default: more than twelve topics are grouped under parents]",
)  # fmt: skip

sources_argument = click.argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)


def reading_options(function: Function) -> Function:
    """Add the options for reading files; the command gets them as `options: ReadOptions`."""

    @click.option("--text-field", metavar="FIELD", default="",
                  help="Field with the text; several as a,b.  [default: text, body, content or abstract]")  # fmt: skip
    @click.option("--title-field", metavar="FIELD", default="",
                  help="Field with the title.  [default: title]")  # fmt: skip
    @click.option("--id-field", metavar="FIELD", default="",
                  help="Field with the id.  [default: id, else a hash of the content]")  # fmt: skip
    @click.option("--delimiter", metavar="CHARACTER", default="",
                  help="Delimiter of a CSV file, or 'tab'.  [default: as in its header]")  # fmt: skip
    @wraps(function)
    def reading(
        *args: Any, text_field: str, title_field: str, id_field: str, delimiter: str, **kwargs: Any
    ) -> Any:
        from indexer.readers import ReadOptions

        return function(*args, options=ReadOptions(text_field, title_field, id_field, delimiter), **kwargs)

    return reading
