"""Workers against one process: the same documents, Elasticsearch, PostgreSQL and machine, one run after the other.

    python -m benchmarks.workers --data articles.jsonl.gz --documents 3000 --repeat 2

Workers are started before their clock runs, as they are in use; each of the two loads its models once. Prints seconds of
the command as it reports them itself, documents a second, and the overhead of workers.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median

from benchmarks.corpus import SHIPPED, write_sample
from benchmarks.servers import DEFAULT, VERSIONS, Servers, servers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--elasticsearch", choices=VERSIONS, default=DEFAULT)
    arguments = parser.parse_args()
    with servers(arguments.elasticsearch) as site:
        source = site.home / "sample.jsonl"
        write_sample(arguments.data, arguments.documents, source)
        warm = site.home / "warm.jsonl"
        write_sample(arguments.data, 64, warm)
        finished(site, "warm", warm, broker=False)  # the backend is measured once in a home
        alone, with_workers = [], []
        for number in range(arguments.repeat):
            alone.append(finished(site, f"alone-{number}", source, broker=False))
            with site.workers():
                finished(site, f"warm-{number}", warm, broker=True)
                with_workers.append(finished(site, f"workers-{number}", source, broker=True))
            print(
                f"run {number + 1}: one process {alone[-1]:.1f} s, workers {with_workers[-1]:.1f} s",
                flush=True,
            )
    one, several = median(alone), median(with_workers)
    print(f"one process   {one:8.1f} s  {arguments.documents / one:6.1f} documents/s")
    print(f"workers       {several:8.1f} s  {arguments.documents / several:6.1f} documents/s")
    print(f"overhead      {100 * (several / one - 1):+8.1f} %")


def finished(site: Servers, collection: str, source: Path, *, broker: bool) -> float:
    """Seconds that a command says it took."""
    start = time.perf_counter()
    output, _ = (running := site.index(collection, source, broker=broker)).communicate()
    if running.returncode:
        raise SystemExit(
            f"The command ended with {running.returncode} after {time.perf_counter() - start:.0f} s."
        )
    seconds: float = json.loads(output)["seconds"]
    return seconds


if __name__ == "__main__":
    main()
