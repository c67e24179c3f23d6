"""Indexes documents for search by words and by meaning, with keyphrases and topics.

    from indexer import Collection, Document, Filter

    with Collection.open(home="my-index") as collection:
        collection.index(["articles.jsonl"])

Layers, from the top: `cli`, `web`, `collection` (the Python API), `runs`, `export`, `search`, `pipeline`, `topics`,
`engines`, `keyphrases`, `readers`, `text`, `catalog`, then `settings`, `records`, `common`, `log` and `errors`. Each
imports only those after it. Read `records` first, then `collection`. The public names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indexer.collection import Collection
    from indexer.engines.base import Filter
    from indexer.records import Document

__all__ = ["Collection", "Document", "Filter"]

_MODULES = {
    "Collection": "indexer.collection",
    "Document": "indexer.records",
    "Filter": "indexer.engines.base",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
