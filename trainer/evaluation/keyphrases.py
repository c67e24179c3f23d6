"""`indexer evaluate keyphrases`: precision, recall and F1 of the keyphrases, after the unsupervised protocol.

Beside the keyphrases of `indexer index` stand those of SEKE 2022 as published, with the attention and the weights of
the same encoder: for both of the paper's shares of attention (beta), which were chosen on the test sets, and for one
that is chosen on other labelled texts, where there are some.

Micro-averaged (sums over documents); gold are all keyphrases, in the text or not; a document may have fewer
predictions than k; both sides as Porter stems of lower-case alphanumeric tokens, a hyphen counting as a space, and
without duplicates. This is the protocol of SEKE 2022 and PromptRank (ACL 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from indexer.common import Floats, batches
from indexer.errors import InputError
from indexer.keyphrases.scoring import choose
from indexer.pipeline.steps import mined
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder, Progress, no_progress
from indexer.records import Document, EncodedDocument, MentionRow
from indexer.text import stemmed
from indexer.text.pool import PreparePool
from trainer.evaluation.figures import Figure
from trainer.evaluation.lines import Line, read_lines
from trainer.evaluation.table import Published, Table, known

RANKS = (5, 10, 15)
BETAS = (0.5, 0.8)  # share of attention; the paper's, for Inspec and for SemEval
SHARES = tuple(step / 10 for step in range(11))  # that are tried where one is chosen
CHOSEN_AT = 10  # the rank whose F1 chooses
TEMPERATURE = 0.05  # of the softmax over weights; that of training
CHUNK = 16  # documents at once; full papers are long
PROTOCOL = (
    "unsupervised: micro-averaged F1, all gold keyphrases count, as many predictions as there are, "
    "Porter stems, lower case, hyphen = space"
)


def _f1(*figures: float) -> dict[str, float]:
    """Figures of the first ranks, in their order."""
    return {f"f1@{k}": figure for k, figure in zip(RANKS, figures, strict=False)}


# Published F1@5/10/15 in per cent, by a word in the file's name. SEKE 2022 is the method this follows (BERT-base,
# trained on each set); PromptRank (T5-base) is the highest published one without labels.
PUBLISHED: Mapping[str, Published] = {
    "inspec": {"SEKE 2022": _f1(20.61, 28.33, 30.04), "PromptRank": _f1(31.73, 37.88)},
    "semeval2017": {"SEKE 2022": _f1(21.30, 30.52, 34.48), "PromptRank": _f1(27.14, 37.76)},
    "semeval2010": {"SEKE 2022": _f1(10.85, 15.05, 16.01), "PromptRank": _f1(17.24, 20.66)},
    "krapivin": {"PromptRank": _f1(16.11, 16.71)},
    "nus": {"PromptRank": _f1(17.24, 20.13)},
    "duc2001": {"PromptRank": _f1(27.39, 31.59)},
}


@dataclass(frozen=True)
class Score:
    """Sums over documents at one rank."""

    found: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return 100 * self.found / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return 100 * self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Per cent."""
        total = self.predicted + self.gold
        return 200 * self.found / total if total else 0.0


@dataclass(frozen=True)
class LabelledDocument:
    """A document and the keyphrases that people gave it, as stems."""

    document: Document
    keyphrases: frozenset[str]


