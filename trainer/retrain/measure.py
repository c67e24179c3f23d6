"""Measures an encoder on a probe.

Two metrics distinguish a better encoder from a worse one without a label: whether it finds a phrase in other texts by its
context alone, the phrase mknown (UCTopic's own task: an untrained encoder cannot do it), and whether phrases that a text
names side by side are nearer than others. The unmknown phrase would be found by its letters: every encoder does that.
Gains of topics are small compared with the effect of another number of topics or another start: they only have limits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, batches, unit
from indexer.errors import LossDiverged
from indexer.keyphrases.scoring import base_scores
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder, Window
from indexer.records import Document, EncodedDocument, Prepared
from indexer.topics.labels import LabelMaker, PhraseCount
from indexer.topics.models.base import Sample, TopicFit, vote
from indexer.topics.models.clusters import STARTS, fit
from trainer.evaluation import coherence
from trainer.retrain.ground_truth import GroundTruth, measure_ground_truth
from trainer.retrain.probe import Probe
from trainer.retrain.searches import measure_searches

CHUNK = 32  # texts encoded at once
TIMED = 3  # chunks on which two encoders' speed is compared
ROUNDS = 4
NEAREST = 10  # neighbours, and hits of a query, that are compared
TOPIC_PHRASES = 16  # of a text, for the fit of topics: as many as for a collection
FITS = 8  # of the topics: the coherence of one with 400 texts wavers by .04 from fit to fit, that of eight by .015
DOCUMENTS_PER_TOPIC = 12  # a probe has fewer texts than the collection, and so fewer topics
SIMILARITY_PAIRS = 5_000

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Measured:
    """One encoder on one probe.

    Attributes:
        silhouette: Of the topics, -1 to 1, mean of `FITS` fits.
        npmi: float [topics of all fits], -1 to 1: do leading phrases occur in the same texts? NaN for topics without two.
        context: float [n], for each mknown phrase, reciprocal rank of the same phrase in another text; 0 past `NEAREST`,
            NaN where no other text has it, or its sentence does not fit.
        siblings: float [n], for each phrase named next to another, share of all phrases that are farther than that one.
        topic: int [texts], heaviest topic of each in the first fit; -1 without one.
        documents, mentions: int [n, NEAREST], nearest other texts, and phrases in other texts.
        answers: int [queries, NEAREST], nearest texts of each query.
        similarity: Mean cosine of two phrases drawn at random: near 1, the space has collapsed.
        labelled: float [n], for each labelled example of a kind, its score, 0 to 1.
        searches: float [queries], by mode, nDCG@10 of each query for documents of the probe.
    """

    silhouette: float
    npmi: Floats
    context: Floats
    siblings: Floats
    topic: Rows
    documents: Rows
    mentions: Rows
    answers: Rows
    similarity: float
    labelled: Mapping[str, Floats] = field(default_factory=dict)
    searches: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def without_topic(self) -> float:
        """Share of the texts."""
        return float(np.mean(self.topic < 0))


def measure(
    encoder: Encoder, probe: Probe, *, topics: int, mask: str, truth: GroundTruth | None = None
) -> Measured:
    """Measure an encoder.

    Args:
        topics: Number of topics of the collection; a small probe gets fewer.
        mask: The encoder's mask token.

    Raises:
        LossDiverged: Its vectors are not numbers.
    """
    encoded = [one for some in _chunks(probe) for one in encode_documents(encoder, *some)]
    documents = np.stack([one.vector for one in encoded])
    pool, text = _pool(probe, encoded)
    if not (np.isfinite(documents).all() and np.isfinite(pool).all()):
        raise LossDiverged(f"The vectors of '{encoder.bundle}' are not numbers: its training has diverged.")
    similarity = pool @ pool.T
    similarity[text[:, None] == text[None, :]] = -2.0  # other texts only
    sample, forms = _sample(encoded)
    number = max(2, min(topics, len(encoded) // DOCUMENTS_PER_TOPIC))
    fits = [
        fit(sample, number, starts=range(first, first + STARTS)) for first in range(0, FITS * STARTS, STARTS)
    ]
    among = documents @ documents.T
    np.fill_diagonal(among, -2.0)
    return Measured(
        silhouette=float(np.mean([fitted.silhouette for fitted in fits])),
        npmi=np.concatenate([_coherence(probe, fitted, sample, forms) for fitted in fits]),
        context=_context(encoder, probe, mask),
        siblings=_siblings(encoder, probe),
        topic=_first_topics(fits[0], sample),
        documents=_nearest(among),
        mentions=_nearest(similarity),
        answers=_nearest(encoder.encode_texts(probe.queries) @ documents.T)
        if probe.queries
        else np.zeros((0, NEAREST), np.intp),
        similarity=_similarity(pool),
        labelled=measure_ground_truth(
            encoder, truth, dict(zip((d.id for d in probe.documents), documents, strict=True))
        )
        if truth
        else {},
        searches=measure_searches(encoder, probe),
    )


def speed(old: Encoder, new: Encoder, probe: Probe) -> float:
    """Speed of the new encoder, relative to the old one.

    In turns, and the fastest of several rounds counts for each chunk, so that a busy moment does not decide.
    """
    totals = [0.0, 0.0]
    for documents, prepared in islice(_chunks(probe), TIMED):
        rounds = [[_seconds(encoder, documents, prepared) for encoder in (old, new)] for _ in range(ROUNDS)]
        for at, fastest in enumerate(np.min(rounds, axis=0).tolist()):
            totals[at] += fastest
    return totals[0] / totals[1]


def _seconds(encoder: Encoder, documents: Sequence[Document], prepared: Sequence[Prepared]) -> float:
    start = time.perf_counter()
    encode_documents(encoder, documents, prepared)
    return time.perf_counter() - start


def _chunks(probe: Probe) -> Iterator[tuple[list[Document], list[Prepared]]]:
    for some in batches(zip(probe.documents, probe.prepared, strict=True), CHUNK):
        yield [document for document, _ in some], [ready for _, ready in some]


def _pool(probe: Probe, encoded: Sequence[EncodedDocument]) -> tuple[Floats, Rows]:
    """Vector and text of all phrases that are compared: float32 [n, dims], int [n]."""
    rows = [{group[0].phrase: at for at, group in enumerate(one.phrases)} for one in encoded]
    vectors = np.stack([encoded[text].vectors[rows[text][phrase]] for text, phrase in probe.pool])
    return vectors, np.array([text for text, _ in probe.pool], np.intp)


def _nearest(similarity: Floats) -> Rows:
    """Columns of the highest values of each row, best first, ties by position: int [n, NEAREST] at most."""
    return np.stack([_highest(row) for row in similarity])


def _highest(row: Floats) -> Rows:
    """The same of one row, without sorting all of it."""
    first = max(0, len(row) - NEAREST)
    near = np.flatnonzero(~(row < np.partition(row, first)[first]))  # all, where it is NaN
    best: Rows = near[np.argsort(-row[near], kind="stable")[:NEAREST]]
    return best


def _context(encoder: Encoder, probe: Probe, mask: str) -> Floats:
    lengths = encoder.count_tokens([one.sentence for one in probe.contexts])
    short = encoder.window_tokens - encoder.count_tokens([mask])[0]
    fitting = np.flatnonzero(np.array(lengths) <= short)
    found = np.full(len(probe.contexts), np.nan, np.float32)
    if not len(fitting):
        return found
    kept = [probe.contexts[at] for at in fitting.tolist()]
    plain = [Window(one.sentence, ((one.start, one.end),)) for one in kept]
    mknown = [
        Window(
            f"{one.sentence[: one.start]}{mask}{one.sentence[one.end :]}",
            ((one.start, one.start + len(mask)),),
        )
        for one in kept
    ]
    similarity = _mentions(encoder, mknown) @ _mentions(encoder, plain).T
    document = np.unique([one.document for one in kept], return_inverse=True)[1]
    phrase = np.unique([one.phrase for one in kept], return_inverse=True)[1]
    elsewhere = document[:, None] != document[None, :]
    right = (phrase[:, None] == phrase[None, :]) & elsewhere
    known = right.any(axis=1)
    similarity[~elsewhere] = -2.0
    hits = np.take_along_axis(right, _nearest(similarity), axis=1)[known]
    found[fitting[known]] = np.where(hits.any(axis=1), 1 / (hits.argmax(axis=1) + 1), 0.0)
    return found


def _mentions(encoder: Encoder, windows: Sequence[Window]) -> Floats:
    return np.concatenate([one.mentions for one in encoder.encode(windows)])


def _siblings(encoder: Encoder, probe: Probe) -> Floats:
    if not probe.siblings:
        return np.zeros(0, np.float32)
    phrases = sorted({phrase for pair in probe.siblings for phrase in pair})
    at = {phrase: row for row, phrase in enumerate(phrases)}
    pairs = np.array([(at[a], at[b]) for a, b in probe.siblings], np.intp)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    vectors = encoder.encode_phrases(phrases)
    similarity = vectors @ vectors.T
    farther = similarity[both[:, 0]] < similarity[both[:, 0], both[:, 1]][:, None]
    shares: Floats = (farther.sum(axis=1) / max(1, len(phrases) - 2)).astype(np.float32)  # of the others
    return shares


def _similarity(pool: Floats) -> float:
    draw = np.random.default_rng(0).integers(0, len(pool), (2, SIMILARITY_PAIRS))
    return float(np.mean(np.sum(pool[draw[0]] * pool[draw[1]], axis=1)))


# -- topics -------------------------------------------------------------------------------------------------


def _sample(encoded: Sequence[EncodedDocument]) -> tuple[Sample, list[str]]:
    """The best phrases of each text as a sample for a fit, and their normal forms."""
    vectors, weights, document, forms = [], [], [], []
    for row, one in enumerate(encoded):
        scores = base_scores(one)
        best = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:TOPIC_PHRASES]
        vectors.append(one.vectors[best])
        weights += [max(float(scores[at]), 0.01) for at in best]
        document += [row] * len(best)
        forms += [one.phrases[at][0].phrase for at in best]
    sample = Sample(
        np.concatenate(vectors),
        np.array(weights, np.float32),
        np.array(document, np.intp),
        np.stack([one.vector for one in encoded]),
    )
    return sample, forms


def _first_topics(fitted: TopicFit, sample: Sample) -> Rows:
    placed = fitted.assign(sample.vectors, sample.documents[sample.document]).topic
    first = []
    for row in range(len(sample.documents)):
        rows = sample.document == row
        own = fitted.own_topic(sample.documents[row])
        voted = vote(placed[rows].tolist(), sample.weights[rows].tolist(), own.topic if own else None)
        first.append(voted[0][0] if voted else -1)
    return np.array(first, np.intp)


def _coherence(probe: Probe, fitted: TopicFit, sample: Sample, forms: Sequence[str]) -> Floats:
    """NPMI of the words of each topic's leading phrases in the probe's texts."""
    placed = fitted.assign(sample.vectors, sample.documents[sample.document]).topic
    names = [str(number) for number in range(len(fitted))]
    maker = LabelMaker(
        dict(zip(names, fitted.centroids, strict=True)),
        {name: int((placed == number).sum()) for number, name in enumerate(names)},
    )
    rows: dict[str, list[int]] = {}
    for at, form in enumerate(forms):
        rows.setdefault(form, []).append(at)
    for form, places in rows.items():
        counts = Counter(names[placed[at]] for at in places if placed[at] >= 0)
        vector = unit(sample.vectors[places].mean(axis=0))
        maker.add(PhraseCount(form, {form: len(places)}, counts, vector))
    leading = maker.leading()
    texts = [coherence.words_of(document.content) for document in probe.documents]
    words = coherence.leading_words([leading[name] for name in names])
    return np.array(coherence.npmi_coherence(words, texts), np.float32)
