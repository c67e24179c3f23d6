"""The API for changing topics and the vocabulary. What takes long becomes a task with progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from indexer.errors import QueryError
from indexer.export import serialize
from indexer.web import bodies, schemas, topic_work
from indexer.web.api_read import TopicPath
from indexer.web.api_write import begun
from indexer.web.auth import Reader, Writer
from indexer.web.errors import JSON, Refusal, documented
from indexer.web.shared import Shared

router = APIRouter(prefix="/api", responses=documented(400, 401, 403, 404, 409, 413, 415, 422, 429, 503))


@router.patch("/topics/{id}", response_model=schemas.GrowingTopic, dependencies=[JSON])
def change_topic(
    served: Shared, writer: Writer, name: TopicPath, wanted: bodies.TopicChange
) -> dict[str, Any]:
    """Set the label of a topic, pin it or hide it; that stays through every later run."""
    collection = served.collection
    id_ = collection.topic_id(name)
    with _no_two_of_a_name():
        if wanted.label is not None:
            collection.rename_topic(id_, wanted.label)
    if wanted.mark is not None:
        collection.mark_topic(id_, wanted.mark)
    return serialize.growing(collection.topic_tree().by_id[id_], served.trends())


@router.delete("/topics/{id}/label", response_model=schemas.GrowingTopic)
def unname_topic(served: Shared, writer: Writer, name: TopicPath) -> dict[str, Any]:
    """Remove a label set by a user; the topic is named after its leading phrase again."""
    with _no_two_of_a_name():
        return serialize.growing(served.collection.unname_topic(name), served.trends())


@contextmanager
def _no_two_of_a_name() -> Iterator[None]:
    try:
        yield
    except QueryError as error:
        other = error.facts.get("other")
        if other is None:
            raise
        hint = f'{error.hint} POST /api/topics/ID/merge {{"into": "{other}"}}'
        raise Refusal(409, str(error), hint=hint) from error


@router.post("/topics/{id}/merge", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def merge_topic(
    served: Shared, writer: Writer, response: Response, name: TopicPath, wanted: bodies.Merge
) -> dict[str, Any]:
    """Make a topic a part of another one. It retires, and its id leads there from now on."""
    return begun(served, response, topic_work.merge(served, name, wanted.into))


@router.post("/topics/{id}/documents", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def correct_topic(
    served: Shared, writer: Writer, response: Response, name: TopicPath, wanted: bodies.Correct
) -> dict[str, Any]:
    """Say that documents have a topic, or have it not. Topics are fitted again and learn from it."""
    return begun(served, response, topic_work.correct(served, name, wanted.ids, wanted.belongs))


@router.post("/topics/{id}/split", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def split_topic(
    served: Shared, writer: Writer, response: Response, name: TopicPath, wanted: bodies.Split
) -> dict[str, Any]:
    """Part a topic by its documents; the largest part keeps the id."""
    return begun(served, response, topic_work.split(served, name, wanted.parts))


@router.post("/topics/{id}/move", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def move_topic(
    served: Shared, writer: Writer, response: Response, name: TopicPath, wanted: bodies.Move
) -> dict[str, Any]:
    """Put a topic below another parent, or at the top."""
    return begun(served, response, topic_work.move(served, name, wanted.parent))


@router.delete("/topics/{id}", response_model=schemas.Task, status_code=202)
def retire_topic(served: Shared, writer: Writer, response: Response, name: TopicPath) -> dict[str, Any]:
    """Take a topic away. Its documents get others that are near to them, or none."""
    return begun(served, response, topic_work.retire(served, name))


@router.post("/topics/undo", response_model=schemas.Task, status_code=202)
def undo(served: Shared, writer: Writer, response: Response) -> dict[str, Any]:
    """Undo the last change of topics: a merge, split, move, birth or retirement. Ten can be, until the next fit."""
    return begun(served, response, topic_work.undo(served))


@router.post("/topics/rising", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def add_rising(
    served: Shared, writer: Writer, response: Response, wanted: bodies.AddRising
) -> dict[str, Any]:
    """Make topics of rising subjects; the other topics keep their ids and names."""
    return begun(served, response, topic_work.add_rising(served, wanted.numbers))


@router.get("/vocabulary", response_model=list[schemas.Term])
def vocabulary(served: Shared, reader: Reader) -> list[dict[str, Any]]:
    """List the terms of the user's own vocabulary, each with its topic and number of documents."""
    sizes = {topic.id: topic.size for topic in served.collection.topic_tree().topics}
    return [serialize.term(term, sizes) for term in served.collection.vocabulary()]


@router.post("/vocabulary", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def add_terms(served: Shared, writer: Writer, response: Response, wanted: bodies.NewTerms) -> dict[str, Any]:
    """Add terms to the vocabulary, or replace those of the same key; each is a topic. Topics are fitted again."""
    given = [term.model_dump() for term in wanted.terms]
    return begun(served, response, topic_work.add_terms(served, given, strict=wanted.strict))


@router.delete("/vocabulary/{key:path}", response_model=schemas.Task, status_code=202)
def remove_term(
    served: Shared, writer: Writer, response: Response, key: Annotated[str, Path(max_length=1_000)]
) -> dict[str, Any]:
    """Remove a term by label or key. Topics are fitted again."""
    return begun(served, response, topic_work.remove_term(served, key))
