"""What a run would do with sources: reads them, and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from indexer.catalog import Catalog
from indexer.readers import ReadOptions, read
from indexer.records import Document
from indexer.runs.index import absolute

START_SECONDS = 3.0  # of a run, before the first document is mined
MEGABYTES_PER_DOCUMENT = 0.03  # 25 mention vectors in half precision, and their rows
MAX_PROBLEMS = 20


def planned(catalog: Catalog, collection: str, sources: Sequence[str | Path], options: ReadOptions) -> Plan:
    """Compare what is in the sources with what the ledger knows."""
    given = [absolute(source) for source in sources]
    seen: set[str] = set()
    there: set[str] = set()  # and cannot be read
    new = changed = unreadable = size = 0
    problems: list[str] = []
    for item in read(given, options):
        if not isinstance(item, Document):
            unreadable += "left_out" not in item.facts
            problems += [str(item)] if len(problems) < MAX_PROBLEMS else []
            there.add(item.facts.get("document_id", ""))
            continue
        seen.add(item.id)
        known = catalog.ledger(collection, [item.id]).get(item.id)
        new += known is None
        changed += known is not None and known.content_hash != item.content_hash
        if known is None or known.content_hash != item.content_hash:
            size += len(item.content)
    return Plan(
        documents=len(seen),
        new=new,
        changed=changed,
        unchanged=len(seen) - new - changed,
        unreadable=unreadable,
        missing=sum(id_ not in seen | there for id_ in catalog.unseen(collection, given, "")),
        megabytes=round((new + changed) * MEGABYTES_PER_DOCUMENT + 3 * size / 1e6, 1),
        seconds=_expected_seconds(catalog, collection, new + changed),
        problems=tuple(problems),
    )


def _expected_seconds(catalog: Catalog, collection: str, documents: int) -> float | None:
    done = [run.counts for run in catalog.runs(collection) if run.counts.get("mined", 0) >= 10]
    if not done:
        return None
    return START_SECONDS + float(documents * done[0]["seconds"] / done[0]["mined"]) if documents else 0.0


@dataclass(frozen=True)
class Plan:
    """What an index run would do."""

    documents: int
    new: int
    changed: int
    unchanged: int
    unreadable: int
    missing: int  # in the collection under these sources, and not in them any more
    megabytes: float  # that the home would grow by, about
    seconds: float | None  # about, from the speed of earlier runs; None without any
    problems: tuple[str, ...]
