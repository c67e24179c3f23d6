"""The API for those who look after it: status, dead letters, runs, generations; health, and figures for Prometheus."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from indexer.catalog.entries import Run
from indexer.collection.status import Status
from indexer.web import schemas
from indexer.web.auth import Reader
from indexer.web.errors import Refusal, documented
from indexer.web.metrics import CONTENT_TYPE, exposed
from indexer.web.params import MAX_COUNT
from indexer.web.shared import Shared

router = APIRouter(responses=documented(400, 401, 403, 422, 429, 503))

Last = Annotated[int, Query(ge=1, le=MAX_COUNT, description="The last so many.")]


@router.get("/api/status", response_model=schemas.Status)
def status(served: Shared, reader: Reader) -> dict[str, Any]:
    """Counts, sizes, problems and the last runs."""
    return plain_status(served.collection.status())


def plain_status(of: Status) -> dict[str, Any]:
    """A status as plain data."""
    return {
        "collection": of.collection,
        "engine": of.engine.description,
        "documents": dict(of.documents),
        "without_topic": of.without_topic,
        "phrases": of.engine.phrases,
        "mentions": of.engine.mentions,
        "topics": of.topics,
        "bytes": of.engine.bytes,
        "dead": dict(of.dead),
        "bundle": of.bundle,
        "drift": str(of.drift),
        "worth_a_retrain": of.worth_a_retrain,
        "drifted": list(of.drifted),
        "writing": of.lock,
        "left_to_workers": 0 if of.work.idle else of.work.left,
        "queues": dict(of.work.queues),
        "last_runs": [plain_run(run) for run in of.last_runs],
    }


def plain_run(of: Run) -> dict[str, Any]:
    names = ("id", "kind", "state", "started_at", "finished_at", "error", "started_by")
    return {**{name: getattr(of, name) for name in names}, "counts": dict(of.counts)}


@router.get("/api/dead-letters", response_model=list[schemas.DeadLetter])
def dead_letters(served: Shared, reader: Reader, limit: Last = MAX_COUNT) -> list[dict[str, Any]]:
    """What could not be processed, and why."""
    posted = served.collection.posted
    found = served.collection.dead_letters(limit)
    return [{**asdict(letter), "where": posted.called(letter.source)} for letter in found]


@router.get("/api/history", response_model=list[schemas.Run])
def history(served: Shared, reader: Reader, limit: Last = 20) -> list[dict[str, Any]]:
    """Retrains and rollbacks, newest first; the gate's reports are in `counts`."""
    return [plain_run(run) for run in served.collection.history(limit)]


@router.get("/api/generations", response_model=list[schemas.Generation])
def generations(served: Shared, reader: Reader) -> list[dict[str, Any]]:
    """The live generation, those that are kept, an unfinished one."""
    return [asdict(generation) for generation in served.collection.generations()]


# -- for machines --------------------------------------------------------------------------------------------


@router.get("/health/live", response_model=schemas.Health)
def live() -> dict[str, str]:
    """Whether the server answers at all."""
    return {"status": "ok"}


@router.get("/health/ready", response_model=schemas.Health)
def ready(served: Shared) -> dict[str, str]:
    """Whether searches are answered at once: engine and catalog answer, and the encoder is loaded.

    Raises:
        Refusal: Not yet.
    """
    served.collection.engine.fields()
    served.collection.catalog.lock_holder(served.collection.name)
    if not served.collection.is_warm:
        raise Refusal(503, "The encoder is being loaded.", Retry_After="1")
    return {"status": "ok"}


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE.split(";")[0]: {}}}}
)
def metrics(served: Shared, reader: Reader) -> Response:
    """Figures for Prometheus."""
    return Response(exposed(served.collection), media_type=CONTENT_TYPE)
