"""`indexer evaluate keyphrases --protocol simckp`: present and absent keyphrases, scored separately.

The protocol of SimCKP (EMNLP Findings 2023) and its peers, as its published figures were counted: precision and recall
of each document that has keyphrases of the kind are averaged, and F1 is made of the two means. F1@5 counts five
predictions even where there are fewer; F1@M counts all that the method gives. Porter stems without duplicates; a
present keyphrase occurs in title and text as one contiguous phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from indexer.keyphrases.absent import THRESHOLD, AbsentFinder, vocabulary_of
from indexer.keyphrases.scoring import MIN_DOCUMENTS
from indexer.pipeline.steps import mined
from indexer.protocols import Encoder, Progress, no_progress
from indexer.records import Document, MentionRow, MinedDocument, StoredDocument
from indexer.text import stemmed
from trainer.evaluation.keyphrases import LabelledDocument, encoded, read_labelled
from trainer.evaluation.published import published_for
from trainer.evaluation.table import Figure, Table, resampled

MAX_COUNT = 50  # predictions of a document
KINDS = ("present", "absent")
PROTOCOL = (
    "simckp: precision and recall averaged over the documents that have such keyphrases, F1 of the two means; "
    "F1@5 counts five predictions, F1@M all that are given; Porter stems, lower case, hyphen = space"
)


@dataclass(frozen=True)
class Predicted:
    """Predictions for a document: stems, best first; the method gives the first `sure`, the others rank below."""

    stems: Sequence[str]
    sure: int


def evaluate_separately(
    path: Path,
    *,
    encoder: Encoder,
    keyphrases: int,
    tagger: str = "auto",
    limit: int | None = None,
    published: str = "",
    progress: Progress = no_progress,
) -> Table:
    """Find present and absent keyphrases of every document of a file, and score them.

    Absent ones come from the phrases of the file and the vocabulary of the bundle.

    Args:
        path: JSON Lines (.gz or not) with ``text``, ``keyphrases`` (a list), and maybe ``id`` and ``title``.
        keyphrases: Number of predictions where no ranker decides it.
        limit: Number of documents of a sample by id.
        published: Name of the set in `trainer.evaluation.published`; empty for no published rows.

    Raises:
        InputError: A line is not such an object.
    """
    published_figures = published_for("simckp", published, limit=limit)
    labelled = read_labelled(path, limit)
    found = [
        mined(document, vectors, encoder.bundle, "", MAX_COUNT, encoder.ranker)
        for document, vectors in encoded(labelled, encoder, tagger, progress)
    ]
    present = [_present(one, keyphrases if encoder.ranker is None else MAX_COUNT) for one in found]
    absent = _absent([one.document for one in labelled], found, encoder)
    figures: dict[str, Figure] = {}
    for kind, predicted in zip(KINDS, (present, absent), strict=True):
        keyphrases_of = [_of_kind(one, kind) for one in labelled]
        figures[f"{kind}_f1@5"] = macro_f1(predicted, keyphrases_of, 5)
        figures[f"{kind}_f1@m"] = macro_f1(predicted, keyphrases_of, None)
        figures[f"{kind}_recall@50"] = macro_recall(predicted, keyphrases_of)
    return Table(
        task="keyphrases",
        data=str(path),
        size={
            "documents": len(labelled),
            **{f"with {kind}": sum(bool(_of_kind(one, kind)) for one in labelled) for kind in KINDS},
        },
        bundle=encoder.bundle,
        protocol=PROTOCOL,
        rows={"indexer": figures},
        main="indexer",
        published=published_figures,
        published_set=published,
        columns=[f"{kind}_{figure}" for kind in KINDS for figure in ("f1@5", "f1@m", "recall@50")],
        more={"tagger": tagger},
    )


def macro_f1(predicted: Sequence[Predicted], labelled: Sequence[frozenset[str]], k: int | None) -> Figure:
    """F1 of mean precision and mean recall over documents that have keyphrases; the spread is a bootstrap.

    Args:
        k: Number of predictions counted, missing ones as wrong; None counts those that the method gives.
    """
    scored = [_scored(some, right, k) for some, right in zip(predicted, labelled, strict=True) if right]
    if not scored:
        return Figure(None)
    pairs = np.array(scored)  # [documents, 2]
    return resampled(len(pairs), lambda rows: _harmonic(*pairs[rows].mean(axis=0)))


def macro_recall(predicted: Sequence[Predicted], labelled: Sequence[frozenset[str]]) -> Figure:
    """Share of the labelled keyphrases found among all predictions, mean over documents."""
    shares = [
        len(set(p.stems) & right) / len(right) for p, right in zip(predicted, labelled, strict=True) if right
    ]
    return Figure(float(np.mean(shares)) if shares else None)


def _scored(predicted: Predicted, labelled: frozenset[str], k: int | None) -> tuple[float, float]:
    """Precision and recall."""
    taken = predicted.stems[: predicted.sure if k is None else k]
    found = len(set(taken) & labelled)
    return found / (k or max(1, len(taken))), found / len(labelled)


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _of_kind(labelled: LabelledDocument, kind: str) -> frozenset[str]:
    text = f" {stemmed(labelled.document.content)} "
    inside = frozenset(stem for stem in labelled.keyphrases if f" {stem} " in text)
    return inside if kind == "present" else labelled.keyphrases - inside


def _present(one: MinedDocument, keyphrases: int) -> Predicted:
    ranked = sorted(one.mentions, key=lambda row: (-row.score, row.phrase))
    chosen = [stemmed(keyphrase.text) for keyphrase in one.keyphrases[:keyphrases]]
    stems = list(dict.fromkeys([*chosen, *(stem for row in ranked if (stem := stemmed(row.surface)))]))
    return Predicted(stems[:MAX_COUNT], len(chosen))


def _absent(
    documents: Sequence[Document], found: Sequence[MinedDocument], encoder: Encoder
) -> list[Predicted]:
    if encoder.ranker is None:
        return [Predicted((), 0) for _ in documents]
    finder = AbsentFinder(encoder.ranker, vocabulary_of(map(_stored, documents, found)))
    predicted = []
    for document, one in zip(documents, found, strict=True):
        ranked = finder.ranked(document, one.vector, one.mentions)[:MAX_COUNT]
        sure = sum(score >= THRESHOLD for _, score in ranked)
        predicted.append(Predicted([stemmed(text) for text, _ in ranked], max(sure, MIN_DOCUMENTS)))
    return predicted


def _stored(document: Document, one: MinedDocument) -> tuple[StoredDocument, list[MentionRow]]:
    """The document and its rows as an engine returns them."""
    chosen = {keyphrase.phrase_id for keyphrase in one.keyphrases}
    rows = [replace(row, keyphrase=row.phrase_id in chosen) for row in one.mentions]
    return StoredDocument(document, one.keyphrases, vector=one.vector), rows
