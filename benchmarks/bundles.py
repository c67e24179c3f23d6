"""Does a trained encoder index as fast as the untrained one? Whole `indexer index` runs, in turn, in two warm homes.

    python -m benchmarks.bundles --data articles.jsonl.gz --documents 600 --rounds 10

A single pair says little on a machine that others use too: the order changes from round to round, and
processor seconds are printed next to seconds.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.corpus import SHIPPED, write_sample

UNTRAINED, TRAINED = "minilm-base", "minilm-phrases"


@dataclass(frozen=True)
class Took:
    """Seconds of one run: on the clock, and of all processors."""

    clock: float
    processors: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--bundle", default=TRAINED, help="the trained one")
    arguments = parser.parse_args()
    pair = (UNTRAINED, arguments.bundle)
    taken: dict[str, list[Took]] = {bundle: [] for bundle in pair}
    with tempfile.TemporaryDirectory(prefix="indexer-benchmark-") as scratch:
        source = Path(scratch) / "sample.jsonl"
        write_sample(arguments.data, arguments.documents, source)
        for bundle in pair:
            indexed(Path(scratch), bundle, "warm", source)  # the backend is measured once in a home
        for number in range(arguments.rounds):
            for bundle in pair if number % 2 else pair[::-1]:
                taken[bundle].append(indexed(Path(scratch), bundle, f"round-{number}", source))
            print(
                f"round {number + 1}: " + ", ".join(f"{b} {taken[b][-1].clock:.1f} s" for b in pair),
                flush=True,
            )
    untrained, trained = (taken[bundle] for bundle in pair)
    print("\nspeed of the trained encoder by that of the untrained one")
    for what in ("clock", "processors"):
        before, after = ([getattr(one, what) for one in runs] for runs in (untrained, trained))
        ratio = median(a / b for a, b in zip(before, after, strict=True))
        print(f"{what:10}  all rounds {sum(before) / sum(after):.3f}, median of rounds {ratio:.3f}")


def indexed(scratch: Path, bundle: str, collection: str, source: Path) -> Took:
    """Index the source into a new collection of the bundle's home."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "indexer.cli", "--home", scratch / bundle, "--bundle", bundle,
         "--collection", collection, "index", source],
        check=True, capture_output=True,
    )  # fmt: skip
    clock = time.perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(clock, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)


if __name__ == "__main__":
    main()
