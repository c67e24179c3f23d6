"""The effect of a retrain on concurrent searches, writes and kills, and of three retrains on the topics.

    python -m benchmarks.retrain --data articles.jsonl.gz --documents 3000 --budget 5m
    python -m benchmarks.retrain --elasticsearch 9.2 --only searches

searches    ten searches a second before, during and after a retrain, in a process that keeps its collection open
writes      documents added, changed and deleted while it runs: all as in the source after the swap
kills       SIGKILL to everything at a tenth, a quarter, … of its time, and the same command again
nights      three retrains with a tenth of new documents each: which topic ids are kept, and that none is used again

Without --elasticsearch the engine is the embedded one. The gate lets everything pass (--force): what is
measured here is the swap, not whether it was worth it. Exits with 1 when something is not as it must be.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import SHIPPED, rows, write_sample
from benchmarks.servers import VERSIONS, Elastic

CALM = 60.0  # seconds of searches without a retrain
RATE = 10  # searches a second
KILLED_AT = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95)  # of the seconds that a whole retrain takes


@dataclass
class Site:
    """A home, and the settings of everything that works in it."""

    home: Path
    engine: str
    budget: str

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("INDEXER_")}
        return {**inherited, "INDEXER_HOME": str(self.home), "INDEXER_ENGINE": self.engine}

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", *map(str, arguments)]
        options = {"stdout": subprocess.PIPE, **options}
        return subprocess.Popen(command, env=self.environment, text=True, start_new_session=True, **options)

    def output_of(self, *arguments: object) -> Any:
        """What a command prints as JSON."""
        running = self.start("indexer.cli", *arguments, "--json")
        output, _ = running.communicate()
        if running.returncode:
            raise SystemExit(f"indexer {' '.join(map(str, arguments))} ended with {running.returncode}.")
        return json.loads(output)

    def retrain(self) -> subprocess.Popen[str]:
        return self.start("indexer.cli", "retrain", "--budget", self.budget, "--force", "--json")

    def live(self) -> list[dict[str, Any]]:
        return [one for one in self.output_of("generations") if one["state"] == "live"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=SHIPPED, help="JSON Lines with title and text, .gz or not"
    )
    parser.add_argument("--documents", type=int, default=400, help="half as many more are added by and by")
    parser.add_argument("--budget", default="1m")
    parser.add_argument("--elasticsearch", choices=VERSIONS)
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    arguments = parser.parse_args()
    wrong = 0
    for name in arguments.only.split(","):
        print(f"== {name}", flush=True)
        with site(arguments.elasticsearch, arguments.budget) as there:
            rows = sample(arguments.data, arguments.documents * 3 // 2, there.home)
            wrong += PARTS[name](there, rows, arguments.documents)
    sys.exit(bool(wrong))


@contextmanager
def site(version: str | None, budget: str) -> Iterator[Site]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="indexer-benchmark-")))
        if version is None:
            yield Site(home, "local", budget)
            return
        elastic = Elastic(version, {})
        stack.callback(elastic.remove)
        elastic.start()
        yield Site(home, elastic.url, budget)


def sample(data: Path, size: int, home: Path) -> list[dict[str, Any]]:
    file = home / "sample.jsonl"
    write_sample(data, size, file)
    return rows(file)


def indexed(there: Site, rows: list[dict[str, Any]]) -> Path:
    """Rewrite the source and index it."""
    source = there.home / "source.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    there.output_of("index", source, "--delete-missing")
    return source


# -- searches ------------------------------------------------------------------------------------------------


def searches(there: Site, rows: list[dict[str, Any]], number: int) -> int:
    source = indexed(there, rows[:number])
    found = there.home / "answers.jsonl"  # an unread pipe is full after a minute
    with found.open("w") as answers_file:
        searcher = there.start(
            "benchmarks.programs.searcher", source, RATE, stdin=subprocess.PIPE, stdout=answers_file
        )
    time.sleep(CALM)
    begun = time.time()
    output, _ = (running := there.retrain()).communicate()
    ended = time.time()
    time.sleep(CALM / 4)
    searcher.communicate("end\n")
    report = json.loads(output)
    print(
        f"retrain    {ended - begun:,.0f} s, exit {running.returncode}: {report['verdict']}, {report['reason']}"
    )
    lines = found.read_text().splitlines()[10:]  # the first ones load the encoder
    answers = [json.loads(line) for line in lines]
    parts = {
        "before": [a for a in answers if a["at"] < begun],
        "during": [a for a in answers if begun <= a["at"] < ended],
        "after": [a for a in answers if a["at"] >= ended],
    }
    for name, some in parts.items():
        print_latencies(name, some)
    errors = [a["error"] for a in answers if a["error"]]
    print("\n".join(sorted(set(errors))[:5]), end="\n" if errors else "")
    mixed = sum(len(a.get("bundles", ())) > 1 for a in answers)
    print(f"answers with documents of both generations: {mixed}")
    return len(errors) + mixed + (running.returncode or 0)


def print_latencies(name: str, answers: list[dict[str, Any]]) -> None:
    times = np.array([a["ms"] for a in answers])
    known = [a["found"] for a in answers if a["mode"] == "meaning" and not a["error"]]
    errors = sum(bool(a["error"]) for a in answers)
    print(
        f"{name:10} {len(answers):6,} searches, {errors} errors, p50 {np.percentile(times, 50):.0f} ms, "
        f"p99 {np.percentile(times, 99):.0f} ms; by meaning the document of the title is found in {np.mean(known):.1%}"
    )


# -- writes --------------------------------------------------------------------------------------------------


def writes(there: Site, rows: list[dict[str, Any]], number: int) -> int:
    """A third of the documents is added, a fifteenth changed, a thirtieth deleted."""
    indexed(there, rows[:number])
    running = there.retrain()
    while not any(one["state"] == "unfinished" for one in there.output_of("generations")):
        time.sleep(1)  # until the next generation is being built
    kept = rows[number // 30 : number]
    changed = [{**row, "text": row["text"] + " One more sentence."} for row in kept[: number // 15]]
    expected = [*changed, *kept[number // 15 :], *rows[number : number + number // 3]]
    indexed(there, expected)
    output, _ = running.communicate()
    print(f"retrain    {json.loads(output)['verdict']}")
    return differences(there, expected, json.loads(output)["bundle"])


def differences(there: Site, expected: list[dict[str, Any]], bundle: str) -> int:
    """How many documents are missing, too many, of another text, or not mined by the live encoder."""
    from indexer.collection import Collection

    texts = {row["id"]: row["text"] for row in expected}
    with Collection.open(home=there.home, engine=there.engine) as collection:
        stored = {one.document.id: one for one in collection.documents()}
    missing, many = len(texts.keys() - stored.keys()), len(stored.keys() - texts.keys())
    other = sum(stored[id_].document.text != texts[id_] for id_ in texts.keys() & stored.keys())
    not_mined = sum(not one.bundle.startswith(f"{bundle}@") for one in stored.values())
    print(
        f"documents  {len(stored):,} there: {missing} missing, {many} too many, {other} of another text, "
        f"{not_mined} not mined by {bundle}"
    )
    return missing + many + other + not_mined


# -- kills ---------------------------------------------------------------------------------------------------


def kills(there: Site, rows: list[dict[str, Any]], number: int) -> int:
    indexed(there, rows[:number])
    start = time.perf_counter()
    there.retrain().wait()
    whole = time.perf_counter() - start
    print(f"undisturbed {whole:.0f} s")
    wrong = 0
    for share in KILLED_AT:
        before = there.live()
        running = there.retrain()
        time.sleep(share * whole)
        late = running.poll() is not None  # it was faster than the first one
        if not late:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        live = there.live()
        untouched = [one["number"] for one in live] == [one["number"] for one in before]
        start = time.perf_counter()
        output, _ = (again := there.retrain()).communicate()
        report = json.loads(output) if again.returncode == 0 else {"verdict": "failed", "bundle": ""}
        print(
            f"{'ended before' if late else 'killed at'} {share:.0%}: {len(live)} live, "
            f"{'untouched' if untouched else 'another'}; again "
            f"{time.perf_counter() - start:.0f} s, {report['verdict']}, {len(there.live())} live"
        )
        wrong += (
            len(live) != 1
            or not (untouched or late)
            or report["verdict"] != "swapped"
            or len(there.live()) != 1
        )
        wrong += differences(there, rows[:number], report["bundle"])
    return wrong


# -- nights --------------------------------------------------------------------------------------------------


def nights(there: Site, rows: list[dict[str, Any]], number: int) -> int:
    """Which topic ids live on. One that has retired must not come back for another topic."""
    indexed(there, rows[:number])
    live = {topic["id"]: topic["label"] for topic in there.output_of("topics")}
    ever, retired = set(live), set()
    for night in range(1, 4):
        indexed(there, rows[: number + night * number // 10])
        report = json.loads(there.retrain().communicate()[0])
        now = {topic["id"]: topic["label"] for topic in there.output_of("topics")}
        kept, born = live.keys() & now.keys(), now.keys() - live.keys()
        print(
            f"night {night}: {report['verdict']}; {len(kept)} of {len(live)} ids kept, {len(born)} new: "
            + ", ".join(f"{id_} {now[id_]}" for id_ in sorted(born))
        )
        retired |= live.keys() - now.keys()
        if again := born & (ever & retired):
            print(f"used again: {', '.join(sorted(again))}")
            return 1
        ever |= now.keys()
        live = now
    for id_ in sorted(retired):
        print(f"{id_}: {there.output_of('topics', 'show', id_)['id']}")
    return 0


PARTS = {"searches": searches, "writes": writes, "kills": kills, "nights": nights}

if __name__ == "__main__":
    main()
