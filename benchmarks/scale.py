"""A rehearsal of a large collection: synthetic documents through the real write path, the end of the run, and searches.

    python -m benchmarks.scale --data abstracts.jsonl.gz --documents 1000000 --folder /scratch/scale

No encoder runs: documents and vectors are made as `benchmarks/synthetic.py` says. The first part is a first run, with its
topics; the others are one run of a collection that grows. Prints for each part the milliseconds a document of each step,
the processor time of Elasticsearch, rows, bytes on disk and memory; then the end of the run, and four clients at once.
With --folder, home and server data are kept, and a stopped rehearsal resumes; --plot draws it.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from elasticsearch import Elasticsearch

from benchmarks.corpus import write_sample
from benchmarks.servers import DEFAULT, VERSIONS, Elastic
from benchmarks.synthetic import Abstract, Synthesizer, abstracts
from benchmarks.table import Row, table
from indexer.catalog.entries import LedgerEntry
from indexer.collection import Collection
from indexer.common import batches
from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.errors import EngineUnavailable
from indexer.pipeline.run import RunReport
from indexer.pipeline.steps import CHUNK, write_chunk
from indexer.settings import load_settings
from indexer.topics.models.registry import TopicRequest

REAL = 2_000  # abstracts that the synthetic ones are made of
FIRST, PART = 3_000, 50_000
CLIENTS, SEARCH_S = 4, 30.0
WARM_UPS = 5  # of a kind of search, at most
STORE_CHUNK = 256
NAME = "scale"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--part", type=int, default=PART)
    parser.add_argument("--elasticsearch", choices=VERSIONS, default=DEFAULT)
    parser.add_argument("--vector-index", choices=["auto", "int8_flat"], default="auto")
    parser.add_argument("--folder", type=Path, help="for home and data; they are kept")
    parser.add_argument("--plot", type=Path, help="image file for the curve")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="indexer-scale-"))
    try:
        with rehearsal(folder, arguments) as rehearsed:
            rehearsed.write(arguments.documents, arguments.part)
            rehearsed.finish("end of the run")
            rehearsed.search()
            if arguments.plot:
                rehearsed.draw(arguments.plot)
    finally:
        if not arguments.folder:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def rehearsal(folder: Path, arguments: argparse.Namespace) -> Iterator[Rehearsal]:
    """Start the server, index the real abstracts with the embedded engine, and open the collection."""
    folder.mkdir(parents=True, exist_ok=True)
    real = real_abstracts(folder, arguments.data)
    elastic = Elastic(arguments.elasticsearch, {}, data=folder / "elasticsearch")
    elastic.start()
    try:
        settings = load_settings(
            home=str(folder / "home"),
            engine=elastic.url,
            collection=NAME,
            vector_index=arguments.vector_index,
        )
        with Collection.open(settings) as collection:
            yield Rehearsal(folder, real, collection, elastic.url)
    finally:
        elastic.stop()


def real_abstracts(folder: Path, data: Path) -> list[Abstract]:
    """Index the sample once."""
    source = folder / "real.jsonl"
    with Collection.open(load_settings(home=str(folder / "real"), engine="local")) as collection:
        if not source.exists():
            write_sample(data, REAL, source)
            collection.index([source])
        return abstracts(collection)


class Rehearsal:
    """One collection that grows."""

    def __init__(self, folder: Path, real: list[Abstract], collection: Collection, url: str) -> None:
        self._state = folder / "state.json"
        self._real = real
        self._collection = collection
        self._url = url
        self._pipeline = collection._pipeline(lambda *_: None)
        self._made = Synthesizer(real, collection.settings.bundle)
        said = json.loads(self._state.read_text(encoding="utf-8")) if self._state.exists() else {}
        self._done: int = said.get("documents", 0)
        self._made.rows, self._made.phrases = said.get("made", (0, 0))
        self.parts: list[Row] = said.get("parts", [])

    # -- writing -----------------------------------------------------------------------------------------

    def write(self, documents: int, part: int) -> None:
        """Store and write mined documents up to this number, part by part; the first part is finished."""
        while self._done < documents:
            numbers = range(self._done, min(documents, self._done + (part if self.parts else FIRST)))
            row = self._write_part(numbers)
            self.parts.append(row)
            self._done = numbers.stop
            self._state.write_text(
                json.dumps(
                    {
                        "documents": self._done,
                        "made": (self._made.rows, self._made.phrases),
                        "parts": self.parts,
                    }
                ),
                encoding="utf-8",
            )
            print(table([row]), flush=True)
            if len(self.parts) == 1:
                self.finish("end of the first run")

    def _write_part(self, numbers: range) -> Row:
        spent: dict[str, float] = defaultdict(float)
        before, own = server_seconds(), time.process_time()
        assigner = None
        if self.parts:  # as a run does when it begins to mine
            finisher = self._pipeline._new_finisher(RunReport(run=NAME))
            assigner = finisher.begin(RunReport().timed, TopicRequest(), refit=False)
        for made in batches(self._made.documents(numbers), STORE_CHUNK):
            documents = [document for document, _ in made]
            with timed(spent, "store"):
                self._pipeline.engine.store(documents)
                entries = [LedgerEntry(d.id, d.content_hash, "stored", run=NAME) for d in documents]
                self._pipeline.catalog.record(NAME, entries)
            for some in batches(made, CHUNK):
                rows = [mined for _, mined in some]
                if assigner:
                    with timed(spent, "assign"):
                        rows = [assigner.final(mined, d, self._pipeline.engine) for d, mined in some]
                with timed(spent, "write"):
                    written = write_chunk(self._pipeline.engine, rows, [document for document, _ in some])
                    fit = assigner.named.run if assigner else ""
                    self._pipeline.catalog.mark(
                        NAME, written.hashes, state="mined", bundle="synthetic", topic_fit=fit
                    )
        row: Row = {"": f"{numbers.stop:,}"}
        row |= {f"{step} ms": 1_000 * seconds / len(numbers) for step, seconds in spent.items()}
        row["server cpu ms"] = 1_000 * (server_seconds() - before) / len(numbers)
        row["own cpu ms"] = 1_000 * (time.process_time() - own) / len(numbers)
        return row | self._sizes()

    def _sizes(self) -> Row:
        with Elasticsearch(self._url, request_timeout=600) as client:
            names = f"indexer-{NAME}-*"
            client.indices.refresh(index=names)
            stats = client.indices.stats(index=names, metric="store,docs,segments")["indices"]
            heap = next(iter(client.nodes.stats(metric="jvm")["nodes"].values()))["jvm"]["mem"]
        row: Row = {}
        for name, entry in sorted(stats.items()):
            kind = name.removeprefix(f"indexer-{NAME}-").partition("-")[0]
            if kind in ("documents", "mentions", "phrases"):
                row[f"{kind} rows"] = entry["primaries"]["docs"]["count"]
                row[f"{kind} MB"] = entry["primaries"]["store"]["size_in_bytes"] / 1e6
        row["heap MB"] = heap["heap_used_in_bytes"] / 1e6
        row["own MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        return row

    # -- the end of the run ----------------------------------------------------------------------------------

    def finish(self, name: str) -> None:
        """Fit topics, if there are none, assign them where they are not, and write phrase rows."""
        report = RunReport(run=f"{NAME}-{self._done}", mined=self._done)
        before, start = server_seconds(), time.perf_counter()
        self._pipeline.finish(report)
        seconds = time.perf_counter() - start
        row: Row = {"": name, "s": seconds, "ms a document": 1_000 * seconds / self._done}
        row |= {f"{stage} s": taken for stage, taken in report.stages.items()}
        row["server cpu ms"] = 1_000 * (server_seconds() - before) / self._done
        print(table([row | {"topics": report.topics} | self._sizes()]), flush=True)

    # -- searching ---------------------------------------------------------------------------------------

    def search(self) -> None:
        """Search from several clients at once, each kind of search for some seconds."""
        engine, real = self._pipeline.engine, self._real
        chance = np.random.default_rng(3)

        def words() -> WordQuery:
            abstract = real[int(chance.integers(len(real)))]
            known = [word for word in abstract.document.title.split() if word.isalpha()][:2]
            return WordQuery(tuple(Clause(word) for word in known), require_all=False)

        def vector() -> Any:
            return real[int(chance.integers(len(real)))].vector

        facets = ("topic", "keyphrase")
        kinds: dict[str, Callable[[], object]] = {
            "words": lambda: engine.search(SearchRequest(words=words(), limit=10, facets=facets)),
            "meaning": lambda: engine.search(SearchRequest(vector=vector(), limit=10, facets=facets)),
            "both": lambda: engine.search(
                SearchRequest(words=words(), vector=vector(), limit=10, facets=facets)
            ),
            "phrases": lambda: engine.nearest_phrases(vector()),
            "phrases in context": lambda: engine.nearest_mentions(vector()),
        }
        for name, ask in kinds.items():
            print(table([under_load(name, ask)]), flush=True)

    # -- the curve -------------------------------------------------------------------------------------------

    def draw(self, file: Path) -> None:
        """Draw the cost of a document by the size of the collection."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 3.5), layout="constrained")
        axes = figure.subplots()
        sizes = [int(row[""].replace(",", "")) / 1_000 for row in self.parts]
        for column in ("store ms", "write ms", "server cpu ms"):
            axes.plot(sizes, [row[column] for row in self.parts], marker=".", label=column)
        axes.set(xlabel="documents, thousands", ylabel="ms a document", ylim=(0, None))
        axes.legend()
        figure.savefig(file, dpi=120)


