"""How well an encoder finds the documents of a probe, through the engine and the search that users have.

Each document is indexed without its title, or, where it has none, without its first sentence; what is left out is a query
for it. Phrases that several documents share are queries for all of these.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from indexer.common import Floats, batches
from indexer.engines.local import LocalEngine
from indexer.errors import QueryError
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder
from indexer.records import Document, MinedDocument, Prepared, Sentence
from indexer.search.results import Mode
from indexer.search.search import search
from trainer.evaluation.search import Query, scores, without_syntax
from trainer.retrain.probe import Probe

MODES: tuple[Mode, ...] = ("meaning", "both")  # words do not depend on the encoder
DEPTH = 10  # hits that count
CHUNK = 32  # documents encoded at once
SHORTEST = 3  # words of a first sentence that is a query


@dataclass(frozen=True)
class _Item:
    """A document without what it is searched by."""

    document: Document
    prepared: Prepared
    query: str  # empty where nothing could be left out


def measure_searches(encoder: Encoder, probe: Probe) -> dict[str, Floats]:
    """Search the documents of a probe.

    Returns:
        Mode ► float32 [queries], nDCG@10 of each, 0 to 1.
    """
    items = list(_items(probe))
    queries = list(_queries(probe, items))
    with (
        tempfile.TemporaryDirectory(prefix="indexer-probe-") as folder,
        closing(LocalEngine(Path(folder), encoder.dims)) as engine,
    ):
        for some in batches(items, CHUNK):
            engine.store([item.document for item in some])
            engine.write_mined(list(_mined(encoder, some)))
        return {mode: _found(engine, encoder, queries, mode) for mode in MODES}


def _found(engine: LocalEngine, encoder: Encoder, queries: list[Query], mode: Mode) -> Floats:
    values = []
    for query in queries:
        try:
            hits = search(engine, encoder, query.text, mode=mode, facets=(), limit=DEPTH).hits
        except QueryError:  # longer than any query, or without a letter
            hits = ()
        ids = [hit.stored.document.id for hit in hits]
        values.append(scores(ids, query.relevant, DEPTH)[f"nDCG@{DEPTH}"])
    return np.array(values, np.float32)


def _queries(probe: Probe, items: list[_Item]) -> Iterator[Query]:
    for item in items:
        if text := without_syntax(item.query):
            yield Query(text, frozenset({item.document.id}))
    having: dict[str, set[str]] = {}
    for document, ready in zip(probe.documents, probe.prepared, strict=True):
        for mention in ready.mentions:
            having.setdefault(mention.phrase, set()).add(document.id)
    for phrase in probe.queries:
        if text := without_syntax(phrase):
            yield Query(text, frozenset(having[phrase]))


def _items(probe: Probe) -> Iterator[_Item]:
    for document, ready in zip(probe.documents, probe.prepared, strict=True):
        start = document.text_start
        query = document.title
        if not document.title and len(ready.sentences) > 1:
            first, second = ready.sentences[:2]
            if len(document.text[first.start : first.end].split()) >= SHORTEST:
                start, query = second.start, document.text[first.start : first.end]
        yield _Item(Document(document.id, document.content[start:]), _moved(ready, start), query)


def _moved(ready: Prepared, start: int) -> Prepared:
    """The offsets of what begins at `start`, counted from there."""
    return Prepared(
        tuple(Sentence(s.start - start, s.end - start) for s in ready.sentences if s.start >= start),
        tuple(
            replace(m, start=m.start - start, end=m.end - start) for m in ready.mentions if m.start >= start
        ),
    )


def _mined(encoder: Encoder, items: list[_Item]) -> Iterator[MinedDocument]:
    encoded = encode_documents(encoder, [item.document for item in items], [item.prepared for item in items])
    for item, one in zip(items, encoded, strict=True):
        hashed = item.document.content_hash
        yield MinedDocument(item.document.id, one.vector, (), (), (), encoder.bundle, "probe", hashed)
