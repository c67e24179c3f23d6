"""`indexer evaluate topics`: how good the topics of a file's documents are, with and without labels.

The topics are those of `indexer index`. `trainer.evaluation.coherence` measures their leading phrases; where the
documents have a field ``label``, the agreement of a document's first topic with it is measured too, and compared with
plain K-means on the document vectors with as many clusters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, batches
from indexer.protocols import Progress, no_progress
from indexer.records import Document, MetaValue, StoredDocument, Topic, Vector
from trainer.evaluation import coherence
from trainer.evaluation.clustering import agreement, kmeans, numbered
from trainer.evaluation.documents import Miner, mine, read_documents
from trainer.evaluation.table import RESAMPLES, SEED, Figure, Table, bootstrapped, repeated, resampled

LABEL = "label"  # the field of a document that the topics are compared with
KMEANS_SEEDS = range(5)
NMI_RESAMPLES = 200  # one takes milliseconds
CHUNK = 256  # documents loaded at once
WEAKEST = 3  # topics named below the table
PROTOCOL = (
    f"the {coherence.LEADING} leading phrases of each topic; NPMI over whole documents; cosine and intrusion "
    f"({coherence.TRIALS} trials a topic) by phrase vectors without context; documents without a topic form one "
    f"group for NMI; ± is the bootstrap over topics, for NMI over documents, for K-means over {len(KMEANS_SEEDS)} seeds"
)
MEANING = {
    "npmi": ("NPMI", "leading phrases occur in the same documents; -1 to 1"),
    "npmi_words": ("NPMI of the words", "the same of the phrases' first ten words, as for topics of words"),
    "cosine": ("embedding coherence", "leading phrases are similar; -1 to 1"),
    "intrusion": ("intruders found", "a phrase of another topic is detected; one in six by chance"),
    "diversity": ("word diversity", "share of distinct words, all topics together"),
    "diversity_in_topic": ("word diversity in a topic", "the same of one topic at a time, mean"),
    "tf_idf": ("tf-idf of the words", "informative words; to compare on the same documents only"),
    "without_topic": ("without a topic", "share of the documents"),
    "nmi": ("NMI with the labels", "first topic of each document"),
}
OURS = "indexer"
PLAIN = "K-means on document vectors"


class TopicTable(Table):
    """A table with one figure per line and its meaning: easier to read than ten columns."""

    def render(self) -> str:
        """The table as text."""
        head, *_ = super().render().split("\n\n")
        ours = self.rows[OURS]
        rows = [(name, str(ours[metric]), text) for metric, (name, text) in MEANING.items() if metric in ours]
        if PLAIN in self.rows:
            rows.append((f"  {PLAIN}", str(self.rows[PLAIN]["nmi"]), "as many clusters"))
        names, cells = (max(len(row[i]) for row in rows) for i in (0, 1))
        lines = [head, "", *(f"{name:{names}}  {cell:{cells}}  {text}" for name, cell, text in rows)]
        weak = sorted((t for t in self.more["by_topic"] if t["npmi"] is not None), key=lambda t: t["npmi"])
        if self.more["labels"] == 1:
            lines += [
                "",
                f"Every document has the label '{self.more['label']}': there is no agreement to measure.",
            ]
        if len(weak) > WEAKEST:
            named = ", ".join(f"{t['label']} ({t['npmi']:.2f})" for t in weak[:WEAKEST])
            lines += ["", f"Lowest NPMI: {named}"]
        return "\n".join(lines)


def evaluate_topics(
    collection: Miner,
    path: Path,
    *,
    requested: str | int | None = None,
    limit: int | None = None,
    progress: Progress = no_progress,
) -> TopicTable:
    """Index a file and measure its topics.

    Args:
        collection: An empty one.
        path: Documents, as for `Collection.index`; the field ``label`` of a document is its true topic.
        requested: Topic model and number of topics, as for `Collection.index`.
        limit: Number of documents of a sample by id.

    Raises:
        InputError: A document cannot be indexed.
    """
    documents = read_documents(path, limit)
    mine(collection, documents, topics=requested, progress=progress)
    progress("evaluate", 0, None)
    topics = collection.topics()
    phrases = [topic.phrases[: coherence.LEADING] for topic in topics]
    vectors = [_encoded(collection, some) for some in phrases]
    texts = [coherence.words_of(document.content) for document in documents]
    by_topic = {
        "npmi": coherence.npmi_coherence(phrases, texts),
        "npmi_words": coherence.npmi_coherence(coherence.leading_words(phrases), texts),
        "cosine": coherence.embedding_coherence(vectors),
        "intrusion": coherence.intrusion(phrases, vectors, seed=SEED),
        "diversity_in_topic": [coherence.word_diversity([some]) for some in phrases],
        "tf_idf": coherence.informativeness(phrases, texts),
    }
    stored = _stored(collection, documents)
    rows = {
        OURS: {
            **{name: bootstrapped(values) for name, values in by_topic.items()},
            "diversity": Figure(_or_none(coherence.word_diversity(phrases))),
            "without_topic": bootstrapped([float(not s.topics) for s in stored]),
        }
    }
    labels = [document.meta.get(LABEL) for document in documents]
    distinct = sorted({str(label) for label in labels if label is not None})
    if len(distinct) > 1:
        rows[OURS]["nmi"], rows[PLAIN] = _against(labels, stored, len(topics))
    return TopicTable(
        task="topics",
        data=str(path),
        size={"documents": len(documents), "topics": len(topics)},
        bundle=collection.encoder.bundle,
        protocol=PROTOCOL,
        rows=rows,
        main=OURS,
        seeds=(SEED, *(KMEANS_SEEDS if PLAIN in rows else ())),
        more={
            "resamples": RESAMPLES,
            "asked": requested,
            "labels": len(distinct),
            "label": distinct[0] if len(distinct) == 1 else None,
            "labelled": sum(label is not None for label in labels),
            "by_topic": [_as_json(topic, by_topic, at) for at, topic in enumerate(topics)],
        },
    )


def topic_agreement(labels: Sequence[str], topics: Sequence[str | None]) -> Figure:
    """NMI (arithmetic mean) of labels and topics, one of each per document; None is a separate group."""
    truth, found = numbered(labels), numbered(["" if topic is None else topic for topic in topics])

    def measure(rows: NDArray[np.intp]) -> float:
        return agreement(truth[rows], found[rows])

    return resampled(len(truth), measure, resamples=NMI_RESAMPLES)


def _against(
    labels: Sequence[MetaValue | None], stored: Sequence[StoredDocument], topics: int
) -> tuple[Figure, dict[str, Figure]]:
    """Agreement of the labelled documents' first topics with their labels, and of K-means with as many clusters."""
    known: list[str] = []
    first: list[str | None] = []
    vectors: list[Vector] = []
    for label, document in zip(labels, stored, strict=True):
        if label is not None and document.vector is not None:
            known.append(str(label))
            first.append(document.topics[0].topic_id if document.topics else None)
            vectors.append(document.vector)
    truth, points = numbered(known), np.stack(vectors)
    number = min(max(topics, 1), len(points))
    plain = repeated([agreement(truth, kmeans(points, number, seed)) for seed in KMEANS_SEEDS])
    return topic_agreement(known, first), {"nmi": plain}


def _stored(collection: Miner, documents: Sequence[Document]) -> list[StoredDocument]:
    ids = [document.id for document in documents]
    return [s for some in batches(ids, CHUNK) for s in collection.engine.documents(some, vectors=True)]


def _encoded(collection: Miner, phrases: Sequence[str]) -> Floats:
    """float32 [phrases, dims]."""
    if not phrases:
        return np.zeros((0, collection.encoder.dims), np.float32)
    return collection.encoder.encode_phrases(list(phrases))


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _as_json(topic: Topic, by_topic: Mapping[str, Sequence[float]], at: int) -> dict[str, Any]:
    """A topic with its figures, for programs; null where there is none."""
    return {
        "id": topic.id,
        "label": topic.label,
        "documents": topic.size,
        "phrases": list(topic.phrases),
        **{name: _or_none(round(values[at], 4)) for name, values in by_topic.items()},
    }