def under_load(name: str, ask: Callable[[], object]) -> Row:
    """Call from several threads for some seconds: calls a second, and the times of one in milliseconds."""
    start = time.perf_counter()
    for _ in range(WARM_UPS):
        with suppress(EngineUnavailable):  # the server has read nothing of the index yet, and is too slow
            ask()
            break
    first = time.perf_counter() - start
    end = time.perf_counter() + SEARCH_S

    def client(_: int) -> list[float]:
        taken = []
        while (start := time.perf_counter()) < end:
            with suppress(EngineUnavailable):
                ask()
                taken.append(time.perf_counter() - start)
        return taken

    with ThreadPoolExecutor(CLIENTS) as threads:
        times = [seconds for some in threads.map(client, range(CLIENTS)) for seconds in some]
    p50, p99 = np.percentile(times or [np.nan], [50, 99]) * 1_000
    shown: Row = {"": name, "first s": first, "a second": len(times) / SEARCH_S}
    return shown | {"p50 ms": float(p50), "p99 ms": float(p99)}


@contextmanager
def timed(spent: dict[str, float], step: str) -> Iterator[None]:
    """Add the seconds of the block to a step."""
    start = time.perf_counter()
    yield
    spent[step] += time.perf_counter() - start


def server_seconds() -> float:
    """Processor time of Elasticsearch up to now."""
    servers = [process.cpu_times() for process in psutil.process_iter() if process.name() == "java"]
    return sum(times.user + times.system for times in servers)


if __name__ == "__main__":
    sys.exit(main())
