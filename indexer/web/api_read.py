"""The API for reading: each route is a method of the collection, and its answer as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from indexer.errors import QueryError
from indexer.export import serialize
from indexer.records import Document, Topic
from indexer.search.completion import LONGEST, MAX_COMPLETIONS
from indexer.search.trends import Order, ordered
from indexer.topics.hierarchy import TopicTree
from indexer.web import bodies, schemas
from indexer.web.auth import Reader
from indexer.web.errors import JSON, documented
from indexer.web.params import (
    MAX_COUNT,
    Filters,
    Id,
    Limit,
    Mode,
    Names,
    Offset,
    ThreadRoute,
    Verbatim,
    Words,
)
from indexer.web.shared import Served, Shared

router = APIRouter(
    prefix="/api", route_class=ThreadRoute, responses=documented(400, 401, 403, 404, 413, 415, 422, 429, 503)
)

Hidden = Annotated[bool, Query(description="List those too that a user has hidden.")]
TopicPath = Annotated[str, Path(alias="id", max_length=200, description="Id, number or label.")]


# -- search --------------------------------------------------------------------------------------------------


@router.get("/search", response_model=schemas.SearchPage, response_model_exclude_none=True)
def search(
    served: Shared,
    reader: Reader,
    filters: Filters,
    q: Words = "",
    mode: Mode = "both",
    facet: Names = ["topic", "keyphrase"],  # noqa: B006
    facet_size: Annotated[int, Query(ge=1, le=MAX_COUNT)] = 10,
    limit: Limit = 10,
    offset: Offset = 0,
    why: Annotated[bool, Query(description="Say what each document was found by.")] = False,
    verbatim: Verbatim = False,
    diverse: Annotated[
        bool,
        Query(description="List documents that say something else before those that say the same again."),
    ] = False,
) -> dict[str, Any]:
    """Find documents by words, by meaning or both. Facets count all that match, not only those listed."""
    collection = served.collection
    results = collection.search(
        q, mode=mode, filters=filters, facets=facet, facet_size=facet_size, limit=limit, offset=offset,
        diverse=diverse, verbatim=verbatim,
    )  # fmt: skip
    reasons = collection.reasons(results) if why else None
    return {**serialize.results(results, reasons), "limit": limit, "offset": offset}


@router.get("/facets", response_model=schemas.FacetCounts)
def facets(
    served: Shared,
    reader: Reader,
    filters: Filters,
    q: Words = "",
    mode: Mode = "both",
    field: Names = ["topic", "keyphrase"],  # noqa: B006
    size: Annotated[int, Query(ge=1, le=1_000)] = 10,
    verbatim: Verbatim = False,
) -> dict[str, Any]:
    """Count the values of fields, each without the choices made in itself: others can be added to them."""
    found = served.collection.open_facets(
        q, mode=mode, filters=filters, fields=field, size=size, verbatim=verbatim
    )
    return {"query": q, "facets": serialize.facets(found)}


@router.get("/completions", response_model=list[schemas.Completion])
def completions(
    served: Shared,
    reader: Reader,
    q: Annotated[
        str, Query(max_length=LONGEST, description="What was typed so far, two characters or more.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_COMPLETIONS)] = 8,
) -> list[dict[str, Any]]:
    """Complete a query while it is typed: topics, keyphrases and titles that begin so."""
    return [asdict(one) for one in served.collection.completions(q, limit=limit)]


@router.get("/timeline", response_model=schemas.Timeline | None)
def timeline(
    served: Shared,
    reader: Reader,
    filters: Filters,
    q: Words = "",
    mode: Mode = "both",
    field: Annotated[
        str, Query(max_length=200, description="The field with the date; empty: found by itself.")
    ] = "",
    verbatim: Verbatim = False,
) -> dict[str, Any] | None:
    """Count documents by year, month or day; null where no field has dates, or there are too many of them."""
    field = field or served.kinds().date
    found = (
        served.collection.timeline(q, field, mode=mode, filters=filters, verbatim=verbatim) if field else None
    )
    return asdict(found) if found else None


# -- phrases -------------------------------------------------------------------------------------------------


@router.get("/phrases", response_model=schemas.NearPhrases)
def phrases(
    served: Shared,
    reader: Reader,
    filters: Filters,
    phrase: Annotated[
        str, Query(max_length=500, description="Compared with all phrases, without context.")
    ] = "",
    text: Annotated[
        str,
        Query(
            alias="in",
            max_length=5_000,
            description="A text with a marked phrase: the cell [[membrane]] is thin.",
        ),
    ] = "",
    limit: Limit = 10,
) -> dict[str, Any]:
    """Find phrases by meaning, or mentions similar to one in its sentence; filters apply to the documents of mentions."""
    collection = served.collection
    if bool(phrase) == bool(text):
        raise QueryError(
            "Give either a phrase, or a text with a marked phrase: in=the cell [[membrane]] is thin."
        )
    if phrase and filters:
        raise QueryError(
            "Filters (topic, keyphrase, where, hide_duplicates) do not apply to a phrase alone.",
            hint="They apply to documents, and so to the mentions that in=… finds.",
        )
    labels = serialize.labels_of(collection.topics())
    if phrase:
        rows = collection.phrases(phrase, limit=limit)
        return {"phrases": [serialize.phrase(row, score, labels) for row, score in rows], "mentions": []}
    near = collection.phrases_in(text, limit=limit, filters=filters)
    titles = collection.titles([row.document_id for row, _ in near])
    mentions = [serialize.mention(row, score, titles[row.document_id], labels) for row, score in near]
    return {"phrases": [], "mentions": mentions}


@router.get("/other-phrases", response_model=list[schemas.Phrase])
def other_phrases(served: Shared, reader: Reader, q: Words = "", limit: Limit = 4) -> list[dict[str, Any]]:
    """Phrases of the collection that mean nearly what a short query says, in other words."""
    collection = served.collection
    labels = serialize.labels_of(collection.topics())
    return [serialize.phrase(row, score, labels) for row, score in collection.other_phrases(q, limit=limit)]


@router.post("/keyphrases", response_model=list[schemas.Keyphrase], dependencies=[JSON])
def keyphrases(served: Shared, reader: Reader, text: bodies.Text) -> list[dict[str, Any]]:
    """Find the keyphrases of a text. Nothing is kept."""
    found = served.collection.keyphrases(Document("posted", text.text, text.title), limit=text.limit)
    return [serialize.keyphrase(one) for one in found]


# -- topics --------------------------------------------------------------------------------------------------


@router.get("/topics", response_model=list[schemas.GrowingTopic])
def topics(
    served: Shared,
    reader: Reader,
    sort: Annotated[Order, Query(description="By size, by growth, or by name.")] = "documents",
    ascending: Annotated[bool | None, Query(description="Names go up, numbers go down.")] = None,
    hidden: Hidden = False,
) -> list[dict[str, Any]]:
    """List the topics that documents have, and how they grow.

    Topics of unknown growth are sorted between growing and shrinking ones."""
    trends = served.trends()
    tree = _tree(served, hidden)
    found = ordered(tree.leaves, trends, sort, ascending)
    return [serialize.growing(topic, trends) for topic in found]


def _tree(served: Served, hidden: bool) -> TopicTree:
    tree = served.collection.topic_tree()
    return tree if hidden else tree.shown()


@router.get("/topics/tree", response_model=list[schemas.TopicNode])
def topic_tree(served: Shared, reader: Reader, hidden: Hidden = False) -> list[dict[str, Any]]:
    """List the topics at the top, each with what is below it, largest first."""
    tree = _tree(served, hidden)

    def node(of: Topic) -> dict[str, Any]:
        return {**serialize.topic(of), "subtopics": [node(below) for below in tree.subtopics(of.id)]}

    return [node(top) for top in tree.roots]


@router.get("/topics/rising", response_model=list[schemas.Rising])
def rising_topics(served: Shared, reader: Reader) -> list[dict[str, Any]]:
    """List subjects of new documents that have no topic yet, the largest first."""
    return [serialize.rising(one) for one in served.collection.rising()]


@router.get("/map", response_model=schemas.TopicMap)
def topic_map(served: Shared, reader: Reader) -> dict[str, Any]:
    """Place the topics in a picture: near in meaning, near each other."""
    found = served.collection.topic_map()
    spots = [
        {"id": s.topic.id, "label": s.topic.label, "documents": s.topic.size, "x": s.x, "y": s.y,
         "radius": s.radius, "group": s.group}
        for s in found.spots
    ]  # fmt: skip
    return {"width": found.width, "height": found.height, "topics": spots}


@router.get("/topics/{id}", response_model=schemas.TopicDetails)
def topic(
    served: Shared, reader: Reader, name: TopicPath, documents: Annotated[int, Query(ge=0, le=MAX_COUNT)] = 5
) -> dict[str, Any]:
    """Show a topic: phrases, significant keyphrases, documents, history, near topics."""
    details = served.collection.topic(name, documents=documents)
    near = served.collection.near_topics(details.topic.id)
    neighbours = [
        {"id": one.id, "label": one.label, "similarity": serialize.rounded(score)} for one, score in near
    ]
    growing = serialize.growing(details.topic, served.trends())
    return {**growing, **serialize.topic_details(details), "neighbours": neighbours}


@router.get("/topics/{id}/name", response_model=schemas.WhyName)
def why_name(served: Shared, reader: Reader, name: TopicPath) -> dict[str, Any]:
    """Explain why a topic has its name; what a language model was shown of it, and said."""
    return serialize.why_name(served.collection.why_name(name))


@router.get("/topics/{id}/history", response_model=schemas.TopicHistory)
def topic_history(served: Shared, reader: Reader, name: TopicPath) -> dict[str, Any]:
    """Tell what became of a topic through all fits; also of a retired one, by its id."""
    return serialize.topic_history(served.collection.topic_history(name))


# -- documents -----------------------------------------------------------------------------------------------


@router.get("/documents/{id:path}", response_model=schemas.Document)
def document(
    served: Shared, reader: Reader, id_: Annotated[str, Path(alias="id", max_length=512)]
) -> dict[str, Any]:
    """Show a document with its text, keyphrases and topics."""
    stored = served.collection.document(id_)
    labels = serialize.labels_of(served.collection.topics())
    shown = {**serialize.document(stored.document, text=True), **serialize.mined(stored, labels)}
    duplicates = served.collection.duplicates(id_)
    return {**shown, "duplicates": duplicates, "bundle": stored.bundle, "run": stored.run}


@router.get("/similar", response_model=list[schemas.SimilarDocument])
def similar(served: Shared, reader: Reader, document: Id, limit: Limit = 5) -> list[dict[str, Any]]:
    """List the documents that are nearest to one in meaning."""
    near = served.collection.similar(document, limit=limit)
    return [{**serialize.document(s.document), "similarity": serialize.rounded(score)} for s, score in near]


@router.get("/why", response_model=schemas.Why)
def why(served: Shared, reader: Reader, document: Id) -> dict[str, Any]:
    """Say why a document has its topics: which phrases voted for which."""
    labels = serialize.labels_of(served.collection.topics())
    return serialize.why(served.collection.why(document), labels)
