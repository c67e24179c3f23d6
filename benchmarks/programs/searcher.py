"""Searches a collection ten times a second until its input ends; prints one line of JSON for each search.

searcher.py SAMPLE RATE     settings come from the environment (INDEXER_…)

Words, meaning and both in turn, over one `Collection` that stays open. The query is a title, so its own document should
be among the first ten: by meaning it is not when the query's vector and the documents' are of different encoders.
"""

from __future__ import annotations

import json
import select
import sys
import time
from itertools import cycle

from indexer.collection import Collection


def main(sample: str, rate: str) -> None:
    with open(sample, encoding="utf-8") as lines:
        titles = [(row["id"], row["title"]) for row in map(json.loads, lines)]
    with Collection.open() as collection:
        for mode, (id_, title) in zip(cycle(("words", "meaning", "both")), cycle(titles)):
            due = time.monotonic() + 1 / float(rate)
            print(json.dumps(search(collection, mode, id_, title)), flush=True)
            if select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
                return


def search(collection: Collection, mode: str, id_: str, title: str) -> dict[str, object]:
    """One search as a page shows it: ten hits, their keyphrases and topics, facets over all."""
    start, answer = time.perf_counter(), {"at": time.time(), "mode": mode, "error": ""}
    try:
        found = collection.search(title, mode=mode)  # type: ignore[arg-type]
        ids = [hit.stored.document.id for hit in found.hits]
        bundles = sorted({hit.stored.bundle for hit in found.hits})
        answer |= {"found": id_ in ids, "bundles": bundles, "hits": len(ids)}
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    return answer | {"ms": 1e3 * (time.perf_counter() - start)}


if __name__ == "__main__":
    main(*sys.argv[1:])
