"""Topics as clusters of documents, by their own vectors alone: `--topics documents`.

HS-GC (LREC-COLING 2024) clusters the vectors of documents by K-means; a bundle that `indexer train hs-gc` has made gives
it vectors that were trained for it, and any other bundle its own. Every document has one topic, and its phrases have it
too. The number of topics is given, or the one with the highest silhouette.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from indexer.common import Floats
from indexer.topics.models.base import NEVER, Sample, TopicFit, means
from indexer.topics.models.clusters import fit

MAX_DOCUMENTS = 3_000  # by which a number is chosen
SEED = 20240520


def fit_documents(sample: Sample, number: int | None = None) -> TopicFit:
    """Cluster the documents of a sample; see `indexer.topics.models.clusters.fit`.

    The centroids in the encoder's space are those of the phrases of each topic: labels compare them with phrases.
    """
    found = replace(fit(_alone(sample.documents), number), share=1.0, document_threshold=NEVER)
    topics = np.argmax(found.similarity(sample.vectors, sample.documents[sample.document]), axis=1)
    return replace(found, centroids=means(sample.vectors, sample.weights, topics, len(found)))


def number_of_clusters(vectors: Floats) -> int:
    """As many as have the highest silhouette: float32 [documents, dims], unit length."""
    if len(vectors) > MAX_DOCUMENTS:
        vectors = vectors[np.random.default_rng(SEED).choice(len(vectors), MAX_DOCUMENTS, replace=False)]
    return len(fit(_alone(vectors)))


def _alone(documents: Floats) -> Sample:
    """Documents as their own and only phrases."""
    return Sample(documents, np.ones(len(documents), np.float32), np.arange(len(documents)), documents)
