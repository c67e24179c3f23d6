"""How fast the embedded engine writes, scans and counts, on synthetic rows.

    python benchmarks/engine_scan.py --documents 52000 --mentions 25

Prints one line for each figure, as elapsed and as processor time: the second is the one to compare on a machine
that does other things too. Needs 1.5 GB of disk for the defaults; `--folder` keeps the collection and uses it again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from indexer.engines.base import Clause, Filter, SearchRequest, WordQuery
from indexer.engines.local import LocalEngine
from indexer.records import (
    Document,
    Keyphrase,
    MentionRow,
    MinedDocument,
    PhraseRow,
    Place,
    Refinement,
    TopicWeight,
    phrase_id,
)

DIMS = 384
BATCH = 256  # documents in one call, as the pipeline writes them
LANGUAGES = ("en", "de", "fr", "es", "it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=52_000)
    parser.add_argument("--mentions", type=int, default=25, help="mention rows of each document")
    parser.add_argument("--folder", type=Path, help="keep the collection here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        engine = LocalEngine(folder, DIMS)
        try:
            if engine.info().documents == 0:
                write(engine, options.documents, options.mentions)
            read(engine)
        finally:
            engine.close()
    if Path("/proc/self/status").exists():
        status = Path("/proc/self/status").read_text()
        own = next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]
        print(f"memory           {int(own) / 1024:,.0f} MB at the end, mapped files left out")


# -- writing -----------------------------------------------------------------------------------------------


def write(engine: LocalEngine, documents: int, mentions: int) -> None:
    stored, mined, refined, walked = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    for batch in batches(documents, mentions):
        with stored:
            engine.store([document for document, _ in batch])
        with mined:
            engine.write_mined([row for _, row in batch])
    random = np.random.default_rng(3)
    ids = list(engine.document_ids())
    for start in range(0, documents, 1000):
        rows = refinements(engine, ids[start : start + 1000], random)
        with refined:
            engine.refine(rows)
    with walked:
        engine.write_phrases(
            PhraseRow(group[0].phrase_id, group[0].phrase, (group[0].surface,), len(group), (), mean(group))
            for group in engine.mentions_by_phrase()
            if len(group) > 1
        )
    info = engine.info()
    tables = (engine.path / "collection.sqlite").stat().st_size
    print(f"store            {stored.rate(documents)} documents/s")
    print(f"write_mined      {mined.rate(documents)} documents/s")
    print(f"refine           {refined.rate(documents)} documents/s")
    print(
        f"by phrase        {walked.rate(info.mentions)} mentions/s, and {info.phrases:,} phrase rows written"
    )
    print(f"size             {info.bytes / 1e6:,.0f} MB, of it SQLite {tables / 1e6:,.0f} MB")


class Stopwatch:
    """Adds up the time of its blocks."""

    def __init__(self) -> None:
        self.elapsed = self.processor = 0.0

    def __enter__(self) -> None:
        self.elapsed -= time.perf_counter()
        self.processor -= time.process_time()

    def __exit__(self, *_: object) -> None:
        self.elapsed += time.perf_counter()
        self.processor += time.process_time()

    def rate(self, count: int) -> str:
        return f"{count / self.elapsed:8,.0f} elapsed {count / self.processor:8,.0f} processor"


def batches(documents: int, mentions: int) -> Iterator[list[tuple[Document, MinedDocument]]]:
    random = np.random.default_rng(0)
    vocabulary = np.array([f"w{number:x}" for number in range(60_000)])
    for start in range(0, documents, BATCH):
        yield [
            synthetic(number, mentions, random, vocabulary)
            for number in range(start, min(start + BATCH, documents))
        ]


def synthetic(
    number: int, mentions: int, random: np.random.Generator, vocabulary: np.ndarray
) -> tuple[Document, MinedDocument]:
    """An abstract of 180 words by Zipf's law; two thirds of the phrases occur in other documents too."""
    words = vocabulary[np.minimum(random.zipf(1.15, 180), 60_000) - 1]
    if number % 5 < 2:
        words = np.where(random.random(180) < 0.03, "energy", words)
    text = " ".join(words)
    meta = {"lang": LANGUAGES[number % 5], "year": 1990 + number % 35, "journal": f"Journal {number % 400}"}
    id_ = f"doc-{number:07}"
    vectors = unit(random.standard_normal((mentions + 1, DIMS), dtype=np.float32))
    sentences = [" ".join(words[at : at + 22]) for at in range(0, 180, 22)]
    kept: dict[str, None] = {}
    while len(kept) < mentions:
        kept[f"phrase {min(int(random.zipf(1.25)), 10**9)} of things"] = None
    rows = tuple(
        MentionRow(
            id_,
            phrase_id(phrase),
            phrase,
            phrase,
            float(random.random()),
            (Place("text", at * 10, at * 10 + 12), Place("text", at * 20, at * 20 + 12)),
            sentences[at % len(sentences)],
            vectors[at],
            f"t-{number % 60:06}",
        )
        for at, phrase in enumerate(kept)
    )
    keyphrases = tuple(Keyphrase(row.phrase_id, row.phrase, row.score, row.places) for row in rows[:8])
    topics = (TopicWeight(f"t-{number % 60:06}", 0.6), TopicWeight(f"t-{number % 7:06}", 0.2))
    document = Document(id_, text, text[:60], meta)
    return document, MinedDocument(
        id_, vectors[-1], keyphrases, topics, rows, "bundle", "run", document.content_hash
    )


