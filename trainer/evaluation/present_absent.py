"""`indexer evaluate keyphrases --protocol simckp`: keyphrases in the text and not in it, each for itself.

The protocol of SimCKP (EMNLP Findings 2023) and its peers, as its published figures were counted: precision and recall
of each document that has keyphrases of the kind are averaged, and F1 is made of the two means. F1@5 counts five
predictions even where there are fewer; F1@M takes as many as the method gives. Porter stems without duplicates; present
is what stands in title and text in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from indexer.common import batches
from indexer.errors import InputError
from indexer.keyphrases.absent import THRESHOLD, AbsentFinder, vocabulary_of
from indexer.keyphrases.scoring import MIN_DOCUMENTS
from indexer.pipeline.steps import mined
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder, Progress, no_progress
from indexer.records import Document, MentionRow, MinedDocument, StoredDocument
from indexer.text import stemmed
from indexer.text.pool import PreparePool
from trainer.evaluation.figures import Figure, resampled
from trainer.evaluation.keyphrases import LabelledDocument, read_labelled
from trainer.evaluation.table import Published, Table, known

CHUNK = 16  # documents at once; full papers are long
MAX_COUNT = 50  # predictions of a document
KINDS = ("present", "absent")
PROTOCOL = (
    "simckp: precision and recall averaged over the documents that have such keyphrases, F1 of the two means; "
    "F1@5 counts five predictions, F1@M all that are given; Porter stems, lower case, hyphen = space"
)


def _figures_of(*figures: float) -> dict[str, float]:
    names = ("present_f1@5", "present_f1@m", "absent_f1@5", "absent_f1@m")
    return dict(zip(names, figures, strict=True))


# Published, by a word in the file's name; all trained on 510,000 documents of KP20k.
PUBLISHED: Mapping[str, Published] = {
    "inspec": {
        "catSeq": _figures_of(0.225, 0.262, 0.004, 0.008),
        "SetTrans": _figures_of(0.285, 0.324, 0.021, 0.034),
        "SimCKP": _figures_of(0.356, 0.358, 0.033, 0.035),
    },
    "krapivin": {
        "catSeq": _figures_of(0.269, 0.354, 0.018, 0.036),
        "SetTrans": _figures_of(0.326, 0.364, 0.047, 0.073),
        "SimCKP": _figures_of(0.405, 0.405, 0.078, 0.089),
    },
    "kp20k": {
        "catSeq": _figures_of(0.291, 0.367, 0.015, 0.032),
        "SetTrans": _figures_of(0.358, 0.392, 0.036, 0.058),
        "SimCKP": _figures_of(0.426, 0.427, 0.073, 0.080),
    },
}


@dataclass(frozen=True)
class Predicted:
    """What is predicted for a document: stems, best first; the first `sure` are those that the method gives."""

    stems: Sequence[str]
    sure: int


def evaluate_separately(
    path: Path,
    *,
    encoder: Encoder,
    keyphrases: int,
    tagger: str = "auto",
    limit: int | None = None,
    progress: Progress = no_progress,
) -> Table:
    """Find present and absent keyphrases of every document of a file, and score them.

    The collection that absent ones come from is the file itself, beside what the bundle knows.

    Args:
        path: JSON Lines (.gz or not) with ``text``, ``keyphrases`` (a list), and maybe ``id`` and ``title``.
        keyphrases: How many are given where no ranker decides that.
        limit: Number of documents of a sample by id.

    Raises:
        InputError: A line is not such an object.
    """
    gold = read_labelled(path, limit)
    found = list(_mined([g.document for g in gold], encoder, tagger, progress))
    present = [_present(one, keyphrases if encoder.ranker is None else MAX_COUNT) for one in found]
    absent = _absent([g.document for g in gold], found, encoder)
    figures: dict[str, Figure] = {}
    for kind, predicted in zip(KINDS, (present, absent), strict=True):
        wanted = [_of_kind(g, kind) for g in gold]
        figures[f"{kind}_f1@5"] = macro_f1(predicted, wanted, 5)
        figures[f"{kind}_f1@m"] = macro_f1(predicted, wanted, None)
        figures[f"{kind}_recall@50"] = macro_recall(predicted, wanted)
    return Table(
        task="keyphrases",
        data=str(path),
        size={
            "documents": len(gold),
            "with present": sum(bool(_of_kind(g, "present")) for g in gold),
            "with absent": sum(bool(_of_kind(g, "absent")) for g in gold),
        },
        bundle=encoder.bundle,
        protocol=PROTOCOL,
        rows={"indexer": figures},
        main="indexer",
        published=known(path, PUBLISHED) if limit is None else {},
        columns=[f"{kind}_{figure}" for kind in KINDS for figure in ("f1@5", "f1@m", "recall@50")],
        more={"tagger": tagger},
    )


def macro_f1(predicted: Sequence[Predicted], gold: Sequence[frozenset[str]], k: int | None) -> Figure:
    """F1 of mean precision and mean recall over documents with gold; the spread is that of other documents.

    Args:
        k: Count so many predictions, the missing ones as wrong; None counts those that the method gives.
    """
    pairs = np.array([_scored(p, g, k) for p, g in zip(predicted, gold, strict=True) if g]).reshape(-1, 2)
    return (
        resampled(len(pairs), lambda rows: _harmonic(*pairs[rows].mean(axis=0)))
        if len(pairs)
        else Figure(None)
    )


def macro_recall(predicted: Sequence[Predicted], gold: Sequence[frozenset[str]]) -> Figure:
    """Share of the gold among all predictions, mean over documents."""
    shares = [len(set(p.stems) & g) / len(g) for p, g in zip(predicted, gold, strict=True) if g]
    return Figure(float(np.mean(shares)) if shares else None)


def _scored(predicted: Predicted, gold: frozenset[str], k: int | None) -> tuple[float, float]:
    """Precision and recall."""
    taken = predicted.stems[: predicted.sure if k is None else k]
    found = len(set(taken) & gold)
    return found / (k or max(1, len(taken))), found / len(gold)


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _of_kind(gold: LabelledDocument, kind: str) -> frozenset[str]:
    text = f" {stemmed(gold.document.content)} "
    inside = frozenset(stem for stem in gold.keyphrases if f" {stem} " in text)
    return inside if kind == "present" else gold.keyphrases - inside


def _mined(
    documents: Sequence[Document], encoder: Encoder, tagger: str, progress: Progress
) -> Iterator[MinedDocument]:
    done = 0
    with PreparePool(1, tagger) as pool:
        for some, outcomes, _ in pool.prepare_chunks(batches(documents, CHUNK)):
            ready = []
            for outcome in outcomes:
                if isinstance(outcome, InputError):
                    raise outcome
                ready.append(outcome)
            encoded = encode_documents(encoder, some, ready)
            for document, found in zip(some, encoded, strict=True):
                yield mined(document, found, encoder.bundle, "", MAX_COUNT, encoder.ranker)
            done += len(some)
            progress("evaluate", done, len(documents))


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
    """As the engine would give it back."""
    chosen = {keyphrase.phrase_id for keyphrase in one.keyphrases}
    rows = [replace(row, keyphrase=row.phrase_id in chosen) for row in one.mentions]
    return StoredDocument(document, one.keyphrases, vector=one.vector), rows