def evaluate_keyphrases(
    path: Path,
    *,
    encoder: Encoder,
    validate: Path | None = None,
    tagger: str = "auto",
    limit: int | None = None,
    progress: Progress = no_progress,
) -> Table:
    """Extract keyphrases from every document of a file and score them.

    The collection that says how rare a phrase is, is the file itself.

    Args:
        path: JSON Lines (.gz or not) with ``text``, ``keyphrases`` (a list), and maybe ``id`` and ``title``.
        validate: A file of the same kind on which a share of attention is chosen.
        limit: Number of documents of a sample by id.

    Raises:
        InputError: A line is not such an object.
    """
    gold = read_labelled(path, limit)
    documents = [_read(one) for one in _encoded([g.document for g in gold], encoder, tagger, progress)]
    frequencies = Counter(row.phrase_id for one in documents for row in one.rows)
    rows = {
        "indexer": [
            one.chosen or [stemmed(k.text) for k in choose(one.rows, frequencies, len(gold), max(RANKS))]
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
        size={"documents": len(gold)},
        bundle=encoder.bundle,
        protocol=PROTOCOL,
        rows={name: _figures(predictions, gold) for name, predictions in rows.items()},
        main="indexer",
        published=known(path, PUBLISHED) if limit is None else {},  # which is for the whole set
        digits=2,
        columns=[f"f1@{k}" for k in RANKS],
        more={"tagger": tagger},
    )


@dataclass(frozen=True)
class _Read:
    """What is needed of a document to choose keyphrases. Per phrase: its stem, and both parts of its score, 0..1.

    Attributes:
        chosen: Stems that a ranker has chosen; empty where there is none.
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
    gold = read_labelled(path)
    found = [_read(one) for one in _encoded([g.document for g in gold], encoder, tagger, no_progress)]
    wanted = [g.keyphrases for g in gold]
    return max(SHARES, key=lambda beta: score([one.published(beta) for one in found], wanted, CHOSEN_AT).f1)


def _encoded(
    documents: Sequence[Document], encoder: Encoder, tagger: str, progress: Progress
) -> Iterator[tuple[Document, EncodedDocument, Encoder]]:
    done = 0
    with PreparePool(1, tagger) as pool:
        for some, outcomes, _ in pool.prepare_chunks(batches(documents, CHUNK)):
            for document, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, InputError):
                    raise outcome
                yield document, encode_documents(encoder, [document], [outcome])[0], encoder
            done += len(some)
            progress("evaluate", done, len(documents))


def _read(found: tuple[Document, EncodedDocument, Encoder]) -> _Read:
    document, encoded, encoder = found
    one = mined(document, encoded, encoder.bundle, "", max(RANKS), encoder.ranker)
    own = np.flatnonzero(encoded.own > 0)  # not what is only a part of a phrase
    relevance = encoded.relevance[own]
    odds = np.exp((relevance - relevance.max(initial=0)) / TEMPERATURE)
    return _Read(
        [_light(row) for row in one.mentions],
        [stemmed(keyphrase.text) for keyphrase in one.keyphrases] if encoder.ranker else [],
        [stemmed(document.content[m[0].start : m[0].end]) for m in (encoded.phrases[at] for at in own)],
        *(_to_one(part) for part in (encoded.attention[own], odds)),
    )


def _to_one(values: Floats) -> Floats:
    """So that the highest is 1; attention and weights have different units."""
    return values / max(float(values.max(initial=0)), 1e-12)


def _figures(predictions: Sequence[Sequence[str]], gold: Sequence[LabelledDocument]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for k in RANKS:
        found = score(predictions, [g.keyphrases for g in gold], k)
        figures |= {
            f"precision@{k}": Figure(found.precision),
            f"recall@{k}": Figure(found.recall),
            f"f1@{k}": Figure(found.f1),
        }
    return figures


def score(predictions: Sequence[Sequence[str]], gold: Sequence[frozenset[str]], k: int) -> Score:
    """Count the first `k` predictions of each document against its gold keyphrases; both are stems."""
    found = sum(len(set(mine[:k]) & theirs) for mine, theirs in zip(predictions, gold, strict=True))
    return Score(found, sum(len(set(mine[:k])) for mine in predictions), sum(map(len, gold)))


def read_labelled(path: Path, limit: int | None = None) -> list[LabelledDocument]:
    """The documents of a file with their keyphrases.

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
    """Without vector and places, so that a large file fits in memory."""
    return replace(row, vector=np.zeros(0, np.float32), places=())
