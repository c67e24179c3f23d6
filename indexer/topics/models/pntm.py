"""Topics as a bottleneck that documents are reconstructed through (PNTM, EMNLP 2021, section 6.1).

    document x ► shares of the topics, t = softmax(R x) ► reconstructed, y = R' t

Row k of R is topic k. It is learned that y lies near x and far from other documents (a hinge), and that topics are not
similar (orthogonality). What a topic is about are the phrases that lie nearest to its row.

What differs from the paper, and why:

- A document is the mean of its phrases, each mixed with the document's vector as for the clusters, centred and
  projected. So phrases and topics share one space, and the direction that all texts share does not fill R.
- Vectors have length 1, so what goes into the softmax is multiplied (`SHARPNESS`); those of BERT are long by themselves.
- The penalty weighs a tenth: fields that have much in common are not at right angles (NPMI of words on 3,000 arXiv
  abstracts .11 and .13 from two starts; with 1 .07).
- Topics are named as those of clusters are, by frequent phrases among the near ones: where nearness counts more, the
  named ones stand together in fewer documents (with five times its weight NPMI .01 instead of .07).
- R begins at documents that lie apart, not at random; of several starts the one that tells documents best is kept.
- A document's topics are the vote of its phrases, as for the clusters, so that `topics why` can tell them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, unit
from indexer.topics.models.base import Sample, TopicFit, means
from indexer.topics.models.clusters import Space

SHARPNESS = 10.0  # what a cosine is multiplied with before the softmax
NEGATIVES = 5  # other documents for each; the paper's
ORTHOGONALITY = 0.1  # weight of the penalty; the paper's is 1
BATCH = 64  # documents
STEPS = 1_500
RATE = 0.01  # of Adam
STARTS = 4
SEED = 20211107

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Reconstruction:
    """What one batch says of R."""

    loss: float
    gradient: Rows  # [k, dims]


def fit(sample: Sample, number: int | None = None) -> TopicFit:
    """Learn topics from a sample; the same sample gives the same fit.

    Args:
        number: How many topics; None chooses by silhouette, as for the clusters. Never more than there are documents.
    """
    space = Space.of(sample)
    documents = _documents(sample, space.points)
    topics = learned(documents, space.number(number))
    return space.fit(unit(topics.astype(np.float32)))


def _documents(sample: Sample, points: Floats) -> Floats:
    """Weighted mean of the points of each document: float32 [m, p], unit length."""
    return means(points, sample.weights, sample.document, len(sample.documents))


def learned(documents: Floats, number: int) -> Rows:
    """R of the start with the lowest reconstruction loss: float [number, p]."""
    others = _others(documents)
    starts = [_train(documents, number, start) for start in range(STARTS)]
    return min(starts, key=lambda topics: reconstruct(topics, documents, others).loss)


def reconstruct(topics: Rows, documents: Floats, others: Floats) -> Reconstruction:
    """Loss and gradient (equation 2, and the penalty).

    Args:
        topics: R, [k, p].
        documents: x, [b, p]. others: z, [b, n, p], n other documents for each.
    """
    scores = SHARPNESS * documents @ topics.T  # [b, k]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    again = shares @ topics  # y, [b, p]
    near = np.sum(again * documents, axis=1, keepdims=True)  # [b, 1]
    hinge = 1 - near + np.einsum("bp,bnp->bn", again, others)  # [b, n]
    active = (hinge > 0).astype(np.float64)
    pull = (
        np.einsum("bn,bnp->bp", active, others) - active.sum(axis=1, keepdims=True) * documents
    )  # d loss / d y
    pull /= len(documents)
    by_share = pull @ topics.T  # [b, k]
    by_score = shares * (by_share - np.sum(shares * by_share, axis=1, keepdims=True))
    overlap = topics @ topics.T - np.eye(len(topics))
    penalty = float(np.linalg.norm(overlap))
    gradient = shares.T @ pull + SHARPNESS * by_score.T @ documents
    gradient += ORTHOGONALITY * 2 * overlap @ topics / max(penalty, 1e-12)
    return Reconstruction(float((active * hinge).sum() / len(documents) + ORTHOGONALITY * penalty), gradient)


def _train(documents: Floats, number: int, start: int) -> Rows:
    """Adam from documents that lie apart."""
    from sklearn.cluster import kmeans_plusplus

    draw = np.random.default_rng([SEED, start])
    topics: Rows = kmeans_plusplus(documents, number, random_state=SEED + start)[0].astype(np.float64)
    first, second = np.zeros_like(topics), np.zeros_like(topics)
    for step in range(1, STEPS + 1):
        rows = draw.integers(0, len(documents), BATCH)
        others = documents[draw.integers(0, len(documents), (BATCH, NEGATIVES))]
        gradient = reconstruct(topics, documents[rows], others).gradient
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient**2 - second)
        size = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        topics -= RATE * (1 - step / (STEPS + 1)) * size
    return topics


def _others(documents: Floats) -> Floats:
    """Negatives for all documents, the same for every start: float [m, n, p]."""
    draw = np.random.default_rng(SEED)
    return documents[draw.integers(0, len(documents), (len(documents), NEGATIVES))]
