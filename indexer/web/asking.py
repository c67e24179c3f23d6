"""What requests ask for: filters, pages, limits, the same for the API and for the page."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query
from pydantic import StringConstraints

from indexer.engines.base import Filter
from indexer.errors import QueryError
from indexer.search import DEEPEST, Mode, parse_filter

MOST_CONDITIONS = 50
MOST = 100  # rows of a list

Words = Annotated[str, Query(max_length=2_000, description='Words, "exact phrases", begin* and -without.')]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Rows of a page.")]
Offset = Annotated[int, Query(ge=0, lt=DEEPEST, description="Rows to leave out before the page.")]
Names = Annotated[list[str], Query(max_length=MOST_CONDITIONS)]
Id = Annotated[str, Query(min_length=1, max_length=512)]


Value = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Condition = Annotated[
    str, StringConstraints(pattern=r"^\s*[\w.\-]+\s*(!=|<=|>=|=|<|>)\s*\S", max_length=1_000)
]


def _filters(
    topic: Annotated[list[Value], Query(description="Id, number or label; several: one of them.")] = [],  # noqa: B006
    keyphrase: Annotated[list[Value], Query(description="Several: one of them.")] = [],  # noqa: B006
    where: Annotated[
        list[Condition], Query(description="On your own fields: label=cs.RO, year>=2015, lang!=de.")
    ] = [],  # noqa: B006
) -> list[Filter]:
    if len(topic) + len(keyphrase) + len(where) > MOST_CONDITIONS:
        raise QueryError(f"There are more than {MOST_CONDITIONS} conditions.")
    return [
        *(Filter("topic", "=", one) for one in topic),
        *(Filter("keyphrase", "=", one) for one in keyphrase),
        *(parse_filter(one) for one in where),
    ]


Filters = Annotated[list[Filter], Depends(_filters)]

__all__ = ["MOST", "Filters", "Id", "Limit", "Mode", "Names", "Offset", "Words"]
