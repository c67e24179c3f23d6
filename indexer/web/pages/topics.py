"""The topics: a map with its table, and a view of each topic with its name to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from indexer.engines.base import Filter
from indexer.errors import NotFound, QueryError
from indexer.topic_map import Spot
from indexer.web.access import Reader, Writer
from indexer.web.pages.charts import Bar, bars
from indexer.web.pages.map_labels import pictures
from indexer.web.pages.rendering import link, page
from indexer.web.served import Served, Shared
from indexer.wording import told

router = APIRouter(include_in_schema=False)

DOCUMENTS = 10
NEAR = 6
WIDTH, HEIGHT = 600.0, 90.0


@dataclass(frozen=True)
class Group:
    """Topics that are alike, under the name of the largest."""

    number: int
    name: str
    spots: tuple[Spot, ...]


def groups(spots: tuple[Spot, ...]) -> list[Group]:
    """The groups of a map; its topics are given largest first."""
    numbers = sorted({spot.group for spot in spots})
    members = {number: tuple(spot for spot in spots if spot.group == number) for number in numbers}
    return [Group(number, members[number][0].topic.label, members[number]) for number in numbers]


@router.get("/topics")
def topics(request: Request, served: Shared, reader: Reader) -> HTMLResponse:
    """All topics in a picture, and in a table that says the same."""
    drawn = pictures(served.collection)
    spots = drawn[0].map.spots
    return page(
        request, served, reader, "topics.html",
        pictures=drawn, spots=spots, groups=groups(spots),
        total=served.collection.engine.info().mined,
    )  # fmt: skip


@router.get("/topics/{id}")
def topic(request: Request, served: Shared, reader: Reader, id: str) -> Response:
    """One topic. A retired one leads to its successor, or to what became of it."""
    try:
        live = served.collection.topic_id(id)
    except NotFound:
        return _retired(request, served, reader, id)
    if live != id:
        return RedirectResponse(f"/topics/{live}", 303)
    return _shown(request, served, reader, live)


def _shown(
    request: Request, served: Served, reader: Reader, id: str, *, problem: str = "", code: int = 200
) -> HTMLResponse:
    collection = served.collection
    details = collection.topic(id, documents=DOCUMENTS)
    events = details.history.events
    return page(
        request, served, reader, "topic.html", code=code,
        topic=details.topic,
        details=details,
        near=collection.near_topics(id, limit=NEAR),
        events=list(zip(events, told(events, id), strict=True)),
        bars=_over_time(served, id),
        share=details.topic.size / max(1, collection.engine.info().mined),
        problem=problem,
    )  # fmt: skip


def _over_time(served: Served, id: str) -> list[Bar]:
    """The share of the topic in each stretch of time; nothing where documents have no dates."""
    date = served.kinds().date
    if not date:
        return []
    whole = served.collection.timeline("", date, mode="words")
    if whole is None:
        return []
    narrowed = [Filter("topic", "=", id)]
    own = served.collection.timeline("", date, mode="words", filters=narrowed, unit=whole.unit)
    return bars(own, width=WIDTH, height=HEIGHT, of=whole) if own and len(whole.periods) > 1 else []


def _retired(request: Request, served: Served, reader: Reader, id: str) -> HTMLResponse:
    history = served.collection.topic_history(id)
    events = list(zip(history.events, told(history.events, history.entry.id), strict=True))
    return page(request, served, reader, "retired.html", history=history, events=events)


@router.post("/topics/{id}/rename")
def rename(
    request: Request,
    served: Shared,
    writer: Writer,
    id: str,
    label: Annotated[str, Form(max_length=200)] = "",
    token: Annotated[str, Form()] = "",
) -> Response:
    """Give a topic a name by hand."""
    served.access.check_token(request, token)
    try:
        served.collection.rename_topic(id, label)
    except QueryError as error:
        return _shown(request, served, writer, served.collection.topic_id(id), problem=str(error), code=400)
    return RedirectResponse(link(f"/topics/{id}"), 303)
