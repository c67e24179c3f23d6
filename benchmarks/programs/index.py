"""What `indexer index FILE` does, into a home: read, tag, encode, keyphrases, topics, phrases, store."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.collection import Collection


def main(file: str, home: str, name: str = "main", topics: str = "") -> None:
    from indexer.collection import Collection

    with Collection.open(home=home, collection=name) as collection:
        _ = collection.encoder  # loaded here, so that `work` begins with a loaded model, as for the others
        start = time.perf_counter()
        report = collection.index([file], topics=topics or None)
        work = time.perf_counter() - start
        answer = {
            "work": work,
            "stages": dict(report.stages),
            "failed": report.failed,
            "topics": len(collection.topics()),
            "backend": collection.encoder.bundle,
            "topic_of": topic_of(collection),
        }
    print(json.dumps(answer))


def topic_of(collection: Collection) -> dict[str, str | None]:
    """The heaviest topic of each document."""
    return {
        stored.document.id: stored.topics[0].topic_id if stored.topics else None
        for stored in collection.documents()
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
