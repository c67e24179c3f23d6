"""From a template to a response. Document text is escaped, and its direction marks do not affect the page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from indexer.export.formatting import clean, count, duration, growth, moment, percent, size
from indexer.export.tables import KINDS
from indexer.web.auth import COOKIE, Visitor, new_cookie
from indexer.web.pages.charts import spark
from indexer.web.shared import Served

Pairs = Sequence[tuple[str, str]]


class Address:
    """Where a view is: a path and its parameters. Every state of the page has one, so that it can be linked."""

    def __init__(self, path: str, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.path = path
        self.pairs = [(name, value) for name, value in pairs if value]

    def put(self, **values: object) -> Address:
        """With other values of these parameters; None or "" takes one away."""
        kept = [(name, value) for name, value in self.pairs if name not in values]
        return Address(self.path, [*kept, *((n, str(v)) for n, v in values.items() if v not in (None, ""))])

    def drop(self, name: str, value: str) -> Address:
        """Without one value of a parameter."""
        return Address(self.path, [pair for pair in self.pairs if pair != (name, value)])

    def add(self, name: str, value: str) -> Address:
        """With one more value of a parameter."""
        return Address(self.path, [*self.drop(name, value).pairs, (name, value)])

    def to(self, path: str) -> Address:
        """Another path with the same parameters."""
        return Address(path, self.pairs)

    def __str__(self) -> str:
        return f"{self.path}?{urlencode(self.pairs, errors='replace')}" if self.pairs else self.path


def link(path: str, **values: object) -> str:
    """An address of this page."""
    return str(Address(path).put(**values))


def render(name: str, **context: Any) -> str:
    """Fill a template."""
    return _environment().get_template(name).render(context)


def page(
    request: Request, served: Served, visitor: Visitor | None, name: str, *, code: int = 200, **context: Any
) -> HTMLResponse:
    """A page as a response; its forms have a token, and the visitor a cookie that belongs to it."""
    cookie = request.cookies.get(COOKIE, "") or new_cookie()
    text = render(
        name,
        collection=served.collection.title,
        visitor=visitor,
        keyed=served.access.keys is not None,
        token=served.access.token(cookie),
        here=request.url.path,
        **context,
    )
    response = HTMLResponse(text.encode("utf-8", "replace"), code)
    if cookie != request.cookies.get(COOKIE):
        set_cookie(request, response, cookie)
    return response


def set_cookie(request: Request, response: HTMLResponse | RedirectResponse, cookie: str) -> None:
    """Not to be read by scripts, and not sent along by other sites."""
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=secure)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("indexer.web"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"exports": KINDS, "link": link, "spark": spark, "static": static}
    environment.filters |= {
        "count": count, "duration": duration, "growth": growth, "moment": _moment, "number": _number,
        "percent": percent, "share": _share, "size": size,
    }  # fmt: skip
    return environment


def _shown(value: Any) -> Any:
    """Without control characters and marks that turn the direction of what follows."""
    if value is None:
        return ""
    return clean(value, keep_lines=True) if type(value) is str else value


def _moment(at: datetime | None) -> str:
    return moment(at)


def _share(value: float) -> str:
    """A percentage with as many digits as it has."""
    return f"{100 * value:.4g} %"


def _number(value: float, digits: int = 0) -> str:
    return f"{value:,.{digits}f}"


@cache
def static(name: str) -> str:
    """The address of a file of ours, which changes when the file does."""
    content = (files("indexer.web") / "static" / name).read_bytes()
    return f"/static/{name}?{hashlib.sha256(content).hexdigest()[:8]}"
