"""The same collection in both engines, and the same queries to both: where do the answers differ?

    python -m benchmarks.both_engines --engine http://localhost:9200 --home .indexer --documents 3000

Copies documents of a collection of the embedded engine, with all that was mined from them, into an empty collection of
each engine. Asks both with leading phrases of topics and with keyphrases of documents, by words and by words and meaning
together, with and without a filter. Counts, filters and marked words must be equal: exits with 1 when they are not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from elasticsearch import Elasticsearch

from indexer.collection import Collection
from indexer.common import batches
from indexer.engines.base import Engine, Filter
from indexer.engines.elastic import ElasticEngine
from indexer.engines.elastic.cluster import connect
from indexer.engines.local import LocalEngine
from indexer.pipeline.phrase_rows import phrase_row
from indexer.records import MinedDocument
from indexer.search.results import Mode, SearchResults
from indexer.search.search import search

PREFIX = "bench-both"
QUERIES = 50


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", required=True, help="URL; indices bench-both-* are made and removed")
    parser.add_argument(
        "--home", type=Path, required=True, help="home with a collection of the embedded engine"
    )
    parser.add_argument("--documents", type=int, default=3_000)
    arguments = parser.parse_args()
    with (
        Collection.open(home=arguments.home, create=False) as source,
        tempfile.TemporaryDirectory() as folder,
    ):
        ids = [id_ for _, id_ in zip(range(arguments.documents), source.engine.document_ids(), strict=False)]
        dims = source.engine.dims
        clear(arguments.engine)
        with (
            closing(LocalEngine(Path(folder), dims)) as local,
            closing(ElasticEngine(connect(arguments.engine), PREFIX, "main", dims)) as elastic,
        ):
            for engine in (local, elastic):
                copy(source.engine, engine, ids)
            different = compared(source, local, elastic)
        clear(arguments.engine)
    sys.exit(bool(different))


def clear(url: str) -> None:
    with closing(Elasticsearch(url)) as client:
        found = list(client.indices.get(index=f"{PREFIX}-*", features="aliases"))
        if found:
            client.indices.delete(index=found)


def copy(source: Engine, target: Engine, ids: list[str]) -> None:
    """Store documents with what was mined from them, and the phrases and topics of them."""
    target.write_topics(source.topics())
    for some in batches(ids, 250):
        stored = source.documents(some, vectors=True)
        target.store([found.document for found in stored])
        mentions: dict[str, list] = {}
        for row in source.mentions(some):
            mentions.setdefault(row.document_id, []).append(row)
        target.write_mined(
            [
                MinedDocument(
                    s.document.id,
                    s.vector,
                    s.keyphrases,
                    s.topics,
                    tuple(mentions.get(s.document.id, ())),
                    s.bundle,
                    s.run,
                    s.document.content_hash,
                )
                for s in stored
                if s.vector is not None
            ]
        )
    target.write_phrases(phrase_row(rows) for rows in target.mentions_by_phrase() if len(rows) > 1)


def queries(source: Collection, ids: list[str]) -> Iterator[str]:
    """What a person might type: leading phrases of topics, and keyphrases of documents far apart."""
    topics = source.topics()
    yield from (topic.phrases[0] for topic in topics[: QUERIES // 2])
    left = QUERIES - min(len(topics), QUERIES // 2)
    for found in source.engine.documents(ids[:: max(1, len(ids) // left)][:left]):
        if found.keyphrases:
            yield found.keyphrases[len(found.keyphrases) // 2].text


def compared(source: Collection, local: Engine, elastic: Engine) -> int:
    """Print how many answers have equal totals, facets and marks, and the share of equal hits.

    Returns:
        How many answers differ in what must be equal.
    """
    texts = list(dict.fromkeys(queries(source, list(local.document_ids()))))
    topic = source.topics()[0].id
    wrong = 0
    print(f"{len(texts)} queries, {local.info().documents:,} documents")
    heads = ("totals", "facets", "marks", "top ten", "first")
    print(f"{'mode':<10}{'filter':<8}" + "".join(f"{head:>10}" for head in heads))
    for mode in ("words", "both"):
        for filters in ((), (Filter("topic", "=", topic),)):
            pairs = [answers(source, local, elastic, query, mode, filters) for query in texts]
            totals = sum(a.total == b.total for a, b in pairs)
            facets = sum(counts(a) == counts(b) for a, b in pairs)
            marks = sum(same_marks(a, b) for a, b in pairs)
            shared = [overlap(a, b) for a, b in pairs if a.hits]
            first = [
                a.hits[0].stored.document.id == b.hits[0].stored.document.id
                for a, b in pairs
                if a.hits and b.hits
            ]
            print(
                f"{mode:<10}{'topic' if filters else '-':<8}{totals:>10}{facets:>10}{marks:>10}"
                f"{sum(shared) / max(1, len(shared)):>10.3f}{sum(first) / max(1, len(first)):>10.3f}"
            )
            wrong += 3 * len(texts) - totals - facets - marks
            for query, (a, b) in zip(texts, pairs, strict=True):
                if (a.total, counts(a)) != (b.total, counts(b)) or not same_marks(a, b):
                    print(f"  differs: {query!r}: {a.total} and {b.total} documents")
    return wrong


def answers(
    source: Collection, local: Engine, elastic: Engine, query: str, mode: Mode, filters: tuple[Filter, ...]
) -> tuple[SearchResults, SearchResults]:
    encoder = None if mode == "words" else source.encoder
    first, second = (
        search(engine, encoder, query, mode=mode, filters=filters) for engine in (local, elastic)
    )
    return first, second


def counts(results: SearchResults) -> list[tuple[str, str, int]]:
    """Facets without case: of the spellings of a keyphrase, each engine shows the one that it meets first."""
    return [(facet.field, value.casefold(), n) for facet in results.facets for value, _, n in facet.values]


def overlap(first: SearchResults, second: SearchResults) -> float:
    """Share of the first ten that the other engine has among its first ten."""
    ids = [{hit.stored.document.id for hit in results.hits} for results in (first, second)]
    return len(ids[0] & ids[1]) / len(ids[0])


def same_marks(first: SearchResults, second: SearchResults) -> bool:
    """Whether the documents that both list have the same words marked."""
    marked = [{hit.stored.document.id: hit.fragments for hit in results.hits} for results in (first, second)]
    return all(marked[0][id_] == marked[1][id_] for id_ in marked[0].keys() & marked[1].keys())


if __name__ == "__main__":
    main()
