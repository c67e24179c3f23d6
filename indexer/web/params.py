"""What requests ask for: filters, pages, limits, the same for the API and for the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import StringConstraints

from indexer.engines.base import NO_DUPLICATES, Filter
from indexer.search.query import MAX_CONDITIONS, MAX_QUERY, check_number, parse_filter
from indexer.search.results import Mode
from indexer.search.search import DEEPEST

P = ParamSpec("P")
T = TypeVar("T")

MAX_COUNT = 100  # rows of a list

Verbatim = Annotated[bool, Query(description="Search words that no document has as they are.")]
Words = Annotated[
    str,
    Query(
        max_length=MAX_QUERY,
        description='Words, "exact phrases", begin* and -without; this OR that, NOT that (in capitals).',
    ),
]
Limit = Annotated[int, Query(ge=1, le=MAX_COUNT, description="Rows of a page.")]
Offset = Annotated[int, Query(ge=0, lt=DEEPEST, description="Rows to leave out before the page.")]
Names = Annotated[list[str], Query(max_length=MAX_CONDITIONS)]
Id = Annotated[str, Query(min_length=1, max_length=512)]


Value = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Condition = Annotated[str, StringConstraints(max_length=1_000)]  # that it is one is said by `parse_filter`


async def _filters(
    topic: Annotated[list[Value], Query(description="Id, number or label; several: one of them.")] = [],  # noqa: B006
    keyphrase: Annotated[list[Value], Query(description="Several: one of them.")] = [],  # noqa: B006
    where: Annotated[
        list[Condition], Query(description="On your own fields: label=cs.RO, year>=2015, lang!=de.")
    ] = [],  # noqa: B006
    hide_duplicates: Annotated[
        bool, Query(description="Only one of each group of near duplicates: the original.")
    ] = False,
) -> list[Filter]:
    check_number([*topic, *keyphrase, *where])
    return [
        *(Filter("topic", "=", one) for one in topic),
        *(Filter("keyphrase", "=", one) for one in keyphrase),
        *(parse_filter(one) for one in where),
        *([NO_DUPLICATES] if hide_duplicates else []),
    ]


Filters = Annotated[list[Filter], Depends(_filters)]


async def only_known(request: Request) -> None:
    """Refuse parameters that a route of the API does not have: a typing error would pass for an answer.

    Raises:
        RequestValidationError: There is one; the message names the one that was meant.
    """
    if not request.query_params or not request.url.path.startswith("/api/"):
        return
    described = request.app.openapi()["paths"][request.scope["route"].path_format][request.method.lower()]
    known = [one["name"] for one in described.get("parameters", ()) if one["in"] == "query"]
    wrong = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if wrong:
        raise RequestValidationError(
            [{"type": "unknown", "loc": ("query", name), "msg": _unknown(name, known)} for name in wrong]
        )


class ThreadRoute(APIRoute):
    """A route whose function runs in a thread, and whose answer is checked outside it.

    The framework takes a second thread for the check, which waits behind all other requests.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, _in_thread(endpoint), **options)


def _in_thread(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> T:
        return await run_in_threadpool(function, *args, **kwargs)

    return called


def _unknown(name: str, known: Sequence[str]) -> str:
    meant = get_close_matches(name.casefold(), known, n=1)
    if meant:
        return f"Unknown parameter '{name}'. Did you mean {meant[0]}?"
    return f"Unknown parameter '{name}'. Known: {', '.join(known) or 'none'}."


__all__ = [
    "MAX_COUNT",
    "Filters",
    "Id",
    "Limit",
    "Mode",
    "Names",
    "Offset",
    "ThreadRoute",
    "Words",
    "only_known",
]
