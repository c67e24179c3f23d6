"""The steps of mining one chunk of documents: load, (prepare,) encode, decide, write. Each may be done twice.

A run on one machine calls them from concurrent threads (`indexer.pipeline.run`), workers from tasks (`workers.steps`);
the results are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from indexer.engines.base import Engine, Refused
from indexer.errors import IndexerError, InputError
from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.keyphrases.ranker import Ranker
from indexer.keyphrases.scoring import DECIMALS, base_scores, choose, choose_ranked
from indexer.log import get_logger
from indexer.pipeline import metrics
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder
from indexer.records import Document, EncodedDocument, MentionRow, MinedDocument, Prepared, phrase_id
from indexer.text import Preparer
from indexer.text.pool import SECONDS
from indexer.topics.language_model import LanguageModel
from indexer.topics.models.registry import TopicModel

CHUNK = 64  # documents encoded in one call
PHRASES_KEPT = 20  # mention rows of a document; with 32 judged searches find no more (docs/elasticsearch.md)

logger = get_logger(__name__)


@dataclass(frozen=True)
class MiningOptions:
    """How documents are mined.

    Attributes:
        bundle: Name of the encoder; the vectors of one generation all come from one.
        dims: Length of its vectors.
        encoder: Loads it.
        tagger: Name or folder of a spaCy pipeline, or an object.
        taggers: Processes that tag; an object tags in this process.
        keyphrases: Kept for each document.
        ranker: Loads the encoder's keyphrase ranker, if it has one.
        absent: Absent keyphrases kept for each document; they need a ranker.
        topic_model: Finds topics where no other model is requested; None: as before, or the default.
        language_model: Asked for names of topics; None: topics have their mined names, or those that one gave before.
        tagging_seconds: That a process may take to tag a document; see `PreparePool`.
        tagger_is_loaded: In this process, so that a few documents need no other.
        duplicates: Look for near duplicates.
    """

    bundle: str
    dims: int
    encoder: Callable[[], Encoder]
    tagger: str | Preparer = "auto"
    taggers: int = 1
    keyphrases: int = 10
    ranker: Callable[[], Ranker | None] = lambda: None
    absent: int = 0
    topic_model: TopicModel | None = None
    language_model: LanguageModel | None = None
    tagging_seconds: float = SECONDS
    tagger_is_loaded: bool = False
    duplicates: bool = True


def load(engine: Engine, ids: Sequence[str]) -> tuple[list[Document], list[str]]:
    """The documents with these ids, and the ids that the engine does not have.

    The others were stored by a run whose write was lost, or removed since: the ledger should forget them, and the next
    run reads them again if they still exist.
    """
    found = [stored.document for stored in engine.documents(ids)]
    return found, sorted(set(ids) - {document.id for document in found})


# -- encode --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedChunk:
    """A chunk of documents in vectors, and the failures.

    Attributes:
        ranker: Scores keyphrases, where the encoder has one.
        seconds: The time of encoding.
    """

    documents: Sequence[Document]
    encoded: list[tuple[Document, EncodedDocument]]
    not_prepared: list[InputError]
    not_encoded: list[InputError]
    bundle: str
    ranker: Ranker | None
    seconds: float


def encode_chunk(
    encoder: Encoder, documents: Sequence[Document], outcomes: Sequence[Prepared | InputError]
) -> EncodedChunk:
    """Encode the prepared documents."""
    start = time.perf_counter()
    ready = [(d, o) for d, o in zip(documents, outcomes, strict=True) if isinstance(o, Prepared)]
    found = _encode(encoder, ready)
    chunk = EncodedChunk(
        documents,
        encoded=[(d, e) for d, e in found if isinstance(e, EncodedDocument)],
        not_prepared=[o for o in outcomes if isinstance(o, InputError)],
        not_encoded=[e for _, e in found if isinstance(e, InputError)],
        bundle=encoder.bundle,
        ranker=encoder.ranker,
        seconds=time.perf_counter() - start,
    )
    metrics.ENCODE_SECONDS.observe(chunk.seconds)
    metrics.BATCH_DOCUMENTS.observe(len(ready))
    metrics.through("encode", len(chunk.encoded), len(chunk.not_encoded))
    return chunk


def _encode(
    encoder: Encoder, ready: Sequence[tuple[Document, Prepared]]
) -> list[tuple[Document, EncodedDocument | InputError]]:
    """Encode a chunk; when that fails, one by one, so that only the culprit is lost."""
    documents, prepared = [d for d, _ in ready], [p for _, p in ready]
    try:
        return list(zip(documents, encode_documents(encoder, documents, prepared), strict=True))
    except (RuntimeError, ValueError, MemoryError, IndexerError) as error:
        if len(ready) == 1:
            where = documents[0].source or documents[0].id
            problem = InputError(f"{where}: cannot be encoded: {error}", document_id=documents[0].id)
            return [(documents[0], problem)]
        logger.warning("chunk_failed", documents=len(ready), error=str(error))
        return [pair for one in ready for pair in _encode(encoder, [one])]


# -- decide --------------------------------------------------------------------------------------------------


def mined(
    document: Document,
    encoded: EncodedDocument,
    bundle: str,
    run: str,
    keyphrases: int,
    ranker: Ranker | None = None,
) -> MinedDocument:
    """Choose the best phrases of a document; its keyphrases are provisional until `finish`."""
    scores = np.round(ranker.rank(document, encoded), DECIMALS) if ranker else base_scores(encoded)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    rows = tuple(_mention_row(document, encoded, i, round(float(scores[i]), DECIMALS)) for i in order)
    chosen = (
        choose_ranked(rows, keyphrases)
        if ranker
        else choose(rows[:PHRASES_KEPT], DocumentFrequencies(), keyphrases)
    )
    # Parts of phrases are kept as keyphrases only: as phrases of the collection they would repeat the whole ones.
    names = {keyphrase.phrase_id for keyphrase in chosen}
    own = {rows[at].phrase_id for at, i in enumerate(order) if encoded.own[i] > 0}
    kept = [row for row in rows if row.phrase_id in own][:PHRASES_KEPT]
    kept += [row for row in rows if row.phrase_id in names - own]
    return MinedDocument(
        id=document.id,
        vector=encoded.vector,
        keyphrases=chosen,
        topics=(),
        mentions=tuple(kept),
        bundle=bundle,
        run=run,
        content_hash=document.content_hash,
    )


def _mention_row(document: Document, encoded: EncodedDocument, at: int, score: float) -> MentionRow:
    mentions = encoded.phrases[at]
    first, sentence = mentions[0], encoded.sentences[at]
    return MentionRow(
        document_id=document.id,
        phrase_id=phrase_id(first.phrase),
        phrase=first.phrase,
        surface=document.content[first.start : first.end],
        score=score,
        places=tuple(document.place(m.start, m.end) for m in mentions),
        sentence=document.content[sentence.start : sentence.end],
        vector=encoded.vectors[at],
    )


# -- write ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrittenChunk:
    """Result of writing a chunk.

    Attributes:
        hashes: Of the written documents: id ► hash of the mined text.
        changed: Documents whose text changed since, to be mined again.
        missing: Documents that were deleted since.
        refused: Documents that the engine cannot hold.
    """

    hashes: dict[str, str]
    changed: list[str]
    missing: list[str]
    refused: list[InputError]


def write_chunk(engine: Engine, rows: Sequence[MinedDocument], documents: Sequence[Document]) -> WrittenChunk:
    """Write mined documents; `documents` have their sources."""
    refused = {row.id: row for row in engine.write_mined(rows)}
    written = WrittenChunk(
        hashes={row.id: row.content_hash for row in rows if row.id not in refused},
        changed=[row.id for row in refused.values() if row.why == "changed"],
        missing=[row.id for row in refused.values() if row.why == "missing"],
        refused=refusals(documents, [row for row in refused.values() if row.why == "unsound"]),
    )
    metrics.through("write", len(written.hashes), len(written.refused))
    return written


def refusals(documents: Sequence[Document], refused: Sequence[Refused]) -> list[InputError]:
    """Documents that an engine refused, as problems of their files."""
    sources = {document.id: document.source for document in documents}
    return [
        InputError(f"{sources[r.id] or r.id}: {r.reason}", source=sources[r.id], document_id=r.id)
        for r in refused
    ]


# -- problems ------------------------------------------------------------------------------------------------


def shown(problem: InputError) -> str:
    """The message, with paths as a person would type them here."""
    return str(problem).replace(f"{Path.cwd()}/", "")


def source_of(problem: InputError) -> str:
    """FILE or FILE:LINE, from the facts or from the beginning of the message."""
    source, line = problem.facts.get("source"), problem.facts.get("line")
    if source:
        return f"{source}:{line}" if line and not str(source).endswith(f":{line}") else str(source)
    return str(problem).split(": ", 1)[0]
