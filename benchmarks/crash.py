"""Kill an index run with SIGKILL in each of its stages, run it again, and compare with an undisturbed run.

    python -m benchmarks.crash --data articles.jsonl.gz --documents 3000

Prints the progress at each kill and the differences at the end; any difference is a bug.
"""

from __future__ import annotations

import argparse
import gzip
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import numpy as np

from indexer.collection import Collection
from indexer.common import batches

SAME_VECTOR = 0.999  # cosine


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=3000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample.jsonl"
        opened = gzip.open if arguments.data.suffix == ".gz" else open
        with opened(arguments.data, "rt", encoding="utf-8") as lines:
            sample.write_text("".join(islice(lines, arguments.documents)), encoding="utf-8")
        whole, broken = Path(folder) / "whole", Path(folder) / "broken"
        index(whole, sample).wait()
        for name, reached in STAGES.items():
            kill_when(name, reached, broken, sample, arguments.documents)
        index(broken, sample).wait()
        sys.exit(compare(whole, broken))


def index(home: Path, sample: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "indexer.cli", "--home", str(home), "index", str(sample)]
    return subprocess.Popen(command, start_new_session=True)


def states(home: Path) -> Mapping[str, int]:
    """state ► documents, read while the program runs."""
    try:
        catalog = sqlite3.connect(f"file:{home}/catalog.sqlite?mode=ro", uri=True)
        try:
            return dict(catalog.execute("SELECT state, count(*) FROM documents GROUP BY state"))
        finally:
            catalog.close()
    except sqlite3.Error:  # not there yet
        return {}


def fitted(home: Path) -> bool:
    """Whether the topics are fitted, so that documents and phrases are being finished."""
    try:
        catalog = sqlite3.connect(f"file:{home}/catalog.sqlite?mode=ro", uri=True)
        try:
            return bool(catalog.execute("SELECT count(*) FROM fits").fetchone()[0])
        finally:
            catalog.close()
    except sqlite3.Error:
        return False


STAGES: Mapping[str, Callable[[Path, int], bool]] = {
    "while storing": lambda home, n: 0 < states(home).get("stored", 0) < n,
    "while mining": lambda home, n: states(home).get("mined", 0) >= n // 2,
    "while finishing": lambda home, n: fitted(home),
}


def kill_when(
    name: str, reached: Callable[[Path, int], bool], home: Path, sample: Path, documents: int
) -> None:
    """Start a run, and kill it and its workers when it has reached a stage."""
    run = index(home, sample)
    while not reached(home, documents):
        if run.poll() is not None:
            sys.exit(f"The run ended before it could be killed {name}.")
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    print(f"killed {name}: {dict(states(home))}, topics fitted: {fitted(home)}", flush=True)


def compare(whole: Path, broken: Path) -> int:
    """Print what differs; returns the exit status."""
    with Collection.open(home=whole) as one, Collection.open(home=broken) as two:
        ids = list(one.engine.document_ids())
        different = {
            "ids": ids != list(two.engine.document_ids()),
            "ledger": one.catalog.count(one.name) != two.catalog.count(two.name),
            "counts": counted(one) != counted(two),
            "topics": [(t.id, t.label, t.size, t.phrases) for t in one.topics()]
            != [(t.id, t.label, t.size, t.phrases) for t in two.topics()],
            "phrases": list(one.engine.phrase_ids()) != list(two.engine.phrase_ids()),
        }
        lowest = 1.0
        documents = rows = 0
        for some in batches(ids, 256):
            for a, b in zip(
                one.engine.documents(some, vectors=True),
                two.engine.documents(some, vectors=True),
                strict=True,
            ):
                same = (a.document.content_hash, a.keyphrases, a.topics) == (
                    b.document.content_hash, b.keyphrases, b.topics
                )  # fmt: skip
                documents += not same
                lowest = min(lowest, float(np.dot(a.vector, b.vector)))
            for x, y in zip(one.engine.mentions(some), two.engine.mentions(some), strict=True):
                rows += (x.phrase_id, x.places, x.score, x.topic) != (y.phrase_id, y.places, y.score, y.topic)
                lowest = min(lowest, float(np.dot(x.vector, y.vector)))
    print(f"{len(ids)} documents compared")
    for name, differs in different.items():
        print(f"{name:10} {'DIFFERENT' if differs else 'equal'}")
    print(f"documents  {documents} with other hash, keyphrases, offsets or topics")
    print(f"mentions   {rows} with other offsets, score or topic")
    print(f"vectors    lowest cosine {lowest:.6f}")
    return int(any(different.values()) or bool(documents) or bool(rows) or lowest < SAME_VECTOR)


def counted(collection: Collection) -> tuple[int, ...]:
    info = collection.engine.info()
    return info.documents, info.mined, info.mentions, info.phrases, info.topics, info.without_topic


if __name__ == "__main__":
    main()
