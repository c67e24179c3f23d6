"""Search results and topics as files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from fastapi.responses import StreamingResponse

from indexer.export import serialize
from indexer.export.tables import TOPIC_COLUMNS, WRITERS, Row, hit_columns, hit_rows, topic_rows
from indexer.search.results import Mode
from indexer.web.auth import Reader
from indexer.web.errors import documented
from indexer.web.pages.search import SearchForm
from indexer.web.params import Filters, Verbatim, Words
from indexer.web.shared import Served, Shared

router = APIRouter(responses=documented(400, 401, 403, 404, 422, 429, 501, 503))

MAX_NAME_LENGTH = 60  # characters of a query in the name of a file
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
    served: Shared,
    reader: Reader,
    kind: Kind,
    filters: Filters,
    q: Words = "",
    mode: Mode = "both",
    verbatim: Verbatim = False,
) -> StreamingResponse:
    """Save all documents that a search lists on its pages: those with the words, and the 200 nearest in meaning.

    By meaning alone, the nearest 1,000. The column `found_by` tells which is which.
    """
    return _file(kind, _named(q), *_found(served, q, mode, filters, verbatim))


@router.get("/api/export/topics/{kind}", response_class=StreamingResponse, responses=FILE)
def export_topics(served: Shared, reader: Reader, kind: Kind) -> StreamingResponse:
    """Save all topics."""
    return _file(kind, "topics", topic_rows(served.collection.topics(), served.trends()), TOPIC_COLUMNS)


@router.get("/export/search/{kind}", include_in_schema=False)
def page_search(request: Request, served: Shared, reader: Reader, kind: Kind) -> StreamingResponse:
    """What the page shows under the same parameters."""
    asked = SearchForm.read(request, served)
    found = _found(served, asked.query, asked.mode, asked.filters(served.kinds().date), asked.verbatim)
    return _file(kind, _named(asked.query), *found)


@router.get("/export/topics/{kind}", include_in_schema=False)
def page_topics(served: Shared, reader: Reader, kind: Kind) -> StreamingResponse:
    """What the page shows."""
    return export_topics(served, reader, kind)


def _found(
    served: Served, query: str, mode: Mode, filters: Filters, verbatim: bool
) -> tuple[Iterator[Row], tuple[str, ...]]:
    collection = served.collection
    hits = collection.scan(query, mode=mode, filters=filters, verbatim=verbatim)
    rows = hit_rows(hits, serialize.labels_of(collection.topics()), scored=mode != "both")
    return rows, hit_columns(collection.engine.fields(), served.kinds().date)


def _named(query: str) -> str:
    """The query as the name of a file."""
    words = re.findall(r"\w+", query)
    return "-".join(words)[:MAX_NAME_LENGTH].strip("-") or "documents"


def _file(kind: str, name: str, rows: Iterator[Row], columns: tuple[str, ...]) -> StreamingResponse:
    """A file to be saved. Its name is given in ASCII, and as it is (RFC 6266)."""
    simple = name.encode("ascii", "ignore").decode().strip("-_") or "documents"
    whole = quote(name.encode("utf-8", "replace"))
    headers = {
        "Content-Disposition": f"attachment; filename=\"{simple}.{kind}\"; filename*=UTF-8''{whole}.{kind}"
    }
    return StreamingResponse(WRITERS[kind](rows, columns), media_type=MEDIA[kind], headers=headers)
