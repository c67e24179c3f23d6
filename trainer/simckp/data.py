"""Documents with their keyphrases, given or taken from the title, and the training examples made of them.

An example has vectors and clues of a document's candidates, and which of them are keyphrases. The encoder does not
change, so each document is encoded once, and little of it is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats, batches, unit
from indexer.errors import InputError
from indexer.keyphrases.absent import (
    MAX_COUNT,
    MIN_EXAMPLES,
    absent_clues,
    candidates,
    recombined,
    vocabulary,
)
from indexer.keyphrases.ranker import Recombined, Vocabulary, present_clues, stems_of
from indexer.pipeline.steps import mined
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder, Progress
from indexer.records import Document, EncodedDocument, Prepared
from indexer.text import stemmed
from indexer.text.pool import PreparePool
from indexer.text.subspans import with_parts
from trainer.evaluation.lines import Line, read_lines

CHUNK = 64  # documents tagged at once


@dataclass(frozen=True)
class KeyphraseDocument:
    """A document with its keyphrases.

    Attributes:
        prepared: With parts of phrases.
        keyphrases: Stems ► the keyphrase as it was given. Some occur in the document, some do not.
    """

    document: Document
    prepared: Prepared
    keyphrases: dict[str, str]

    def present(self) -> frozenset[str]:
        """Stems of those that occur in the document."""
        text = f" {stemmed(self.document.content)} "
        return frozenset(stem for stem in self.keyphrases if f" {stem} " in text)

    def absent(self) -> frozenset[str]:
        """Stems of the others."""
        return frozenset(self.keyphrases) - self.present()


def read_labelled(
    paths: Iterable[Path], *, tagger: str = "auto", silver: bool = False
) -> list[KeyphraseDocument]:
    """Read documents and find their candidates.

    Args:
        paths: JSON Lines with ``text``, ``keyphrases``, and maybe ``id`` and ``title``.
        silver: Take the title as the label instead: phrases of the text that it contains are present keyphrases, its
            other phrases are absent ones. The document is then the text alone.

    Raises:
        InputError: A line is not such an object.
    """
    make = _titled if silver else _given
    found = [pair for path in paths for pair in read_lines(path, make) if pair[0].text.strip()]
    prepared = _prepared([document for document, _ in found], tagger)
    if not silver:
        return [
            KeyphraseDocument(document, ready, {stem: k for k in given if (stem := stemmed(k))})
            for (document, given), ready in zip(found, prepared, strict=True)
        ]
    titles = [Document(document.id, given[0]) for document, given in found]
    named = _prepared(titles, tagger)
    return [
        KeyphraseDocument(document, ready, _of_title(document, title, phrases))
        for (document, _), ready, title, phrases in zip(found, prepared, titles, named, strict=True)
    ]


def _given(line: Line) -> tuple[Document, Sequence[str]]:
    title = line.text("title", empty=True) if line.fields.get("title") else ""
    return _document(line, title), line.texts("keyphrases")


def _titled(line: Line) -> tuple[Document, Sequence[str]]:
    return _document(line, ""), [line.text("title", empty=True)]


def _document(line: Line, title: str) -> Document:
    number = line.where.rpartition(":")[2]
    return Document(str(line.fields.get("id", number)), line.text("text", empty=True), title)


def _prepared(documents: Sequence[Document], tagger: str) -> list[Prepared]:
    """Candidates and their parts."""
    found: list[Prepared] = []
    with PreparePool(0, tagger) as pool:
        for some, outcomes, _ in pool.prepare_chunks(batches(documents, CHUNK)):
            for document, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, InputError):
                    raise outcome
                found.append(with_parts(document, outcome))
    return found


def _of_title(document: Document, title: Document, phrases: Prepared) -> dict[str, str]:
    """Phrases of a title: the longest parts that the text has, and the candidates that it has not."""
    text = f" {stemmed(document.content)} "
    content = title.content
    places = [(m.start, m.end) for m in (*phrases.mentions, *phrases.parts)]
    inside = [(a, b) for a, b in places if f" {stemmed(content[a:b])} " in text]
    longest = [
        (a, b) for a, b in inside if not any(c <= a and b <= d and (c, d) != (a, b) for c, d in inside)
    ]
    own = [(m.start, m.end) for m in phrases.mentions]
    return {stem: content[a:b] for a, b in (*longest, *own) if (stem := stemmed(content[a:b]))}


CHUNK = 32  # documents encoded in one call
WRONG = 64  # candidates kept of a document that are not keyphrases

Halves = NDArray[np.float16]


@dataclass(frozen=True)
class Example:
    """A document and candidates.

    Attributes:
        vector: float32 [dims]. phrases: float16 [n, dims]. clues: float32 [n, clues].
        right: bool [n], which candidates are keyphrases.
        keyphrases: Number of keyphrases, found among the candidates or not.
    """

    vector: Floats
    phrases: Halves
    clues: Floats
    right: NDArray[np.bool_]
    keyphrases: int


@dataclass(frozen=True)
class Encoded:
    """Data of a document for stage 2: its vector, those of its phrases, and the candidates made of it."""

    vector: Floats
    own: Halves
    made: tuple[Recombined, ...]


def read_examples(
    labelled: Sequence[KeyphraseDocument],
    encoder: Encoder,
    counts: Counter[str],
    draw: np.random.Generator | None,
    generate: Callable[[Document], Sequence[Recombined]],
    progress: Progress,
) -> tuple[list[Example], list[Encoded]]:
    """Encode documents: examples of stage 1, and what stage 2 needs.

    Args:
        counts: How many of the documents that are learned from have each keyphrase (stems).
        generate: Writes more candidates of stage 2.
        draw: For those documents: keeps at most `WRONG` wrong candidates of each, and takes from `counts` what a document
            has added itself. None for documents held back.
    """
    examples: list[Example] = []
    encoded: list[Encoded] = []
    for some in batches(labelled, CHUNK):
        documents = [one.document for one in some]
        for one, found in zip(
            some, encode_documents(encoder, documents, [o.prepared for o in some]), strict=True
        ):
            examples.append(_present(one, found, counts, draw))
            rows = mined(one.document, found, "", "", 0).mentions
            own = np.stack([row.vector for row in rows]) if rows else found.vector[None]
            made = (*recombined(one.document, rows), *generate(one.document))
            encoded.append(Encoded(found.vector, own.astype(np.float16), made))
        progress("encode", len(examples), len(labelled))
    return examples, encoded


def _present(
    one: KeyphraseDocument, found: EncodedDocument, counts: Counter[str], draw: np.random.Generator | None
) -> Example:
    stems = stems_of(one.document, found)
    own = frozenset(one.keyphrases) if draw else frozenset()
    known = np.array([counts[stem] - (stem in own) for stem in stems], np.float32)
    present = one.present()
    right = np.array([stem in present for stem in stems], bool)
    clues = present_clues(one.document, found, stems, known)
    kept = _kept(right, draw)
    return Example(
        found.vector, found.vectors[kept].astype(np.float16), clues[kept], right[kept], len(present)
    )


def _kept(right: NDArray[np.bool_], draw: np.random.Generator | None) -> NDArray[np.intp]:
    wrong = np.flatnonzero(~right)
    if draw is not None and len(wrong) > WRONG:
        wrong = draw.choice(wrong, WRONG, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(right), wrong]))


def label_counts(labelled: Sequence[KeyphraseDocument]) -> Counter[str]:
    """Number of documents with each keyphrase, by stems."""
    return Counter(stem for one in labelled for stem in one.keyphrases)


def label_vocabulary(
    labelled: Sequence[KeyphraseDocument], encoded: Sequence[Encoded], encoder: Encoder
) -> tuple[Vocabulary, Floats]:
    """The keyphrases that `MIN_EXAMPLES` documents have, and the sums of the vectors of these: float32 [n, dims]."""
    counts = label_counts(labelled)
    stems = sorted((s for s in counts if counts[s] >= MIN_EXAMPLES), key=lambda s: (-counts[s], s))[
        :MAX_COUNT
    ]
    place = {stem: at for at, stem in enumerate(stems)}
    texts: list[Counter[str]] = [Counter() for _ in stems]
    sums = np.zeros((len(stems), encoder.dims), np.float32)
    for one, found in zip(labelled, encoded, strict=True):
        for stem, text in one.keyphrases.items():
            if stem in place:
                texts[place[stem]][text] += 1
                sums[place[stem]] += found.vector
    spelled = [found.most_common(1)[0][0] for found in texts]
    phrases = encoder.encode_phrases(spelled)
    return vocabulary(spelled, stems, [counts[s] for s in stems], list(phrases), list(sums)), sums


def absent_examples(
    labelled: Sequence[KeyphraseDocument],
    encoded: Sequence[Encoded],
    known: Vocabulary,
    sums: Floats | None,
    draw: np.random.Generator | None,
) -> list[Example]:
    """Examples of stage 2.

    Args:
        sums: Of the vocabulary, where these documents are among those that it was made of: then what a document has
            added itself is taken out again.
        draw: As in `read_examples`.
    """
    place = {stem: at for at, stem in enumerate(known.stems)}
    found = []
    for one, here in zip(labelled, encoded, strict=True):
        pool = candidates(one.document, here.vector, here.made, known)
        if sums is not None:
            _without_own(pool, one, here.vector, place, sums)
        absent = one.absent()
        right = np.array([stem in absent for stem in pool.stems], bool)
        kept = _kept(right, draw)
        clues = absent_clues(one.document, here.vector, here.own.astype(np.float32), pool)
        found.append(
            Example(here.vector, pool.phrases[kept].astype(np.float16), clues[kept], right[kept], len(absent))
        )
    return found


def _without_own(
    pool: Vocabulary, one: KeyphraseDocument, vector: Floats, place: dict[str, int], sums: Floats
) -> None:
    for at, stem in enumerate(pool.stems):
        if stem in one.keyphrases and stem in place:
            pool.counts[at] -= 1
            pool.documents[at] = unit(sums[place[stem]] - vector)
