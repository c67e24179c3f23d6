"""Which parameters and fields of a request are wrong, under the names that those know who wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError


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
