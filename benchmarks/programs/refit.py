"""What `indexer topics refit --topics …` does in a home that is indexed: topics, labels, keyphrases and phrases again."""

from __future__ import annotations

import json
import sys
import time


def main(home: str, name: str, topics: str) -> None:
    from benchmarks.programs.index import topic_of
    from indexer.collection import Collection

    with Collection.open(home=home, collection=name) as collection:
        start = time.perf_counter()
        collection.index([], topics=topics, refit=True)
        work = time.perf_counter() - start
        answer = {"work": work, "topics": len(collection.topics()), "topic_of": topic_of(collection)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
