"""Search results and topics as files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import StreamingResponse

from indexer import plain
from indexer.exports import TOPIC_COLUMNS, WRITERS, Row, hit_columns, hit_rows, topic_rows
from indexer.search import Mode
from indexer.web.access import Reader
from indexer.web.asking import Filters, Words
from indexer.web.pages.search import Asked
from indexer.web.problems import documented
from indexer.web.served import Served, Shared

router = APIRouter(responses=documented(400, 401, 403, 404, 422, 429, 501, 503))

NEAREST = 1_000  # documents, where they are found by meaning
MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}

Kind = Annotated[Literal["csv", "jsonl", "parquet"], Path(description="Parquet needs pyarrow.")]
FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind.split(";")[0]: {} for kind in MEDIA.values()}, "description": "A file."}
}


@router.get("/api/export/search/{kind}", response_class=StreamingResponse, responses=FILE)
def export_search(
    served: Shared, reader: Reader, kind: Kind, filters: Filters, q: Words = "", mode: Mode = "words"
) -> StreamingResponse:
    """Save all documents that are found by words, or the 1,000 nearest where meaning counts."""
    return _file(kind, "documents", *_found(served, q, mode, filters))


@router.get("/api/export/topics/{kind}", response_class=StreamingResponse, responses=FILE)
def export_topics(served: Shared, reader: Reader, kind: Kind) -> StreamingResponse:
    """Save all topics."""
    return _file(kind, "topics", topic_rows(served.collection.topics(), served.trends()), TOPIC_COLUMNS)


@router.get("/export/search/{kind}", include_in_schema=False)
def page_search(request: Request, served: Shared, reader: Reader, kind: Kind) -> StreamingResponse:
    """What the page shows under the same parameters."""
    asked = Asked.read(request, served)
    found = _found(served, asked.query, asked.mode, asked.filters(served.kinds().date))
    return _file(kind, "documents", *found)


@router.get("/export/topics/{kind}", include_in_schema=False)
def page_topics(served: Shared, reader: Reader, kind: Kind) -> StreamingResponse:
    """What the page shows."""
    return export_topics(served, reader, kind)


def _found(served: Served, query: str, mode: Mode, filters: Filters) -> tuple[Iterator[Row], tuple[str, ...]]:
    collection = served.collection
    labels = plain.labels_of(collection.topics())
    columns = hit_columns(collection.engine.fields())
    if mode == "words" or not query.strip():
        return hit_rows(collection.scan(query, filters=filters), labels), columns
    hits = collection.search(query, mode=mode, filters=filters, facets=(), limit=NEAREST).hits
    return hit_rows(hits, labels), columns


def _file(kind: str, name: str, rows: Iterator[Row], columns: tuple[str, ...]) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingResponse(WRITERS[kind](rows, columns), media_type=MEDIA[kind], headers=headers)
