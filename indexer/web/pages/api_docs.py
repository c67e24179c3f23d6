"""The description of the API in words: what each route takes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

Schema = Mapping[str, Any]

SAMPLES: Mapping[str, Any] = {
    "q": "solar wind",
    "phrase": "sea ice",
    "document": "a1",
    "title": "Tides",
    "text": "Tides move the sea ice.",
    "label": "Sea ice",
    "into": "t-000002",
    "kind": "csv",
    "limit": 5,
}
IDS = {"topics": "t-000001", "tasks": "0a1b2c3d4e5f6071"}  # by what a route is about; else that of a document


@dataclass(frozen=True)
class Route:
    """One thing that can be asked for."""

    id: str
    method: str
    path: str
    about: str
    takes: list[tuple[str, str]]  # name, and what it is
    example: str  # a request, for a shell


def routes(description: Schema, address: str) -> Iterator[Route]:
    """All routes of a description (OpenAPI).

    Args:
        address: Of the server, for the examples: ``http://localhost:8000``.
    """
    for path, operations in description["paths"].items():
        for method, found in operations.items():
            takes = [(p["name"], _words(p["schema"], p)) for p in found.get("parameters", [])]
            for content in found.get("requestBody", {}).get("content", {}).values():
                takes += _fields(content["schema"], description)
            about = found.get("description", found["summary"])
            example = _example(method.upper(), address, path, found, description)
            yield Route(found["operationId"], method.upper(), path, about, takes, example)


def _fields(schema: Schema, description: Schema) -> list[tuple[str, str]]:
    """The fields of a body."""
    schema = _object(schema, description)
    required = schema.get("required", [])
    return [(name, _words(one, {"required": name in required})) for name, one in schema["properties"].items()]


def _words(schema: Schema, about: Schema) -> str:
    """Such as "integer, 10. Rows of a page."."""
    kind = " or ".join(schema["enum"]) if "enum" in schema else schema.get("type", "text, number or list")
    default = schema.get("default")
    has_default = default not in (None, "", [], {}, False)
    value = default if isinstance(default, str) else json.dumps(default)
    text = f"{kind}{', required' if about.get('required') else f', {value}' if has_default else ''}"
    more = about.get("description") or schema.get("description")
    return f"{text}. {more}" if more else text


def _example(method: str, address: str, path: str, operation: Schema, description: Schema) -> str:
    """Such as ``curl 'http://localhost:8000/api/search?q=solar+wind'``: what must be given, and what is searched for."""
    about = path.split("/")[2] if path.startswith("/api/") else ""
    filled = re.sub(
        r"\{(\w+)[^}]*\}",
        lambda found: _sample(found[1], {}) if found[1] != "id" else IDS.get(about, "a1"),
        path,
    )
    given = {
        p["name"]: _sample(p["name"], p["schema"])
        for p in operation.get("parameters", [])
        if p["in"] == "query" and (p.get("required") or p["name"] in ("q", "phrase"))
    }
    parts = ["curl", *([] if method in ("GET", "POST") else ["-X", method])]
    body = next(iter(operation.get("requestBody", {}).get("content", {}).items()), None)
    parts.append(shlex.quote(f"{address}{filled}{'?' if given else ''}{urlencode(given)}"))
    if body is None:
        return " ".join([*parts, *(["-X POST"] if method == "POST" else [])])
    kind, content = body
    if kind == "multipart/form-data":
        return " ".join([*parts, "-F file=@articles.jsonl"])
    return " ".join([*parts, "--json", shlex.quote(json.dumps(_body(content["schema"], description)))])


def _body(schema: Schema, description: Schema) -> dict[str, Any]:
    """A body with what is required in it; where nothing is, with nothing, or the first field where one is needed."""
    found = _object(schema, description)
    required = found.get("required", []) or [*found["properties"]][: found.get("minProperties", 0)]
    wanted = [
        name for name in found["properties"] if name in required or (required and name in ("id", "title"))
    ]
    return {name: _sample(name, found["properties"][name]) for name in wanted}


def _sample(name: str, schema: Schema) -> Any:
    return IDS.get(name, "a1") if name == "id" else SAMPLES.get(name, schema.get("default", "..."))


def _object(schema: Schema, description: Schema) -> Schema:
    """The fields of a body; of several kinds of body, the first."""
    while "properties" not in schema:
        if kinds := schema.get("anyOf") or schema.get("oneOf"):
            schema = kinds[0]
        else:
            schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema
