"""Logging in with a key, and out; the description of the API for people; what every page needs."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from indexer.web.auth import COOKIE, Reader
from indexer.web.errors import Problem
from indexer.web.pages.api_docs import routes
from indexer.web.pages.rendering import page, set_cookie
from indexer.web.shared import Served, Shared

router = APIRouter(include_in_schema=False)

OWN = re.compile(r"/(?![/\\])[^\s]*")  # an address of this page


@router.get("/login")
def login(request: Request, served: Shared, next: str = "/") -> HTMLResponse:
    """Ask for a key."""
    return page(request, served, None, "login.html", next=_own(next), problem="")


@router.post("/login")
def log_in(
    request: Request,
    served: Shared,
    key: Annotated[str, Form(max_length=200)] = "",
    next: Annotated[str, Form(max_length=4_000)] = "/",
    token: Annotated[str, Form()] = "",
) -> Response:
    """Begin a session."""
    served.access.check_token(request, token)
    cookie = served.access.log_in(request, key)
    if cookie is None:
        return page(
            request, served, None, "login.html", code=401, next=_own(next), problem="The key is not valid."
        )
    response = RedirectResponse(_own(next), 303)
    set_cookie(request, response, cookie)
    return response


@router.get("/logout")
def logged_out() -> RedirectResponse:
    """From the address of the form to the page."""
    return RedirectResponse("/", 303)


@router.post("/logout")
def log_out(request: Request, served: Shared, token: Annotated[str, Form()] = "") -> RedirectResponse:
    """End the session."""
    served.access.check_token(request, token)
    served.access.log_out(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


@router.get("/api")
def described(request: Request, served: Shared, reader: Reader) -> HTMLResponse:
    """The API for people: every route with its parameters."""
    address = str(request.base_url).rstrip("/")
    return page(request, served, reader, "api.html", routes=routes(request.app.openapi(), address))


def _own(address: str) -> str:
    return address if OWN.fullmatch(address) else "/"


def failed(request: Request, served: Served, problem: Problem) -> HTMLResponse:
    """A problem as a page."""
    return page(request, served, None, "problem.html", code=problem.status, problem=problem)
