"""`indexer evaluate keyphrases`: precision, recall and F1 of the keyphrases, after the unsupervised protocol.

The keyphrases of `indexer index` are compared with those of SEKE 2022 as published, with the attention and the weights
of the same encoder: for both of the paper's shares of attention (beta), which were chosen on the test sets, and for one
that is chosen on a labelled validation set, where one is given.

Micro-averaged (sums over documents); all labelled keyphrases count, present or absent; a document may have fewer
predictions than k; both sides as Porter stems of lower-case alphanumeric tokens, a hyphen counting as a space, and
without duplicates. This is the protocol of SEKE 2022 and PromptRank (ACL 2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from indexer.common import Floats, batches
from indexer.errors import InputError
from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.keyphrases.scoring import choose
from indexer.pipeline.steps import mined
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder, Progress, no_progress
from indexer.records import Document, EncodedDocument, MentionRow
from indexer.text import stemmed
from indexer.text.pool import PreparePool
from trainer.evaluation.lines import Line, read_lines
from trainer.evaluation.published import published_for
from trainer.evaluation.table import Figure, Table

RANKS = (5, 10, 15)
BETAS = (0.5, 0.8)  # share of attention; the paper's, for Inspec and for SemEval
SHARES = tuple(step / 10 for step in range(11))  # candidates where one is chosen
CHOSEN_AT = 10  # the rank whose F1 chooses
TEMPERATURE = 0.05  # of the softmax over weights; that of training
CHUNK = 16  # documents at once; full papers are long
PROTOCOL = (
    "unsupervised: micro-averaged F1, all labelled keyphrases count, as many predictions as there are, "
    "Porter stems, lower case, hyphen = space"
)


@dataclass(frozen=True)
class Score:
    """Sums over documents at one rank."""

    found: int
    predicted: int
    labelled: int

    @property
    def precision(self) -> float:
        return 100 * self.found / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return 100 * self.found / self.labelled if self.labelled else 0.0

    @property
    def f1(self) -> float:
        """Per cent."""
        total = self.predicted + self.labelled
        return 200 * self.found / total if total else 0.0


@dataclass(frozen=True)
class LabelledDocument:
    """A document and its labelled keyphrases, as stems."""

    document: Document
    keyphrases: frozenset[str]


def evaluate_keyphrases(
    path: Path,
    *,
    encoder: Encoder,
    validate: Path | None = None,
    tagger: str = "auto",
    limit: int | None = None,
    published: str = "",
    progress: Progress = no_progress,
) -> Table:
    """Extract keyphrases from every document of a file and score them.

    Document frequencies of phrases are those of the file.

    Args:
        path: JSON Lines (.gz or not) with ``text``, ``keyphrases`` (a list), and maybe ``id`` and ``title``.
        validate: A file of the same kind on which a share of attention is chosen.
        limit: Number of documents of a sample by id.
        published: Name of the set in `trainer.evaluation.published`; empty for no published rows.

    Raises:
        InputError: A line is not such an object.
    """
    figures = published_for("keyphrases", published, limit=limit)
    labelled = read_labelled(path, limit)
    documents = _candidates(labelled, encoder, tagger, progress)
    frequencies = DocumentFrequencies.of([row.phrase_id for row in one.rows] for one in documents)
    rows = {
        "indexer": [
            one.chosen or [stemmed(k.text) for k in choose(one.rows, frequencies, max(RANKS))]
            for one in documents
        ]
    }
    betas = {beta: "" for beta in BETAS}
    if validate:
        betas[best_beta(validate, encoder, tagger=tagger)] = f", chosen on {validate.name.partition('.')[0]}"
    for beta, how in sorted(betas.items()):
        rows[f"as published, beta {beta:.1f}{how}"] = [one.published(beta) for one in documents]
    return Table(
        task="keyphrases",
        data=str(path),
        size={"documents": len(labelled)},
        bundle=encoder.bundle,
        protocol=PROTOCOL,
        rows={name: _figures(predictions, labelled) for name, predictions in rows.items()},
        main="indexer",
        published=figures,
        published_set=published,
        digits=2,
        columns=[f"f1@{k}" for k in RANKS],
        more={"tagger": tagger},
    )


@dataclass(frozen=True)
class _Candidates:
    """The phrases of a document to choose keyphrases from: their stems, and both parts of their scores, 0..1.

    Attributes:
        chosen: Stems that a ranker has chosen; empty without a ranker.
    """

    rows: Sequence[MentionRow]
    chosen: Sequence[str]
    stems: Sequence[str]
    attention: Floats
    weights: Floats

    def published(self, beta: float) -> list[str]:
        """The first stems by beta * attention + (1 - beta) * weight (SEKE 2022, equation 12)."""
        scores = beta * self.attention + (1 - beta) * self.weights
        order = np.argsort(-scores, kind="stable").tolist()
        return list(dict.fromkeys(self.stems[at] for at in order if self.stems[at]))[: max(RANKS)]


def best_beta(path: Path, encoder: Encoder, *, tagger: str = "auto") -> float:
    """The share of attention (0, 0.1, … 1) with the highest F1 on a file with keyphrases."""
    labelled = read_labelled(path)
    found = _candidates(labelled, encoder, tagger, no_progress)
    keyphrases = [one.keyphrases for one in labelled]
    return max(
        SHARES, key=lambda beta: score([one.published(beta) for one in found], keyphrases, CHOSEN_AT).f1
    )


def encoded(
    labelled: Sequence[LabelledDocument], encoder: Encoder, tagger: str, progress: Progress
) -> Iterator[tuple[Document, EncodedDocument]]:
    """The documents with their candidates and vectors.

    Raises:
        InputError: A document cannot be tagged.
    """
    done = 0
    with PreparePool(1, tagger) as pool:
        for some, outcomes, _ in pool.prepare_chunks(batches((one.document for one in labelled), CHUNK)):
            for document, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, InputError):
                    raise outcome
                yield document, encode_documents(encoder, [document], [outcome])[0]
            done += len(some)
            progress("evaluate", done, len(labelled))


def _candidates(
    labelled: Sequence[LabelledDocument], encoder: Encoder, tagger: str, progress: Progress
) -> list[_Candidates]:
    return [_candidates_of(*found, encoder) for found in encoded(labelled, encoder, tagger, progress)]


def _candidates_of(document: Document, encoded: EncodedDocument, encoder: Encoder) -> _Candidates:
    one = mined(document, encoded, encoder.bundle, "", max(RANKS), encoder.ranker)
    own = np.flatnonzero(encoded.own > 0)  # without phrases that are only parts of others
    relevance = encoded.relevance[own]
    odds = np.exp((relevance - relevance.max(initial=0)) / TEMPERATURE)
    return _Candidates(
        [_light(row) for row in one.mentions],
        [stemmed(keyphrase.text) for keyphrase in one.keyphrases] if encoder.ranker else [],
        [stemmed(document.content[m[0].start : m[0].end]) for m in (encoded.phrases[at] for at in own)],
        *(_to_one(part) for part in (encoded.attention[own], odds)),
    )


def _to_one(values: Floats) -> Floats:
    """Scaled to a maximum of 1; attention and weights have different units."""
    return values / max(float(values.max(initial=0)), 1e-12)


def _figures(predictions: Sequence[Sequence[str]], labelled: Sequence[LabelledDocument]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for k in RANKS:
        found = score(predictions, [one.keyphrases for one in labelled], k)
        figures |= {
            f"precision@{k}": Figure(found.precision),
            f"recall@{k}": Figure(found.recall),
            f"f1@{k}": Figure(found.f1),
        }
    return figures


def score(predictions: Sequence[Sequence[str]], labelled: Sequence[frozenset[str]], k: int) -> Score:
    """Count the first `k` predictions of each document against its labelled keyphrases; both are stems."""
    found = sum(len(set(some[:k]) & right) for some, right in zip(predictions, labelled, strict=True))
    return Score(found, sum(len(set(some[:k])) for some in predictions), sum(map(len, labelled)))


def read_labelled(path: Path, limit: int | None = None) -> list[LabelledDocument]:
    """The documents of a file, or a sample of them, with their labelled keyphrases.

    Raises:
        InputError: A line is not such an object.
    """
    return read_lines(path, _labelled, limit)


def _labelled(line: Line) -> LabelledDocument:
    number = line.where.rpartition(":")[2]
    stems = frozenset(stemmed(keyphrase) for keyphrase in line.texts("keyphrases"))
    title = line.text("title", empty=True) if line.fields.get("title") else ""
    document = Document(str(line.fields.get("id", number)), line.text("text", empty=True), title)
    return LabelledDocument(document, stems - {""})


def _light(row: MentionRow) -> MentionRow:
    """The row without vector and offsets, so that a large file fits in memory."""
    return replace(row, vector=np.zeros(0, np.float32), places=())
