"""The application: routes, errors, what every request passes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from indexer.errors import IndexerError
from indexer.log import get_logger
from indexer.settings import Settings
from indexer.web import api_read, api_status, api_topics, api_write, downloads, errors, task_work
from indexer.web.api_keys import Keys
from indexer.web.auth import Access
from indexer.web.middleware import Guard
from indexer.web.pages import documents, operations, search, session, topics
from indexer.web.pages.rendering import link
from indexer.web.params import only_known
from indexer.web.server_state import ServerState
from indexer.web.shared import Served, ServedCollection
from indexer.web.tasks import Tasks

# Requests that a process works on at the same time. More threads that compute only take the interpreter away from each
# other: with 8 clients and 52,000 documents, 2 instead of 40 made the slowest of 100 answers three times as fast.
COMPUTING = 2  # one where a process has one core
WAITING = 16  # for a server
FORM = 10_000  # bytes around an uploaded file
ABOUT = """Search a collection by words and by meaning, browse it by mined topics, and look things up by phrase.

Errors are problem details (RFC 9457); a parameter that a route does not have is one, too. Where keys are needed,
send one as `Authorization: Bearer KEY`."""

logger = get_logger(__name__)


def make_app(
    collection: ServedCollection,
    *,
    keys: Keys | None = None,
    rate: float = 20.0,
    state: ServerState | None = None,
) -> FastAPI:
    """The page and the API of a collection; it is closed when the application ends.

    Args:
        keys: Who may do what; None where only this machine asks, and may do everything.
        rate: Requests a second for each key.
        state: What this process shares with others of its server; None where it is alone.
    """
    state = state or ServerState()
    settings = collection.settings
    served = Served(collection, Access(keys, rate=rate, state=state), Tasks(state))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = _at_once(settings)
        collection.warm()
        task_work.go_on(served)
        yield
        served.tasks.close()
        collection.close()

    app = FastAPI(
        title="indexer",
        version=version("indexer"),
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=_operation,
    )
    app.state.served = served
    views = (search, topics, documents, operations, session)
    for part in (api_read, api_topics, api_write, api_status, downloads, *views):
        app.include_router(part.router, dependencies=[Depends(only_known)])
    app.mount("/static", StaticFiles(packages=[("indexer.web", "static")]))
    for kind in (IndexerError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _failed)
    app.add_middleware(
        Guard, sizes=_sizes(served), local=keys is None, failed=_failed, one_of_several=state.is_shared
    )
    _describe(app)
    return app


def _at_once(settings: Settings) -> int:
    """Return how many requests a process works on at the same time."""
    return min(COMPUTING, settings.threads or COMPUTING) if settings.engine == "local" else WAITING


def _sizes(served: Served) -> dict[str, int]:
    documents = 2 * served.collection.settings.max_document_bytes  # escapes need room too
    return {
        "/api/documents": documents,
        "/api/keyphrases": 1_000_000,
        "/api/files": task_work.MAX_FILE_SIZE + FORM,
        "/operations/files": task_work.MAX_FILE_SIZE + FORM,
    }


def _failed(request: Request, error: Exception) -> Response:
    problem, headers = errors.described(error, request.state.request_id)
    if problem.status == 405:
        headers["Allow"] = ", ".join(_methods(request)) or headers["Allow"]
    if isinstance(error, IndexerError) and problem.status >= 500:
        logger.warning("not_answered", reason=problem.detail, hint=getattr(error, "hint", ""))
    if errors.for_programs(request):
        return errors.answer(problem, headers)
    if problem.status == 401 and request.method == "GET":
        here = f"{request.url.path}?{request.url.query}".rstrip("?")
        return RedirectResponse(link("/login", next=here), 303)
    return session.failed(request, request.app.state.served, problem)


def _methods(request: Request) -> list[str]:
    """What a path of the API may be asked for with: the framework names one route's methods only."""
    paths = request.app.openapi()["paths"]
    fitting = (p for p in paths if re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", p), request.url.path))
    return sorted({method.upper() for path in fitting for method in paths[path]})


def _operation(route: APIRoute) -> str:
    """Names of operations in the description: those of the functions."""
    return route.name


def _describe(app: FastAPI) -> None:
    """Add to the description of the API what the framework does not know: problems, and how keys are sent."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = made()
            parts = found.setdefault("components", {})
            parts.setdefault("schemas", {})["Problem"] = errors.Problem.model_json_schema()
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            for path in found["paths"].values():
                for operation in path.values():
                    operation["security"] = [{"key": []}, {}]
        return app.openapi_schema or made()

    app.openapi = described  # type: ignore[method-assign]
