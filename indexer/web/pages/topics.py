"""The topics: a map with its table, and a view of each topic with its name to change."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from indexer.engines.base import Filter
from indexer.errors import CatalogError, NotFound, QueryError
from indexer.export.formatting import count, describe_event
from indexer.records import Topic
from indexer.search.trends import Order, Trends, ordered
from indexer.topics.hierarchy import TopicTree
from indexer.topics.history import TopicHistory
from indexer.topics.map import Spot
from indexer.web import topic_work
from indexer.web.auth import FormWriter, Reader, Visitor, Writer
from indexer.web.errors import hint_of
from indexer.web.pages.activity import current_activity
from indexer.web.pages.charts import FEW, Bar, shares
from indexer.web.pages.confirmation import confirm
from indexer.web.pages.map_layout import pictures
from indexer.web.pages.operations import to_task
from indexer.web.pages.rendering import Address, link, page
from indexer.web.shared import Served, Shared

router = APIRouter(include_in_schema=False)

DOCUMENTS = 10
NEAR = 6
WIDTH, HEIGHT = 600.0, 90.0


@dataclass(frozen=True)
class Section:
    """Topics that stand together in the table: those of a group of the map, or all in one order."""

    number: int  # of the group
    name: str  # of the parent or the largest; empty where all topics are in one order
    spots: tuple[Spot, ...]
    parent: Topic | None = None  # at the top of the tree


@dataclass(frozen=True)
class InOrder:
    """What the table is sorted by, and where it would be sorted in another way."""

    by: str = ""  # empty: by group
    direction: Literal["", "ascending", "descending"] = ""
    links: Mapping[str, Address] = field(default_factory=dict)


def groups(spots: tuple[Spot, ...], tree: TopicTree | None = None) -> list[Section]:
    """The groups of a map, under the name of the parent or of the largest topic; topics are given largest first."""
    numbers = sorted({spot.group for spot in spots})
    members = {number: tuple(spot for spot in spots if spot.group == number) for number in numbers}
    found = []
    for number, some in members.items():
        top = tree.path(some[0].topic.id)[0] if tree else some[0].topic
        if top == some[0].topic:
            found.append(Section(number, _group_name(some), some))
        else:
            found.append(Section(number, top.label, some, top))
    return (
        sorted(found, key=lambda section: -sum(spot.topic.size for spot in section.spots)) if tree else found
    )


def _group_name(spots: tuple[Spot, ...]) -> str:
    return f"{spots[0].topic.label}{' and similar' if len(spots) > 1 else ''}"


@router.get("/topics")
def topics(request: Request, served: Shared, reader: Reader, sort: str = "", order: str = "") -> HTMLResponse:
    """All topics in a picture, and in a table that says the same."""
    drawn = pictures(served.collection)
    spots = drawn[0].map.spots
    trends = served.trends() if spots else None
    tree = served.collection.topic_tree()
    sections = groups(spots, tree.shown())
    by = sort if sort in get_args(Order) else ""
    ascending = {"ascending": True, "descending": False}.get(order, by == "name")
    listed = [Section(0, "", _sorted(spots, trends, by, ascending))] if by else sections  # type: ignore[arg-type]
    return page(
        request, served, reader, "topics.html",
        pictures=drawn, spots=spots, groups=sections, sections=listed, trends=trends,
        order=InOrder(by, ("ascending" if ascending else "descending") if by else "", _links(by, ascending)),
        info=served.collection.engine.info(),
        activity=current_activity(served),
        undoable=_undoable(served),
        rising=served.collection.rising(),
        hidden=[topic for topic in tree.topics if topic.mark == "hidden"],
    )  # fmt: skip


def _undoable(served: Served) -> str:
    """What was done last to the topics, in words; empty where there is nothing to undo."""
    act = served.collection.last_act()
    if act is None:
        return ""
    labels = {
        topic.id: topic.label for topic in served.collection.catalog.topics(served.collection.name, None)
    }
    return f"{act.kind} of {', '.join(f'“{labels.get(id_, id_)}”' for id_ in act.topics)}"


def _sorted(spots: tuple[Spot, ...], trends: Trends | None, by: Order, ascending: bool) -> tuple[Spot, ...]:
    placed = {spot.topic.id: spot for spot in spots}
    found = ordered([spot.topic for spot in spots], trends, by, ascending)
    return tuple(placed[topic.id] for topic in found)


def _links(by: str, ascending: bool) -> dict[str, Address]:
    """Where each column would be sorted by; the one that is would be turned around."""
    here = Address("/topics")
    links: dict[str, Address] = {}
    for name in get_args(Order):
        other = name == "name" if name != by else not ascending
        default = other == (name == "name")
        links[name] = here.put(sort=name, order=None if default else "ascending" if other else "descending")
    return links


@router.get("/topics/{id}")
def topic(request: Request, served: Shared, reader: Reader, id: str, was: str = "") -> Response:
    """One topic. A retired one leads to its successor, or to what became of it."""
    try:
        live = served.collection.topic_id(id)
    except NotFound:
        return _retired(request, served, reader, id)
    if live != id:
        old = served.collection.topic_history(id).entry.id  # itself, where it was asked for by number or name
        return RedirectResponse(link(f"/topics/{live}", was=old if old != live else None), 303)
    return _shown(request, served, reader, live, was=_former(served, was, live))


def _former(served: Served, was: str, live: str) -> TopicHistory | None:
    """The retired topic whose address has led to this one; None where that is not so."""
    try:
        history = served.collection.topic_history(was)
    except (NotFound, QueryError):
        return None
    return history if live in history.successors and history.entry.id != live else None


def _shown(
    request: Request,
    served: Served,
    reader: Visitor,
    id: str,
    *,
    problem: str = "",
    code: int = 200,
    label: str = "",
    other: str | None = None,
    was: TopicHistory | None = None,
) -> HTMLResponse:
    """The view of a topic.

    Args:
        problem: Why it could not be changed.
        label: The name that was typed then.
        other: The topic that has this name.
        was: The retired topic that has led here.
    """
    collection = served.collection
    details = collection.topic(id, documents=DOCUMENTS)
    why = collection.why_name(id)
    tree = collection.topic_tree()
    topics = tree.by_id
    drawn, top = _over_time(served, id)
    return page(
        request, served, reader, "topic.html", code=code,
        topic=details.topic,
        details=details,
        why_name=why,
        shown=json.dumps(why.naming.shown, ensure_ascii=False, indent=1) if why.naming else "",
        near=collection.near_topics(id, limit=NEAR),
        events=list(describe_event(details.history)),
        bars=drawn,
        top=top,
        few=FEW,
        share=details.topic.size / max(1, collection.engine.info().mined),
        others=_by_nearness(served, id),
        parents=_other_parents(tree, id),
        problem=problem,
        typed=label or details.topic.label,
        other=topics.get(other or ""),
        was=was,
        also=[topics[one] for one in was.successors if one in topics and one != id] if was else [],
        activity=current_activity(served),
    )  # fmt: skip


def _by_nearness(served: Served, id: str) -> list[Topic]:
    """All other topics, the nearest first: what it may be merged into."""
    tree = served.collection.topic_tree()
    if tree.subtopics(id):
        return []
    return [topic for topic, _ in served.collection.near_topics(id, limit=len(tree.leaves))]


def _other_parents(tree: TopicTree, id: str) -> list[Topic]:
    """The parents that it may be put below."""
    inside = {topic.id for _, topic in tree.walk(id)} | {id, tree.by_id[id].parent or ""}
    return [topic for topic in tree.parents if topic.id not in inside]


def _over_time(served: Served, id: str) -> tuple[list[Bar], float]:
    """The share of the topic in each stretch of time, and the largest; nothing where documents have no dates."""
    date = served.kinds().date
    whole = served.collection.timeline("", date, mode="words") if date else None
    if whole is None or len(whole.periods) < 2:
        return [], 0.0
    narrowed = [Filter("topic", "=", id)]
    own = served.collection.timeline("", date, mode="words", filters=narrowed, unit=whole.unit)
    return shares(own, whole, width=WIDTH, height=HEIGHT) if own else ([], 0.0)


def _retired(request: Request, served: Served, reader: Reader, id: str) -> HTMLResponse:
    history = served.collection.topic_history(id)
    return page(
        request, served, reader, "retired.html", history=history, events=list(describe_event(history))
    )


@router.get("/topics/{id}/rename")
@router.get("/topics/{id}/unname")
@router.get("/topics/{id}/split")
@router.get("/topics/{id}/mark")
@router.get("/topics/{id}/move")
def to_topic(id: str) -> RedirectResponse:
    """From the address of a form to the page it is of: that of a refused label may be reloaded."""
    return RedirectResponse(f"/topics/{id}", 303)


@router.post("/topics/{id}/rename")
def rename(
    request: Request,
    served: Shared,
    writer: FormWriter,
    id: str,
    label: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Set the label of a topic."""
    return _tried(
        request, served, writer, id, lambda: _to(served.collection.rename_topic(id, label)), label=label
    )


