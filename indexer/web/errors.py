"""What went wrong, for programs: problem details (RFC 9457). Our own errors become statuses here, and nowhere else.

Which parameters and fields of a request are wrong, under the names that those know who wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from indexer.errors import (
    BackendUnavailable,
    BrokerUnavailable,
    CatalogError,
    EngineUnavailable,
    IndexerError,
    InputError,
    NotFound,
    QueryError,
    SettingsError,
)

MEDIA_TYPE = "application/problem+json"
COME_BACK = 5  # seconds, where something is away
FOR_OTHERS = "The server's log says more; ask its administrator."

STATUS: tuple[tuple[type[IndexerError], int], ...] = (
    (NotFound, 404),
    (QueryError, 400),
    (InputError, 422),
    (EngineUnavailable, 503),
    (CatalogError, 503),
    (BrokerUnavailable, 503),
    (BackendUnavailable, 503),
    (SettingsError, 501),
)


class Problem(BaseModel):
    """Why a request was not fulfilled."""

    type: str = "about:blank"
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What is wrong with this request.")
    hint: str = Field("", description="What to do about it.")
    request: str = Field(description="Id of the request, as in the log.")
    errors: list[dict[str, Any]] = Field([], description="Which parameters or fields are wrong, and how.")


class Refusal(HTTPException):
    """A request that is refused by the server itself, before it comes to the collection."""

    def __init__(self, status: int, detail: str, *, hint: str = "", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        super().__init__(status, detail, named)
        self.hint = hint


async def json_only(request: Request) -> None:
    """A dependency of routes that take JSON: what says that it is something else is refused.

    Raises:
        Refusal: It does.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if (
        said
        and said != "application/json"
        and not (said.startswith("application/") and said.endswith("+json"))
    ):
        raise Refusal(
            415,
            f"This takes JSON, and not '{said[:100]}'.",
            hint="Send it with Content-Type: application/json.",
        )


JSON = Depends(json_only)


async def one_file(request: Request) -> None:
    """A dependency of routes that take a file: of several, the framework would drop all but the last.

    Raises:
        Refusal: There are several, under whatever names.
    """
    sent = sum(isinstance(value, UploadFile) for _, value in (await request.form()).multi_items())
    if sent > 1:
        raise Refusal(
            422, f"These are {sent:,} files; one is taken at a time.",
            hint="Send each with a request of its own.",
        )  # fmt: skip


ONE_FILE = Depends(one_file)


def status_of(error: IndexerError) -> int:
    """The status that says what kind of error this is."""
    if "holder" in error.facts:
        return 409  # another process is writing; every service is available
    return next((code for kind, code in STATUS if isinstance(error, kind)), 500)


def hint_of(error: IndexerError) -> str:
    """What the sender can do. Hints about settings, servers and disks go to the log only: they are for the operator."""
    return error.hint if status_of(error) < 500 else FOR_OTHERS


def described(error: Exception, request_id: str) -> tuple[Problem, dict[str, str]]:
    """The problem that an error is, and headers that go with it."""
    headers: dict[str, str] = {}
    errors: list[dict[str, Any]] = []
    status, detail, hint = 500, "The server could not do it. The log says why.", ""
    if isinstance(error, IndexerError):
        status, detail, hint = status_of(error), str(error), hint_of(error)
    elif isinstance(error, RequestValidationError):
        status, detail = 422, "Parameters or fields are wrong."
        errors = wrong_fields(error)
    elif isinstance(error, HTTPException):  # ours, or of the framework: no such route, another method
        status, detail, headers = error.status_code, str(error.detail), dict(error.headers or {})
        hint = error.hint if isinstance(error, Refusal) else ""
    if status == 503:
        headers = {"Retry-After": str(COME_BACK), **headers}
    problem = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        hint=hint,
        request=request_id,
        errors=errors,
    )
    return problem, headers


def answer(problem: Problem, headers: dict[str, str]) -> JSONResponse:
    """A problem as a response."""
    return JSONResponse(
        problem.model_dump(exclude_defaults=True) | {"type": problem.type},
        status_code=problem.status, media_type=MEDIA_TYPE, headers=headers,
    )  # fmt: skip


def for_programs(request: Request) -> bool:
    """Whether who asks is a program, or at least did not ask for a page."""
    return request.url.path.startswith(("/api/", "/health/", "/metrics", "/openapi")) or "text/html" not in (
        request.headers.get("accept", "")
    )


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Responses for the description of the API: these statuses are problems."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def wrong_fields(error: RequestValidationError) -> list[dict[str, Any]]:
    """Each wrong field once, with what is wrong with it: `limit`, `text`, `2.meta.year` of the second."""
    found: dict[str, str] = {}
    for one in error.errors():
        found.setdefault(_path(one["loc"], error.body), one["msg"])
    return [{"where": where, "what": what} for where, what in found.items()]


def _path(place: Sequence[Any], body: Any) -> str:
    """A place in the request, without the names of types on the way to it."""
    first, *rest = place
    if first != "body" or body is None or isinstance(body, bytes):
        return ".".join(map(_named, rest or place))
    steps: list[str] = []
    for at, step in enumerate(rest):
        if (isinstance(body, Mapping) and step in body) or (
            isinstance(body, list) and isinstance(step, int) and step < len(body)
        ):
            body = body[step]
        elif at < len(rest) - 1 or not isinstance(body, Mapping) or str(step).startswith("["):
            continue  # a type, or what an error in a key ends with
        steps.append(_named(step))  # a missing field, too
    return ".".join(steps) or "body"


def _named(step: Any) -> str:
    """A step as people say it: places in a list are counted from 1."""
    return str(step + 1 if isinstance(step, int) else step)