def refinements(engine: LocalEngine, ids: list[str], random: np.random.Generator) -> list[Refinement]:
    """Another order of keyphrases, and another topic for the document and all its mentions."""
    phrases: dict[str, list[str]] = {}
    for row in engine.mentions(ids):
        phrases.setdefault(row.document_id, []).append(row.phrase_id)
    rows = []
    for stored in engine.documents(ids):
        id_, topic = stored.document.id, f"t-{int(random.integers(80)):06}"
        topics = dict.fromkeys(phrases[id_], topic)
        rows.append(Refinement(id_, stored.keyphrases[::-1], (TopicWeight(topic, 0.5),), topics, "run-2"))
    return rows


def mean(group: list[MentionRow]) -> np.ndarray:
    return unit(np.mean([row.vector for row in group if row.vector.size], axis=0, keepdims=True))[0]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# -- reading -----------------------------------------------------------------------------------------------


def read(engine: LocalEngine) -> None:
    info = engine.info()
    query = unit(np.random.default_rng(1).standard_normal((1, DIMS), dtype=np.float32))[0]
    english = (Filter("lang", "=", "en"),)
    one_topic = (Filter("topic", "=", "t-000005"),)
    frequent = WordQuery((Clause("energy"),))
    some = WordQuery((Clause("wff"), Clause("w1a0")), require_all=False)
    facets = ("topic", "keyphrase", "lang", "year", "journal")
    total = engine.search(SearchRequest(words=frequent)).words
    rare = engine.search(SearchRequest(words=some)).words
    assert total is not None
    assert rare is not None
    for what, run in {
        f"scan {info.mentions:,} mentions": lambda: engine.nearest_mentions(query),
        "  of one fifth of the documents": lambda: engine.nearest_mentions(query, filters=english),
        "  of one topic": lambda: engine.nearest_mentions(query, filters=one_topic),
        f"scan {info.documents:,} documents": lambda: engine.search(SearchRequest(vector=query)),
        "  of one fifth of them": lambda: engine.search(SearchRequest(vector=query, filters=english)),
        f"scan {info.phrases:,} phrases": lambda: engine.nearest_phrases(query),
        f"word in {total.total:,} documents": lambda: engine.search(SearchRequest(words=frequent)),
        "  with five facets": lambda: engine.search(SearchRequest(words=frequent, facets=facets)),
        "  and a filter": lambda: engine.search(
            SearchRequest(words=frequent, facets=facets, filters=english)
        ),
        f"words in {rare.total:,} documents, facets": lambda: engine.search(
            SearchRequest(words=some, facets=facets)
        ),
        "facets of everything": lambda: engine.search(SearchRequest(facets=facets, limit=10)),
        "highlights of 20": lambda: engine.highlights(frequent, total.ids[:20]),
        "read 20 documents": lambda: engine.documents(total.ids[:20]),
    }.items():
        elapsed, processor = timed(run)
        print(f"{what:38} {elapsed * 1e3:8.1f} ms elapsed {processor * 1e3:8.1f} ms processor")


def timed(run: Callable[[], object], times: int = 9) -> tuple[float, float]:
    """Middle of the elapsed times and mean processor time in seconds, after one run that is not counted."""
    run()
    seconds = []
    processor = time.process_time()
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[times // 2], (time.process_time() - processor) / times


if __name__ == "__main__":
    main()
