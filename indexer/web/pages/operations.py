"""The operations view: counts, dead-letter entries, runs, tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse

from indexer.catalog.entries import STAGES, DeadLetter, Run, Stage
from indexer.export.formatting import count
from indexer.readers.registry import FORMATS
from indexer.web import task_work
from indexer.web.api_write import shown
from indexer.web.auth import FormWriter, Reader, Visitor, Writer
from indexer.web.errors import ONE_FILE, Refusal
from indexer.web.pages.activity import current_activity
from indexer.web.pages.confirmation import confirm
from indexer.web.pages.rendering import page
from indexer.web.shared import Served, Shared
from indexer.web.tasks import Task

router = APIRouter(include_in_schema=False)

LETTERS = 50
RUNS = 15
TASKS = 10
NAMED = 3  # documents of a task
JUDGED = 3  # retrains whose judgement is shown
DEAD = "/operations#dead"
DISMISSED = "What is dismissed is not tried again. It stays as it is until its file is indexed again."
COUNTS = ("read", "new", "changed", "deleted", "mined", "written", "failed", "documents")


@dataclass(frozen=True)
class Judgement:
    """What the gate said of a candidate."""

    run: Run
    name: str
    accepted: bool
    reasons: list[str]
    checks: list[dict[str, Any]]


@router.get("/operations")
def operations(request: Request, served: Shared, reader: Reader) -> HTMLResponse:
    """How the collection is."""
    return _shown(request, served, reader)


def _shown(
    request: Request, served: Served, reader: Visitor, *, problem: str = "", code: int = 200
) -> HTMLResponse:
    """The view; with what is wrong with a file that was sent."""
    collection = served.collection
    history = collection.history(RUNS, idle=False)
    return page(
        request, served, reader, "operations.html", code=code,
        problem=problem,
        status=collection.status(),
        activity=current_activity(served),
        letters=[_told(served, letter) for letter in collection.dead_letters(LETTERS)],
        stages=STAGES,
        dismissed=DISMISSED,
        runs=[(run, done(run)) for run in collection.catalog.runs(collection.name, RUNS)],
        judgements=judgements(history)[:JUDGED],
        generations=list(reversed(collection.generations())),
        tasks=[_task(served, task) for task in served.tasks.all(TASKS)],
        kinds=[f".{suffix}" for suffix in FORMATS],
    )  # fmt: skip


def _told(served: Served, letter: DeadLetter) -> tuple[DeadLetter, str, str]:
    """A dead letter, its place in words, and its reason without that place."""
    reason = letter.reason.removeprefix(letter.source).removeprefix(":").strip()
    return letter, served.collection.posted.called(letter.source), reason


def _task(served: Served, task: Task) -> dict[str, Any]:
    """A task as the list shows it: with places in words."""
    found = shown(served, task)
    reported = found["result"].get("problems", ())
    problems = [served.collection.posted.in_words(problem) for problem in reported]
    stored = served.collection.engine.documents(task.documents[:NAMED])
    return {
        **found,
        "problems": problems,
        "failed": int(found["result"].get("failed") or 0),
        "see": [(one.document.id, one.document.name) for one in stored],
        "more": max(0, len(task.documents) - NAMED),
        "shaped": _shaped(found["result"]),
    }


def _shaped(result: Mapping[str, Any]) -> list[str]:
    """Ids of the topics that a merge, split, move or undo has changed."""
    several = result.get("topics")
    return [result["topic"]] if "topic" in result else several if isinstance(several, list) else []


def done(run: Run) -> str:
    """What a run did, in a few words."""
    if run.error:
        return run.error
    if reason := run.counts.get("reason"):
        return f"{run.counts.get('verdict', '')}: {reason}"
    if run.counts.get("shaped"):
        return "topics changed"
    counts = [f"{run.counts[name]:,} {name}" for name in COUNTS if run.counts.get(name)]
    if run.counts.get("new_fit"):
        counts.append(f"{count(run.counts['topics'], 'topic')} found")
    return ", ".join(counts) or ("nothing changed" if run.state == "finished" else "")


def judgements(history: list[Run]) -> list[Judgement]:
    """All that the gate has said, newest first."""
    return [
        Judgement(run, name, said["accepted"], said["reasons"], said["checks"])
        for run in history
        for name, said in (run.counts.get("judged") or {}).items()
    ]


@router.get("/operations/dismiss")
def ask_to_dismiss(
    request: Request, served: Shared, writer: Writer, stage: Stage | Literal["all", ""] = ""
) -> Response:
    """Ask whether all dead letters, or those of a stage, shall be taken off the list."""
    dead = served.collection.status().dead
    number = sum(dead.values()) if stage == "all" else dead.get(stage, 0)
    if not number:
        return RedirectResponse(DEAD, 303)
    return confirm(
        request, served, writer,
        f"Dismiss all {count(number, 'dead letter')}?"
        if stage == "all"
        else f"Dismiss {count(number, 'dead letter')} of the stage “{stage}”?",
        means=DISMISSED,
        button="Dismiss",
        back=DEAD,
        stage=stage,
    )  # fmt: skip


@router.post("/operations/dismiss")
def dismiss(
    request: Request,
    served: Shared,
    writer: FormWriter,
    letter: Annotated[int | None, Form(ge=1, lt=2**63)] = None,
    stage: Annotated[Stage | Literal["all"] | None, Form()] = None,
) -> RedirectResponse:
    """Take dead letters off the list: one, those of a stage, or all."""
    if letter is not None:
        served.collection.dismiss([letter])
    elif stage is not None:
        served.collection.dismiss(stages=STAGES if stage == "all" else (stage,))
    return RedirectResponse(DEAD, 303)


@router.get("/operations/retry")
@router.get("/operations/files")
def to_tasks() -> RedirectResponse:
    """From the address of a form to the page it is of: that of a refused file may be reloaded."""
    return RedirectResponse("/operations#tasks", 303)


@router.post("/operations/retry")
def retry(request: Request, served: Shared, writer: FormWriter) -> RedirectResponse:
    """Do the dead letters again."""
    return to_task(task_work.retry(served))


@router.post("/operations/files", dependencies=[ONE_FILE])
def add_file(request: Request, served: Shared, writer: FormWriter, file: UploadFile) -> Response:
    """Index a file."""
    try:
        return to_task(task_work.add_file(served, file.filename or "", file.file))
    except Refusal as error:
        problem = f"{error.detail} {error.hint}".strip()
        return _shown(request, served, writer, problem=problem, code=error.status_code)


def to_task(task: Task) -> RedirectResponse:
    """To where it is said how far a task is."""
    return RedirectResponse(f"/operations#task-{task.id}", 303)