@router.post("/topics/{id}/unname")
def unname(request: Request, served: Shared, writer: FormWriter, id: str) -> Response:
    """Remove the label that a user has set."""
    return _tried(request, served, writer, id, lambda: _to(served.collection.unname_topic(id)))


@router.get("/topics/{id}/merge")
def ask_to_merge(request: Request, served: Shared, writer: Writer, id: str, into: str = "") -> Response:
    """Ask whether it shall become a part of another topic."""
    if not into:
        return to_topic(id)
    return _tried(request, served, writer, id, lambda: _ask_to_merge(request, served, writer, id, into))


def _ask_to_merge(request: Request, served: Served, writer: Visitor, id: str, into: str) -> HTMLResponse:
    topics = served.collection.topic_tree().by_id
    part, whole = (topics[id_] for id_ in topic_work.to_merge(served, id, into))
    return confirm(
        request, served, writer,
        f"Merge “{part.label}” ({count(part.size, 'document')}) into “{whole.label}”?",
        means=f"Its documents go over to “{whole.label}”, which keeps its name.",
        button="Merge",
        back=f"/topics/{part.id}",
        into=whole.id,
    )  # fmt: skip


@router.post("/topics/{id}/merge")
def merge(
    request: Request,
    served: Shared,
    writer: FormWriter,
    id: str,
    into: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Make it a part of another topic: a task, which waits while another process writes."""
    return _tried(request, served, writer, id, lambda: to_task(topic_work.merge(served, id, into)))


@router.post("/topics/{id}/split")
def split(
    request: Request, served: Shared, writer: FormWriter, id: str, parts: Annotated[int, Form()] = 2
) -> Response:
    """Part it by its documents: a task."""
    return _tried(request, served, writer, id, lambda: to_task(topic_work.split(served, id, parts)))


@router.post("/topics/{id}/move")
def move(
    request: Request,
    served: Shared,
    writer: FormWriter,
    id: str,
    parent: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Put it below another parent, or at the top: a task."""
    return _tried(request, served, writer, id, lambda: to_task(topic_work.move(served, id, parent or None)))


@router.post("/topics/{id}/mark")
def mark(
    request: Request,
    served: Shared,
    writer: FormWriter,
    id: str,
    mark: Annotated[Literal["", "pinned", "hidden"], Form()] = "",
) -> Response:
    """Pin it, hide it, or neither."""
    return _tried(request, served, writer, id, lambda: _to(served.collection.mark_topic(id, mark)))


@router.post("/topics/rising")
def add_rising(served: Shared, writer: FormWriter, number: Annotated[int, Form(ge=1)]) -> Response:
    """Make a topic of a rising subject: a task."""
    return to_task(topic_work.add_rising(served, [number]))


@router.post("/topics/undo")
def undo(served: Shared, writer: FormWriter) -> Response:
    """Undo what was done last to the topics: a task."""
    return to_task(topic_work.undo(served))


def _tried(
    request: Request,
    served: Served,
    writer: Visitor,
    id: str,
    change: Callable[[], Response],
    *,
    label: str = "",
) -> Response:
    """Change a topic, or ask whether to; where it cannot be, the view again, with the reason beside the forms."""
    try:
        return change()
    except (QueryError, CatalogError) as error:
        if isinstance(error, CatalogError) and "holder" not in error.facts:
            raise
        other = error.facts.get("other")
        code = 409 if other or isinstance(error, CatalogError) else 400
        problem = f"{error} {hint_of(error)}".strip()
        live = served.collection.topic_id(id)
        return _shown(request, served, writer, live, problem=problem, code=code, label=label, other=other)


def _to(topic: Topic) -> RedirectResponse:
    return to_topic(topic.id)
