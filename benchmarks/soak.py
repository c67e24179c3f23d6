"""Three processes do random operations on one collection for an hour; nothing may get lost, differ, leak or slow down.

    python -m benchmarks.soak --seconds 3600
    python -m benchmarks.soak --seconds 3600 --elasticsearch 9.2 --log hour.log

They index, change and delete documents, fit topics again, rename and merge topics, search, retrain and roll back. Each
knows which of its documents must be there (`tests/support/operations.py`). From time to time all pause, and the whole
collection is checked. An error or a difference ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from itertools import count
from multiprocessing.synchronize import Barrier, Event
from operator import itemgetter
from pathlib import Path
from typing import Any

import psutil
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from benchmarks.corpus import SHIPPED, texts
from benchmarks.crash import server
from benchmarks.servers import ROOT, VERSIONS
from benchmarks.table import table
from indexer.collection import Collection

sys.path.insert(0, str(ROOT / "tests" / "support"))

from operations import Actor, Operations, check

PROCESSES = 3
RETRAINS = 1  # the process that retrains and rolls back
RETRAIN_EVERY = 600.0  # seconds
FEWEST = 80  # documents of each process: a retrain needs 200
STEPS = 6  # of an example of Hypothesis
LENGTH = 600  # characters of a document
PAUSE = 900.0  # seconds that a process may need to come to a check
MEGABYTE = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--check-every", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--elasticsearch", choices=VERSIONS)
    parser.add_argument(
        "--log", type=Path, default=Path("build/soak.log"), help="each operation, a line each"
    )
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, server(arguments.elasticsearch) as engine:
        soak = Soak(Path(folder), engine, arguments.log, arguments.seconds, arguments.check_every)
        sys.exit(soak.run())


class Soak:
    """The processes, and what the checks between their operations found."""

    def __init__(self, folder: Path, engine: str, log: Path, seconds: float, every: float) -> None:
        self._folder = folder
        self._settings = {
            "home": folder / "home",
            "engine": engine,
            "collection": "soak",
            "backend": "onnx-int8",
        }
        self._log = log
        self._seconds = seconds
        self._every = every

    def run(self) -> int:
        """Returns the exit code."""
        context = multiprocessing.get_context("spawn")
        barrier = context.Barrier(PROCESSES + 1)
        found: Any = context.Queue()
        over = context.Event()
        self._log.write_text("", encoding="utf-8")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        arguments = (self._folder, self._settings, self._log, self._every, barrier, over, found)
        processes = [
            context.Process(target=work, args=(number, *arguments), daemon=False)
            for number in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        rows = []
        try:
            barrier.wait(PAUSE)  # all have indexed their first documents
            end = time.monotonic() + self._seconds
            while not over.is_set():
                barrier.wait(self._every + PAUSE)
                if time.monotonic() >= end:
                    over.set()  # before the processes continue
                states = sorted((found.get(timeout=PAUSE) for _ in processes), key=itemgetter("number"))
                rows.append(self._checked(states))
                print(table(rows[-1:]), flush=True)
                barrier.wait(PAUSE)
            for process in processes:
                process.join(PAUSE)
        finally:
            for process in processes:
                process.kill()
        print(table(rows))
        print(table(summary(self._log)))
        return int(any(process.exitcode for process in processes))

    def _checked(self, states: list[dict[str, Any]]) -> dict[str, Any]:
        """Check the collection while no process writes. Returns a row of the table."""
        expected = {id_: text for state in states for id_, text in state["texts"].items()}
        begun = time.perf_counter()
        with Collection.open(**self._settings) as collection:
            check(collection, expected)
            info = collection.engine.info()
        return {
            "documents": info.documents, "mentions": info.mentions, "phrases": info.phrases, "topics": info.topics,
            "MB on disk": round(info.bytes / MEGABYTE, 1),
            "memory of the processes, MB": " ".join(str(state["memory"]) for state in states),
            "open files": " ".join(str(state["files"]) for state in states),
            "threads": " ".join(str(state["threads"]) for state in states),
            "check, s": round(time.perf_counter() - begun, 1),
        }  # fmt: skip


def work(
    number: int,
    folder: Path,
    collection_settings: dict[str, Any],
    log: Path,
    every: float,
    barrier: Barrier,
    over: Event,
    found: Any,
) -> None:
    """One process: operations until a check finds the time over."""

    def logged(what: str, result: str, seconds: float) -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%H:%M:%S')}\t{number}\t{what}\t{seconds:.2f}\t{result}\n")

    try:
        with Collection.open(**collection_settings) as collection:
            some = [text[:LENGTH] for text in texts(SHIPPED)][number::PROCESSES]
            actor = Actor(
                collection,
                number,
                folder / f"p{number}.jsonl",
                some,
                logged,
                fewest=FEWEST,
                retrain_every=RETRAIN_EVERY if number == RETRAINS else float("inf"),
            )
            actor.add(actor.fewest)
            actor.index()
            barrier.wait(PAUSE)
            for turn in count(1):
                operate(actor, time.monotonic() + every)
                barrier.wait(PAUSE)
                found.put(state(actor))
                barrier.wait(PAUSE)
                logged("check", f"{turn}", 0.0)
                if over.is_set():
                    return
    except BaseException:
        traceback.print_exc()
        os.kill(os.getppid(), signal.SIGTERM)  # the others need not come to the next check
        raise


def operate(actor: Actor, until: float) -> None:
    """Run examples of random operations until then."""

    class Process(Operations):
        def __init__(self) -> None:
            super().__init__()
            self.actor = actor

    while time.monotonic() < until:
        run_state_machine_as_test(
            Process,
            settings=settings(
                max_examples=2, stateful_step_count=STEPS, deadline=None, database=None,
                phases=[Phase.generate], suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip


def state(actor: Actor) -> dict[str, Any]:
    """What a process knows, and what it uses."""
    me = psutil.Process()
    return {
        "number": actor.number,
        "texts": {id_: one["text"] for id_, one in actor.documents.items()},
        "memory": round(me.memory_info().rss / MEGABYTE),
        "files": me.num_fds(),
        "threads": me.num_threads(),
    }


def summary(log: Path) -> list[dict[str, Any]]:
    """How often each operation was done, and its seconds."""
    seconds: dict[str, list[float]] = {}
    waits: Counter[str] = Counter()
    for line in log.read_text(encoding="utf-8").splitlines():
        _, _, what, took, result = line.split("\t")
        seconds.setdefault(what, []).append(float(took))
        waits[what] += int(result.split()[1]) if result.startswith("after") else 0
    return [
        {
            "operation": what, "times": len(some), "seconds, median": sorted(some)[len(some) // 2],
            "longest": max(some), "waited for another process": waits[what],
        }
        for what, some in sorted(seconds.items())
    ]  # fmt: skip


if __name__ == "__main__":
    main()
