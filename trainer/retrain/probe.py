"""The probe of a collection: some of its texts, frozen, with their phrases and with queries; no training sees them.

The same texts, mentions and queries each night make the nights comparable. They are kept unchanged until their document
is deleted.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from indexer.common import batches, shuffled
from indexer.errors import InputError, NotEnoughData
from indexer.records import Document, Mention, Prepared, Sentence
from indexer.text import Preparer
from indexer.text.linking import coordinated

MIN_DOCUMENTS = 50
PHRASES = 24  # of a text; those that other texts have come first
COMMON = 0.1  # of the texts: a phrase that more of them have is not informative
QUERIES = 200
CONTEXTS = 1_500  # mentions that are masked
MAX_CONTEXT_LENGTH = 500  # characters
CHUNK = 64  # documents tagged at once
VERSION = 1


@dataclass(frozen=True)
class Context:
    """A mention in its sentence."""

    document: str  # id
    sentence: str
    start: int
    end: int
    phrase: str


@dataclass(frozen=True)
class Probe:
    """Frozen texts with the offsets of their sentences and phrases.

    Attributes:
        queries: Phrases of two words or more.
    """

    documents: tuple[Document, ...]
    prepared: tuple[Prepared, ...]
    queries: tuple[str, ...]

    @classmethod
    def of(cls, kept: Sequence[tuple[Document, Prepared]]) -> Self:
        """The probe of these documents."""
        prepared = tuple(ready for _, ready in kept)
        queries = sorted((phrase for phrase in _shared(prepared) if " " in phrase), key=shuffled)[:QUERIES]
        return cls(tuple(document for document, _ in kept), prepared, tuple(queries))

    def without_missing(self, known: Container[str]) -> Self:
        """The probe with only those documents whose ids are in `known`."""
        kept = [
            (document, ready)
            for document, ready in zip(self.documents, self.prepared, strict=True)
            if document.id in known
        ]
        return self if len(kept) == len(self.documents) else self.of(kept)

    @property
    def is_enough(self) -> bool:
        """Whether an encoder can be judged by it."""
        return len(self.documents) >= MIN_DOCUMENTS

    @cached_property
    def siblings(self) -> tuple[tuple[str, str], ...]:
        """Phrases that some text names side by side ("X and Y"), normal forms: things of one kind."""
        found = set()
        for document, sentence, mentions in self._sentences():
            spans = [(mention.start - sentence.start, mention.end - sentence.start) for mention in mentions]
            text = document.content[sentence.start : sentence.end]
            for one, other in coordinated(text, spans):
                a, b = sorted((mentions[one].phrase, mentions[other].phrase))
                if a not in b and b not in a:
                    found.add((a, b))
        return tuple(sorted(found))

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        """Sentences with a phrase that other texts have too, at most `CONTEXTS`."""
        shared = _shared(self.prepared)
        found = [
            Context(
                document.id,
                document.content[sentence.start : sentence.end],
                mention.start - sentence.start,
                mention.end - sentence.start,
                mention.phrase,
            )
            for document, sentence, mentions in self._sentences()
            if sentence.end - sentence.start <= MAX_CONTEXT_LENGTH
            for mention in mentions
            if mention.phrase in shared
        ]
        return tuple(
            sorted(found, key=lambda one: shuffled(f"{one.document}\0{one.start}\0{one.sentence}"))[:CONTEXTS]
        )

    def _sentences(self) -> Iterator[tuple[Document, Sentence, list[Mention]]]:
        """Each sentence of each text with the mentions inside it."""
        for document, ready in zip(self.documents, self.prepared, strict=True):
            for sentence in ready.sentences:
                inside = [m for m in ready.mentions if sentence.start <= m.start and m.end <= sentence.end]
                yield document, sentence, inside

    @cached_property
    def pool(self) -> tuple[tuple[int, str], ...]:
        """The phrases that are compared: (row of the text, normal form), each once."""
        shared = _shared(self.prepared)
        return tuple(
            (row, phrase)
            for row, ready in enumerate(self.prepared)
            for phrase in sorted(
                {mention.phrase for mention in ready.mentions}, key=lambda p: (p not in shared, shuffled(p))
            )[:PHRASES]
        )


def check_enough(documents: int, share: int) -> None:
    """Check that a collection is large enough to set some of it aside.

    Args:
        share: One document in `share` is set aside.

    Raises:
        NotEnoughData: It is too small.
    """
    if documents // share < MIN_DOCUMENTS:
        raise NotEnoughData(
            f"The collection has {documents:,} documents; {MIN_DOCUMENTS * share} are needed: one in {share} is "
            "set aside to judge an encoder by.",
            hint="Index more documents first.",
        )


def make_probe(documents: Sequence[Document], tagger: str) -> Probe:
    """Freeze these documents.

    Raises:
        NotEnoughData: Fewer than `MIN_DOCUMENTS` documents have phrases.
    """
    preparer = Preparer(tagger)
    kept: list[tuple[Document, Prepared]] = []
    for some in batches(documents, CHUNK):
        for document, ready in zip(some, preparer.prepare(some), strict=True):
            if not isinstance(ready, InputError) and ready.mentions:
                kept.append((Document(document.id, document.text, document.title), ready))
    probe = Probe.of(kept)
    if not probe.is_enough:
        raise NotEnoughData(
            f"{len(kept)} documents have phrases; {MIN_DOCUMENTS} are needed to judge an encoder.",
            hint="Index more documents first.",
        )
    return probe


def _shared(prepared: Sequence[Prepared]) -> set[str]:
    """Phrases that occur in two texts or more, and not in most."""
    found = Counter(phrase for ready in prepared for phrase in {m.phrase for m in ready.mentions})
    return {phrase for phrase, texts in found.items() if 2 <= texts <= max(2, COMMON * len(prepared))}


def save_probe(probe: Probe, file: Path) -> None:
    """Write a temporary file and rename it, so that a probe is complete or missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    documents = [
        {
            "id": document.id,
            "title": document.title,
            "text": document.text,
            "sentences": [[s.start, s.end] for s in ready.sentences],
            "mentions": [[m.start, m.end, m.phrase] for m in ready.mentions],
        }
        for document, ready in zip(probe.documents, probe.prepared, strict=True)
    ]
    record = {"version": VERSION, "queries": probe.queries, "documents": documents}
    part.write_bytes(gzip.compress(json.dumps(record).encode(), mtime=0))
    part.replace(file)


def load_probe(file: Path) -> Probe | None:
    """The reverse of `save_probe`; None when another version of the program has written another format."""
    record = json.loads(gzip.decompress(file.read_bytes()))
    if record["version"] != VERSION:
        return None
    return Probe(
        tuple(Document(one["id"], one["text"], one["title"]) for one in record["documents"]),
        tuple(
            Prepared(
                tuple(Sentence(*range_) for range_ in one["sentences"]),
                tuple(Mention(*mention) for mention in one["mentions"]),
            )
            for one in record["documents"]
        ),
        tuple(record["queries"]),
    )
