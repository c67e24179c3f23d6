"""Synthetic documents, as many as wanted, mined without an encoder, and like real ones to an engine.

Each is made of half of the sentences of two real abstracts, and has the mentions of these sentences, with their vectors
and a little noise. New phrases come at the rate at which they come in the real texts (Heaps): a phrase with a made-up
word behind it, whose vector is near that of the phrase. So lengths, rows of a document, words, repeated phrases and
neighbours of vectors are distributed as in the sample, and the number of phrases grows as it does there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log2

import numpy as np

from indexer.collection import Collection
from indexer.common import Floats, batches, unit
from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.keyphrases.scoring import choose
from indexer.pipeline.steps import PHRASES_KEPT
from indexer.pipeline.topic_fit import mined_documents
from indexer.records import Document, MentionRow, MinedDocument, phrase_id

# Of 2,000 arXiv abstracts: distinct phrases = 16,000 at 19,000 rows; the exponent, .91 at 28,000 rows, falls by .02 each
# time that the rows double.
EXPONENT, AT_ROWS, FALLS = 0.906, 28_000, 0.02
NEAR, NOISE = (
    0.35,
    0.15,
)  # length of the noise beside a vector of length 1: for a new phrase, for each mention
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DATES = 3_650  # days before the last one


@dataclass(frozen=True)
class Abstract:
    """A real document: its sentences, and the mentions of each."""

    document: Document
    vector: Floats
    sentences: tuple[str, ...]
    mentions: dict[str, list[MentionRow]]


def abstracts(collection: Collection) -> list[Abstract]:
    """Return all documents of an indexed collection that have mentions."""
    found = []
    for ids in batches(collection.engine.document_ids(), 256):
        for stored, rows in mined_documents(collection.engine, ids):
            by_sentence: dict[str, list[MentionRow]] = {}
            for row in rows:
                by_sentence.setdefault(row.sentence, []).append(row)
            if rows and stored.vector is not None:
                found.append(Abstract(stored.document, stored.vector, tuple(by_sentence), by_sentence))
    return found


class Synthesizer:
    """Makes documents in order. The same abstracts give the same documents.

    Attributes:
        rows: Mentions made so far.
        phrases: Distinct phrases among them, about.
    """

    def __init__(self, real: Sequence[Abstract], bundle: str) -> None:
        self._real = real
        self._bundle = bundle
        self.rows = 0
        self.phrases = 0
        self._mentions = [m for abstract in real for rows in abstract.mentions.values() for m in rows]

    def documents(self, numbers: range) -> Iterator[tuple[Document, MinedDocument]]:
        """Yield documents with what was mined from them."""
        for number in numbers:
            yield self._made(number)

    def _made(self, number: int) -> tuple[Document, MinedDocument]:
        chance = np.random.default_rng([7, number])
        one, other = (self._real[i] for i in chance.integers(len(self._real), size=2))
        sentences = [*self._half(one, chance), *self._half(other, chance)]
        pieces: list[str] = []
        rows: list[tuple[MentionRow, str]] = []
        for abstract, sentence in sentences:
            text = sentence
            for mention in abstract.mentions[sentence]:
                named = self._named(mention, chance)
                if named.surface != mention.surface:
                    text = text.replace(mention.surface, named.surface, 1)
                rows.append((named, sentence))
            pieces.append(text)
        spoken = dict(zip((sentence for _, sentence in sentences), pieces, strict=True))
        day = np.datetime64("2026-01-01") - int(chance.integers(DATES))
        meta = {**one.document.meta, "date": str(day)}
        document = Document(f"synthetic:{number:08}", " ".join(pieces), one.document.title, meta)
        return document, self._mined(document, rows, spoken, unit(one.vector + other.vector), chance)

    def _half(self, abstract: Abstract, chance: np.random.Generator) -> list[tuple[Abstract, str]]:
        number = (len(abstract.sentences) + 1) // 2
        chosen = sorted(chance.choice(len(abstract.sentences), number, replace=False).tolist())
        return [(abstract, abstract.sentences[i]) for i in chosen]

    def _named(self, mention: MentionRow, chance: np.random.Generator) -> MentionRow:
        """The mention as it is, or of a phrase that was coined earlier, or of one that is coined now."""
        self.rows += 1
        exponent = EXPONENT - FALLS * log2(self.rows / AT_ROWS)
        if chance.random() < min(1.0, exponent * (self.phrases + 1) / self.rows):
            self.phrases += 1
            return self._coined(self.phrases, mention.score)
        if self.phrases and chance.random() < 0.5:
            return self._coined(int(chance.integers(self.phrases)) + 1, mention.score)
        return mention

    def _coined(self, number: int, score: float) -> MentionRow:
        """The made-up phrase of a number."""
        chance = np.random.default_rng([11, number])
        base = self._mentions[int(chance.integers(len(self._mentions)))]
        word, near = _word(number), chance.normal(size=base.vector.size)
        phrase = f"{base.phrase} {word}"
        return replace(
            base, phrase=phrase, phrase_id=phrase_id(phrase), surface=f"{base.surface} {word}", score=score,
            vector=_beside(base.vector, near, NEAR),
        )  # fmt: skip

    def _mined(
        self,
        document: Document,
        rows: Sequence[tuple[MentionRow, str]],
        spoken: dict[str, str],
        vector: Floats,
        chance: np.random.Generator,
    ) -> MinedDocument:
        best = {row.phrase_id: (row, sentence) for row, sentence in sorted(rows, key=lambda r: r[0].score)}
        chosen = sorted(best.values(), key=lambda r: (-r[0].score, r[0].phrase))[:PHRASES_KEPT]
        noise = chance.normal(size=(len(chosen), len(vector)))
        mentions = []
        for (row, sentence), beside in zip(chosen, noise, strict=True):
            start = max(document.content.find(row.surface), 0)
            place = document.place(start, start + len(row.surface))
            mentions.append(
                replace(
                    row, document_id=document.id, places=(place,), sentence=spoken[sentence], topic=None,
                    vector=_beside(row.vector, beside, NOISE),
                )
            )  # fmt: skip
        keyphrases = choose(mentions, DocumentFrequencies(), 10)
        return MinedDocument(
            document.id,
            vector,
            keyphrases,
            (),
            tuple(mentions),
            self._bundle,
            "synthetic",
            document.content_hash,
        )


def _word(number: int) -> str:
    """A made-up word for a number."""
    word = "z"
    while number:
        number, letter = divmod(number, len(LETTERS))
        word += LETTERS[letter]
    return word


def _beside(vector: Floats, noise: Floats, length: float) -> Floats:
    found: Floats = unit((vector + length * unit(noise)).astype(np.float32))
    return found
