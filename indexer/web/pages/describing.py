"""The description of the API in words: what each route takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Route:
    """One thing that can be asked for."""

    id: str
    method: str
    path: str
    about: str
    takes: list[tuple[str, str]]  # name, and what it is


def routes(description: Schema) -> Iterator[Route]:
    """All routes of a description (OpenAPI)."""
    for path, operations in description["paths"].items():
        for method, found in operations.items():
            takes = [(p["name"], _words(p["schema"], p)) for p in found.get("parameters", [])]
            for content in found.get("requestBody", {}).get("content", {}).values():
                takes += _fields(content["schema"], description)
            about = found.get("description", found["summary"])
            yield Route(found["operationId"], method.upper(), path, about, takes)


def _fields(schema: Schema, description: Schema) -> list[tuple[str, str]]:
    """What stands in a body; of several kinds of body, the first."""
    while "properties" not in schema:
        if kinds := schema.get("anyOf") or schema.get("oneOf"):
            schema = kinds[0]
        else:
            schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    required = schema.get("required", [])
    return [(name, _words(one, {"required": name in required})) for name, one in schema["properties"].items()]


def _words(schema: Schema, about: Schema) -> str:
    """Such as "integer, 10. Rows of a page."."""
    kind = " or ".join(schema["enum"]) if "enum" in schema else schema.get("type", "text, number or list")
    default = schema.get("default")
    told = default not in (None, "", [], {}, False)
    value = default if isinstance(default, str) else json.dumps(default)
    said = f"{kind}{', required' if about.get('required') else f', {value}' if told else ''}"
    more = about.get("description") or schema.get("description")
    return f"{said}. {more}" if more else said
