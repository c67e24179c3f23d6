"""What another process, or a task, is doing to the collection now, in words that a page can show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from indexer.export.formatting import count
from indexer.web.shared import Served

DOING = {
    "indexer index": "Indexing is running",
    "indexer retry": "Dead letters are being tried again",
    "indexer topics rename": "A topic is being renamed",
    "indexer topics merge": "Topics are being merged",
    "indexer enrich": "An index is being enriched",
    "indexer worker": "Workers end a run",
    "indexer retrain": "A retrain is being put to use",
    "indexer rollback": "An earlier generation is coming back",
}


@dataclass(frozen=True)
class Activity:
    """Work on the collection, and how far it is."""

    what: str
    since: datetime | None
    mined: int  # documents whose phrases have been found
    waiting: int  # documents that are stored, and wait for that
    unfinished: int  # documents that are mined, and have no topics of this run yet

    @property
    def progress_text(self) -> str:
        """How far it is, in a sentence; empty where it has nothing to do with documents."""
        if self.waiting:
            found = count(self.mined + self.waiting, "document")
            return f"{self.mined:,} of {found} are mined so far. Topics are found when all are."
        if self.unfinished:
            return f"All {count(self.mined, 'document')} are mined. Topics are being found now."
        return ""


def current_activity(served: Served) -> Activity | None:
    """The current activity; None when no process writes and no worker holds a batch."""
    collection = served.collection
    holder = collection.catalog.lock_holder(collection.name)
    runs = collection.catalog.open_runs(collection.name)
    if holder is None and not runs:
        return None
    counted = collection.catalog.count(collection.name)
    what = DOING.get(holder.owner, "The collection is being written") if holder else "Workers are mining"
    since = holder.since if holder else runs[0].started_at
    mined = counted["mined"] + counted["done"]
    return Activity(what, since, mined, counted["stored"], counted["mined"])
