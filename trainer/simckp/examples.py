"""What the ranker learns from: for each document vectors and clues of its candidates, and which are keyphrases.

The encoder does not change, so each document is encoded once; what is kept of it is small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexer.analysis.absent import (
    LEAST,
    MOST,
    absent_clues,
    candidates,
    recombined,
    vocabulary,
)
from indexer.analysis.ranker import Recombined, Vocabulary, present_clues, stems_of
from indexer.batches import batches
from indexer.encoding import Encoder
from indexer.mining import mined
from indexer.progress import Progress
from indexer.records import Document, EncodedDocument
from indexer.vectors import Floats, unit
from indexer.windows import encode_documents
from trainer.simckp.labels import Labelled

CHUNK = 32  # documents encoded in one call
WRONG = 64  # candidates kept of a document that are no keyphrases

Halves = NDArray[np.float16]


@dataclass(frozen=True)
class Example:
    """A document and candidates.

    Attributes:
        vector: float32 [dims]. phrases: float16 [n, dims]. clues: float32 [n, clues].
        right: bool [n], which candidates are keyphrases.
        gold: How many keyphrases there are, found among the candidates or not.
    """

    vector: Floats
    phrases: Halves
    clues: Floats
    right: NDArray[np.bool_]
    gold: int


@dataclass(frozen=True)
class Encoded:
    """What stage 2 needs of a document: its vector, those of its phrases, and what was made of it."""

    vector: Floats
    own: Halves
    made: tuple[Recombined, ...]


def read_examples(
    labelled: Sequence[Labelled],
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
    one: Labelled, found: EncodedDocument, counts: Counter[str], draw: np.random.Generator | None
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


def label_counts(labelled: Sequence[Labelled]) -> Counter[str]:
    """How many documents have each keyphrase, by stems."""
    return Counter(stem for one in labelled for stem in one.keyphrases)


def label_vocabulary(
    labelled: Sequence[Labelled], encoded: Sequence[Encoded], encoder: Encoder
) -> tuple[Vocabulary, Floats]:
    """The keyphrases that `LEAST` documents have, and the sums of the vectors of these: float32 [n, dims]."""
    counts = label_counts(labelled)
    stems = sorted((s for s in counts if counts[s] >= LEAST), key=lambda s: (-counts[s], s))[:MOST]
    place = {stem: at for at, stem in enumerate(stems)}
    texts: list[Counter[str]] = [Counter() for _ in stems]
    sums = np.zeros((len(stems), encoder.dims), np.float32)
    for one, found in zip(labelled, encoded, strict=True):
        for stem, text in one.keyphrases.items():
            if stem in place:
                texts[place[stem]][text] += 1
                sums[place[stem]] += found.vector
    shown = [found.most_common(1)[0][0] for found in texts]
    phrases = encoder.encode_phrases(shown)
    return vocabulary(shown, stems, [counts[s] for s in stems], list(phrases), list(sums)), sums


def absent_examples(
    labelled: Sequence[Labelled],
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
    pool: Vocabulary, one: Labelled, vector: Floats, place: dict[str, int], sums: Floats
) -> None:
    for at, stem in enumerate(pool.stems):
        if stem in one.keyphrases and stem in place:
            pool.counts[at] -= 1
            pool.documents[at] = unit(sums[place[stem]] - vector)
