"""Keyphrases of a document: score its phrases, merge near-duplicates, keep the best.

After "contrastive unsupervised keyphrase extraction" (SEKE 2022, equations 9 to 12): the attention that a phrase
receives, joined with its similarity to the document. Added here: what the collection knows (how rare the phrase is).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.common import Floats
from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.records import EncodedDocument, Keyphrase, MentionRow
from indexer.text import stemmed

# Beside 1.0 for attention. Chosen on Inspec's validation part, SemEval-2017 and Krapivin together; each may be half
# or twice as much without changing a figure by more than half a point.
SIMILARITY_SHARE = 0.2
EARLY_SHARE = 0.3
EARLY = 400  # characters; a phrase that begins here counts half as early as one that begins the document
RARITY_SHARE = 0.2
LONG = 5  # words; longer runs are seldom what a person would write down
LONG_MALUS = 0.4
THRESHOLD = 0.5  # of a ranker's score: from there on it takes a phrase for a keyphrase
MIN_DOCUMENTS = 5  # keyphrases that a ranker gives a document that has so many phrases; SimCKP's
DECIMALS = 4  # scores are rounded, so that the last bits of a float never decide an order


def base_scores(encoded: EncodedDocument) -> Floats:
    """How well each phrase of a document speaks for it, without what the collection knows.

    Attention enters by its logarithm (a phrase that occurs in every sentence is not ten times the keyphrase);
    attention and similarity are scaled to 0..1 inside the document.

    Returns:
        float32 [phrases], 0..1.
    """
    if not len(encoded.phrases):
        return np.zeros(0, np.float32)
    attention = _scaled(np.log1p(encoded.attention))
    similarity = _scaled(encoded.relevance)
    early = np.array([1 / (1 + mentions[0].start / EARLY) for mentions in encoded.phrases])
    long = np.array([len(mentions[0].phrase.split()) >= LONG for mentions in encoded.phrases])
    score = attention + SIMILARITY_SHARE * similarity + EARLY_SHARE * early - LONG_MALUS * long
    whole = 1 + SIMILARITY_SHARE + EARLY_SHARE
    return np.round(np.clip(score / whole, 0, 1), DECIMALS).astype(np.float32)


def choose(rows: Sequence[MentionRow], frequencies: DocumentFrequencies, limit: int) -> tuple[Keyphrase, ...]:
    """Choose the keyphrases of one document among its mention rows.

    Args:
        rows: With their base scores.
        frequencies: Of phrases in the collection.
        limit: At most so many; near-duplicates are merged, so there may be fewer.
    """
    if not rows:
        return ()
    share = [frequencies.counts.get(row.phrase_id, 1) / frequencies.documents for row in rows]
    rarity = _scaled(-np.log(share))
    base = np.array([row.score for row in rows])
    weight = RARITY_SHARE / (1 + SIMILARITY_SHARE + EARLY_SHARE)
    score = np.round((base + weight * rarity) / (1 + weight), DECIMALS)
    return tuple(_without_duplicates(rows, score)[:limit])


def choose_ranked(rows: Sequence[MentionRow], limit: int) -> tuple[Keyphrase, ...]:
    """Choose the keyphrases of one document among rows that a ranker has scored.

    Those past its threshold, at least `MIN_DOCUMENTS` where there are so many (SimCKP, 5.4), at most `limit`. What the
    collection knows of a phrase does not count: the ranker was trained without it.
    """
    best = _without_duplicates(rows, np.array([row.score for row in rows], np.float32))
    past = sum(keyphrase.score >= THRESHOLD for keyphrase in best)
    return tuple(best[: min(limit, max(past, MIN_DOCUMENTS))])


def _without_duplicates(rows: Sequence[MentionRow], score: Floats) -> list[Keyphrase]:
    """All rows as keyphrases, best first; of those with the same stems the best one."""
    best: dict[str, Keyphrase] = {}
    for i in sorted(range(len(rows)), key=lambda i: (-score[i], rows[i].phrase)):
        keyphrase = Keyphrase(rows[i].phrase_id, rows[i].surface, float(score[i]), rows[i].places)
        best.setdefault(stemmed(keyphrase.text), keyphrase)
    best.pop("", None)
    return list(best.values())


def _scaled(values: Floats) -> Floats:
    """To 0..1; all 1 when they are all equal."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.ones_like(values)
