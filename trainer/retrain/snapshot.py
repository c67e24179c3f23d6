"""The training texts of a retrain: documents of the collection, written to a file once, so that a run can be repeated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from heapq import nsmallest
from pathlib import Path

from indexer.catalog import Catalog
from indexer.common import batches, shuffled
from indexer.engines.base import Engine
from indexer.records import Document

PERIODS = 10  # parts of the collection's history, of about equal size
CHUNK = 256  # documents read at once


def fingerprint(catalog: Catalog, collection: str, more: str = "") -> str:
    """Changes when a document is added, changed or deleted: 32 hexadecimal digits. Reads the ledger, not the texts.

    Args:
        more: Other text that it must change with.
    """
    digest = hashlib.sha256(more.encode())
    for id_, content in catalog.contents(collection):
        digest.update(f"{id_}\0{content}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def sampled(catalog: Catalog, collection: str, most: int, without: Set[str] = frozenset()) -> list[str]:
    """Ids of at most `most` documents, as many of each period of the collection's history, ascending.

    A period is a row of runs: documents count for the run that read them last. Which ones of a period are chosen
    depends on their ids alone, so that a collection that has not changed gives the same sample.
    """
    sizes = catalog.count_by_run(collection)
    chosen: list[str] = []
    periods = _periods(sizes)
    for number, runs in enumerate(periods):
        quota = (most - len(chosen)) // (
            len(periods) - number
        )  # the unused quota of a short period goes to the later ones
        ids = (id_ for id_ in catalog.ids(collection, runs=runs) if id_ not in without)
        chosen += nsmallest(quota, ids, key=shuffled)
    return sorted(chosen)


def _periods(sizes: Mapping[str, int]) -> list[list[str]]:
    """Runs in order of time, cut into at most `PERIODS` parts of about as many documents; the smallest part first."""
    parts: list[list[str]] = [[]]
    most = sum(sizes.values()) / PERIODS
    filled = 0
    for run in sorted(sizes):  # ids of runs ascend with time
        if filled >= most * len(parts):
            parts.append([])
        parts[-1].append(run)
        filled += sizes[run]
    return sorted(filter(None, parts), key=lambda part: sum(sizes[run] for run in part))


def write_snapshot(engine: Engine, ids: Sequence[str], file: Path) -> None:
    """Write id, title and text of these documents as JSON Lines. An existing file is complete, and stays."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    with part.open("w", encoding="utf-8", errors="surrogatepass") as lines:
        for document in documents_of(engine, ids):
            record = {"id": document.id, "title": document.title, "text": document.text}
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
    part.replace(file)


def documents_of(engine: Engine, ids: Sequence[str]) -> Iterator[Document]:
    """The documents with these ids; deleted ones are left out."""
    for some in batches(ids, CHUNK):
        for stored in engine.documents(some):
            yield stored.document
