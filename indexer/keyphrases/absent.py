"""Keyphrases that fit a document and do not occur in it.

SimCKP (EMNLP Findings 2023) lets a decoder write more candidates than are needed and ranks them by a dual encoder. Here
candidates come from what the collection knows: keyphrases of documents like this one, and phrases of this one put
together in another order. The dual encoder that ranks them is the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from indexer.common import Floats, unit
from indexer.keyphrases.ranker import Ranker, Recombined, Vocabulary
from indexer.records import Document, Keyphrase, MentionRow, StoredDocument, phrase_id
from indexer.text import normal_form, stemmed

POOL = 200  # candidates that are ranked for a document
MAX_COUNT = 20_000  # keyphrases of a vocabulary, the most frequent ones
MIN_EXAMPLES = 2  # documents that have a keyphrase before others may get it
MAX_LENGTH = 4  # words of a recombined phrase
ABSENT_CLUES = ("documents", "shared", "title", "head", "often", "near", "recombined", "one", "two", "more")
THRESHOLD = 0.5  # of `DualEncoder.scores`
_OF = re.compile(r"\s+(?:of|for|in)\s+(?:the\s+|an?\s+)?")


def vocabulary_of(documents: Iterable[tuple[StoredDocument, Sequence[MentionRow]]]) -> Vocabulary:
    """Keyphrases that at least `MIN_EXAMPLES` documents have, the most frequent first."""
    texts: dict[str, str] = {}
    counts: dict[str, int] = {}
    phrases: dict[str, Floats] = {}
    sums: dict[str, Floats] = {}
    for stored, rows in documents:
        if stored.vector is None:
            continue
        vectors = {row.phrase_id: row.vector for row in rows if row.keyphrase}
        for keyphrase in stored.keyphrases:
            vector, stem = vectors.get(keyphrase.phrase_id), stemmed(keyphrase.text)
            if vector is None or not stem:
                continue
            texts.setdefault(stem, keyphrase.text)
            counts[stem] = counts.get(stem, 0) + 1
            phrases[stem] = phrases.get(stem, np.zeros_like(vector)) + vector
            sums[stem] = sums.get(stem, np.zeros_like(vector)) + stored.vector
    stems = sorted((s for s in counts if counts[s] >= MIN_EXAMPLES), key=lambda s: (-counts[s], s))[
        :MAX_COUNT
    ]
    return vocabulary(
        [texts[s] for s in stems],
        stems,
        [counts[s] for s in stems],
        [phrases[s] for s in stems],
        [sums[s] for s in stems],
    )


def vocabulary(
    texts: Sequence[str],
    stems: Sequence[str],
    counts: Sequence[float],
    phrases: Sequence[Floats],
    sums: Sequence[Floats],
) -> Vocabulary:
    """From sums of vectors; empty when there is nothing."""
    shape = len(phrases), len(phrases[0]) if phrases else 0
    return Vocabulary(
        tuple(texts),
        tuple(stems),
        np.array(counts, np.float32),
        unit(np.array(phrases, np.float32).reshape(shape)),
        unit(np.array(sums, np.float32).reshape(shape)),
    )


def joined(first: Vocabulary, second: Vocabulary) -> Vocabulary:
    """Both; what both have is taken from the first."""
    if not len(first) or not len(second):
        return first if len(first) else second
    known = set(first.stems)
    new = [at for at, stem in enumerate(second.stems) if stem not in known]
    return Vocabulary(
        (*first.texts, *(second.texts[at] for at in new)),
        (*first.stems, *(second.stems[at] for at in new)),
        np.concatenate([first.counts, second.counts[new]]),
        np.concatenate([first.phrases, second.phrases[new]]),
        np.concatenate([first.documents, second.documents[new]]),
    )


class AbsentFinder:
    """Finds the absent keyphrases of documents.

    Args:
        vocabulary: What the collection's documents have; that of the ranker is added.
    """

    def __init__(self, ranker: Ranker, vocabulary: Vocabulary) -> None:
        self._scorer = ranker.absent
        self._generate = ranker.generate
        self._vocabulary = joined(vocabulary, ranker.vocabulary)

    def find(
        self, document: Document, vector: Floats, rows: Sequence[MentionRow], limit: int
    ) -> tuple[Keyphrase, ...]:
        """The best absent keyphrases of a document past the threshold, at most `limit`.

        Args:
            vector: The document's, unit length.
            rows: Phrases of the document, with their vectors.
        """
        ranked = self.ranked(document, vector, rows)
        return tuple(
            Keyphrase(phrase_id(normal_form(text)), text, round(score, 4))
            for text, score in ranked[:limit]
            if score >= THRESHOLD
        )

    def ranked(
        self, document: Document, vector: Floats, rows: Sequence[MentionRow]
    ) -> list[tuple[str, float]]:
        """All candidates of a document with their scores, best first."""
        made = [*recombined(document, rows), *(self._generate(document) if self._generate else ())]
        pool = candidates(document, vector, made, self._vocabulary)
        if not len(pool):
            return []
        own = np.stack([row.vector for row in rows]) if rows else np.zeros((1, len(vector)), np.float32)
        scores = self._scorer.scores(vector, pool.phrases, absent_clues(document, vector, own, pool))
        order = sorted(range(len(scores)), key=lambda i: (-scores[i], pool.texts[i]))
        return [(pool.texts[i], float(scores[i])) for i in order]


def candidates(
    document: Document, vector: Floats, made: Sequence[Recombined], known: Vocabulary
) -> Vocabulary:
    """What may be an absent keyphrase: the `POOL` nearest of a vocabulary, and what was made for the document.

    Args:
        made: Recombined phrases, and those that a decoder wrote. Their documents' vector is that of the document, their
            count is 0.
    """
    text = f" {stemmed(document.content)} "
    new = {stem: (words, v) for words, stem, v in made if f" {stem} " not in text}
    near: list[int] = []
    if len(known):
        nearness = known.documents @ vector + known.phrases @ vector
        for at in np.argsort(-nearness, kind="stable")[: 2 * POOL].tolist():
            if f" {known.stems[at]} " not in text:
                near.append(at)
            if len(near) == POOL:
                break
    taken = {known.stems[at] for at in near}
    fresh = [stem for stem in new if stem not in taken]
    return vocabulary(
        [*(known.texts[at] for at in near), *(new[s][0] for s in fresh)],
        [*(known.stems[at] for at in near), *fresh],
        [*(float(known.counts[at]) for at in near), *(0.0 for _ in fresh)],
        [*(known.phrases[at] for at in near), *(new[s][1] for s in fresh)],
        [*(known.documents[at] for at in near), *(vector for _ in fresh)],
    )


def absent_clues(document: Document, vector: Floats, own: Floats, pool: Vocabulary) -> Floats:
    """What speaks for each candidate beside its vector.

    Args:
        vector: float32 [dims], the document's. own: float32 [n, dims], those of its phrases; both of unit length.

    Returns:
        float32 [candidates, `ABSENT_CLUES`]: cosine to the documents that have it, shares of its words that occur in the
        document and in its title, whether its last word does, how many documents have it (logarithm), cosine to the
        nearest phrase of the document, whether it is a recombined one, and how many words it has (one of three).
    """
    words, title = set(stemmed(document.content).split()), set(stemmed(document.title).split())
    near = (pool.phrases @ own.T).max(axis=1)
    similarity = pool.documents @ vector
    found = []
    for at, stem in enumerate(pool.stems):
        parts = stem.split()
        count = pool.counts[at]
        found.append(
            [
                similarity[at] if count else 0.0,
                sum(part in words for part in parts) / len(parts),
                sum(part in title for part in parts) / len(parts),
                parts[-1] in words,
                np.log1p(count),
                near[at],
                count == 0,
                *(min(len(parts), 3) == n for n in (1, 2, 3)),
            ]
        )
    return np.array(found, np.float32)


def recombined(document: Document, rows: Sequence[MentionRow]) -> Iterator[Recombined]:
    """Phrases that a document says in another order: "control of ships" gives "ship control".

    Yields:
        Text, stems, and the sum of the vectors of both parts.
    """
    for field in ("title", "text"):
        written: str = getattr(document, field)
        places = [(p.start, p.end, row) for row in rows for p in row.places if p.field == field]
        places.sort(key=lambda place: place[:2])
        for (_, end, first), (start, _, second) in pairwise(places):
            if end <= start and _OF.fullmatch(written, end, start):
                text = f"{second.phrase} {first.phrase}"
                if len(text.split()) <= MAX_LENGTH:
                    yield text, stemmed(text), first.vector + second.vector
