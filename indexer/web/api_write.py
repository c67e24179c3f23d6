"""The API for changes of documents, tasks and dead letters. What takes long becomes a task with progress."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response, UploadFile
from pydantic import Discriminator, Field, Tag

from indexer.catalog.entries import STAGES, Stage
from indexer.web import bodies, schemas, task_work
from indexer.web.auth import Admin, Reader, Writer
from indexer.web.errors import JSON, ONE_FILE, Refusal, documented
from indexer.web.shared import Served, Shared
from indexer.web.tasks import Task

router = APIRouter(prefix="/api", responses=documented(400, 401, 403, 404, 409, 413, 415, 422, 429, 503))

MAX_DOCUMENTS = 1_000  # in one request


@router.post("/documents", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def add_documents(
    served: Shared,
    writer: Writer,
    response: Response,
    documents: Annotated[
        Annotated[bodies.NewDocument, Tag("one")]
        | Annotated[list[bodies.NewDocument], Field(min_length=1, max_length=MAX_DOCUMENTS), Tag("several")],
        Discriminator(lambda given: "several" if isinstance(given, list) else "one"),
        Body(),
    ],
) -> dict[str, Any]:
    """Index a document, or several. They can be found by words as soon as the task has stored them."""
    given = documents if isinstance(documents, list) else [documents]
    return begun(served, response, task_work.add_documents(served, [one.model_dump() for one in given]))


@router.post("/files", response_model=schemas.Task, status_code=202, dependencies=[ONE_FILE])
def add_file(served: Shared, writer: Writer, response: Response, file: UploadFile) -> dict[str, Any]:
    """Index a file of a known format. The same name again replaces what it held.

    What the newer file does not hold any more is removed; as long as something in it cannot be read, nothing is.
    """
    return begun(served, response, task_work.add_file(served, file.filename or "", file.file))


@router.delete("/documents/{id:path}", response_model=schemas.Task, status_code=202)
def delete_document(
    served: Shared, writer: Writer, response: Response, id_: Annotated[str, Path(alias="id", max_length=512)]
) -> dict[str, Any]:
    """Delete a document. It comes back if a file that contains it is indexed again."""
    return begun(served, response, task_work.delete(served, id_))


@router.post("/retry", response_model=schemas.Task, status_code=202)
def retry(served: Shared, writer: Writer, response: Response) -> dict[str, Any]:
    """Retry the dead-letter entries."""
    return begun(served, response, task_work.retry(served))


@router.delete("/dead-letters", response_model=schemas.Dismissed)
def dismiss_all(
    served: Shared,
    writer: Writer,
    stage: Annotated[Stage | None, Query(description="Only those of this stage.")] = None,
) -> dict[str, int]:
    """Take dead letters off the list without trying them again. What they are about stays as it is."""
    return {"dismissed": served.collection.dismiss(stages=(stage,) if stage else STAGES)}


@router.delete("/dead-letters/{id}", response_model=schemas.Dismissed)
def dismiss(
    served: Shared, writer: Writer, id_: Annotated[int, Path(alias="id", ge=1, lt=2**63)]
) -> dict[str, int]:
    """Take one dead letter off the list."""
    dismissed = served.collection.dismiss([id_])
    if not dismissed:
        raise Refusal(404, f"Dead-letter entry {id_} does not exist.")
    return {"dismissed": dismissed}


@router.post("/retrain", response_model=schemas.Task, status_code=202, dependencies=[JSON])
def retrain(served: Shared, admin: Admin, response: Response, wanted: bodies.Retrain) -> dict[str, Any]:
    """Adapt the encoder to the collection; it takes over if it is better."""
    return begun(served, response, task_work.retrain(served, **wanted.model_dump()))


@router.get("/tasks", response_model=list[schemas.Task])
def tasks(served: Shared, reader: Reader) -> list[dict[str, Any]]:
    """List the tasks that this server was given, newest first."""
    return [{**shown(served, task), "documents": []} for task in served.tasks.all()]


@router.get("/tasks/{id}", response_model=schemas.Task)
def task(
    served: Shared, reader: Reader, id_: Annotated[str, Path(alias="id", max_length=64)]
) -> dict[str, Any]:
    """How far a task is."""
    found = served.tasks.get(id_)
    if found is None:
        raise Refusal(
            404, f"Task '{id_}' does not exist.", hint="A restarted server does not know earlier tasks."
        )
    return shown(served, found)


def begun(served: Served, response: Response, task: Task) -> dict[str, Any]:
    """A task that has been accepted; the response says where its progress is."""
    response.headers["Location"] = f"/api/tasks/{task.id}"
    return shown(served, task)


def shown(served: Served, task: Task) -> dict[str, Any]:
    """A task; of one that was handed over, what its run has come to."""
    found = asdict(task)
    if task.state == "done" and task.result.get("left_to_workers"):
        run = served.collection.catalog.run(task.result["run"])
        if run.state == "running":
            found["state"] = "with workers"
        else:
            found |= {"state": "done" if run.state == "finished" else "failed", "error": run.error}
            found["result"] = {**task.result, **run.counts}
    return found
