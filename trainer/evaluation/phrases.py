"""`indexer evaluate phrases`: do vectors of phrases agree with human judgements? (Phrase-BERT, EMNLP 2021, section 4.)

Three kinds of files, distinguished by their first line: pairs with a score, pairs with a label, and queries with choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from indexer.common import Floats, batches
from indexer.errors import InputError
from indexer.protocols import Encoder, Progress, no_progress
from trainer.evaluation.classifier import PARTS, Pairs, as_published, by_classifier, by_threshold
from trainer.evaluation.lines import Line, read_lines
from trainer.evaluation.published import published_for
from trainer.evaluation.table import Figure, Figures, Table, repeated

CHUNK = 2_048  # phrases encoded at once

SCORES = (
    "correlation of the cosine of two phrases, each encoded alone, with the human score; nothing was trained"
)
CHOICES = "the choice with the highest cosine to the query, each encoded alone; nothing was trained"
LABELS = (
    "accuracy on test; trained on train, chosen on dev; 'as published' is one hidden layer of 256 on both vectors, "
    "'classifier' takes their difference and product too, 'threshold' only their cosine"
)
STRICT = "; acc: no phrase is in two parts (split_strict), acc_loose: phrases are in several parts (split)"

Found = tuple[str, dict[str, Figures], Sequence[int]]  # protocol, rows, the seeds used


@dataclass(frozen=True)
class Scored:
    """Two phrases and a human score of their similarity."""

    a: str
    b: str
    score: float

    @property
    def phrases(self) -> tuple[str, ...]:
        return (self.a, self.b)


@dataclass(frozen=True)
class LabelledPair:
    """Two phrases, 1 for paraphrases and 0 for others, and the part of each split that they are in."""

    a: str
    b: str
    label: int
    parts: Mapping[str, str]

    @property
    def phrases(self) -> tuple[str, ...]:
        return (self.a, self.b)


@dataclass(frozen=True)
class Question:
    """A phrase, other phrases, and the nearest of them."""

    query: str
    choices: tuple[str, ...]
    answer: str

    @property
    def phrases(self) -> tuple[str, ...]:
        return (self.query, *self.choices)


Item = Scored | LabelledPair | Question
K = TypeVar("K", Scored, LabelledPair, Question)


class PhraseVectors:
    """The phrases of a file, each encoded once."""

    def __init__(self, encoder: Encoder, phrases: Sequence[str], progress: Progress = no_progress) -> None:
        distinct = list(dict.fromkeys(phrases))
        self._rows = {text: row for row, text in enumerate(distinct)}
        parts = []
        for some in batches(distinct, CHUNK):
            parts.append(encoder.encode_phrases(some))
            progress("evaluate", sum(map(len, parts)), len(distinct))
        self._all = np.concatenate(parts)

    def of(self, phrases: Sequence[str]) -> Floats:
        """float32 [n, dims], unit length."""
        return self._all[[self._rows[text] for text in phrases]]


def evaluate_phrases(
    path: Path,
    *,
    encoder: Encoder,
    seeds: Sequence[int] = range(5),
    limit: int | None = None,
    published: str = "",
    progress: Progress = no_progress,
) -> Table:
    """Measure vectors of phrases, by the kind of the lines of a file.

    Args:
        path: JSON Lines (.gz or not) with ``a``, ``b`` and ``score``; or ``a``, ``b``, ``label`` (0 or 1) and
            ``split`` (train, dev or test), maybe ``split_strict``; or ``query``, ``choices`` and ``answer``.
        seeds: Of the classifiers; the other kinds depend on no seed.
        limit: Number of lines of a sample.
        published: Name of the set in `trainer.evaluation.published`; empty for no published rows.

    Raises:
        InputError: A line is none of these, or not of the kind of the first; or there are too few to measure.
    """
    figures = published_for("phrases", published, limit=limit)
    items = read_lines(path, _Reader(), limit)
    vectors = PhraseVectors(encoder, [text for item in items for text in item.phrases], progress)
    if isinstance(items[0], Scored):
        noun, found = "pairs", _scored(path, _only(Scored, items), vectors)
    elif isinstance(items[0], LabelledPair):
        noun, found = "pairs", _labelled(path, _only(LabelledPair, items), vectors, seeds)
    else:
        noun, found = "questions", _answered(_only(Question, items), vectors)
    protocol, rows, used = found
    return Table(
        task="phrases",
        data=str(path),
        size={noun: len(items)},
        bundle=encoder.bundle,
        protocol=protocol,
        seeds=used,
        rows=rows,
        main=next(iter(rows)),
        published=figures,
        published_set=published,
    )


# -- the three kinds ----------------------------------------------------------------------------------------


def _scored(path: Path, pairs: Sequence[Scored], vectors: PhraseVectors) -> Found:
    from scipy.stats import pearsonr, spearmanr

    cosines = np.sum(vectors.of([p.a for p in pairs]) * vectors.of([p.b for p in pairs]), axis=1)
    scores = np.array([p.score for p in pairs])
    if len(set(scores)) < 2 or len(set(cosines)) < 2:
        raise InputError(f"{path}: a correlation needs at least two pairs with different scores.")
    figures = {
        "pearson": Figure(float(pearsonr(cosines.astype(np.float64), scores).statistic)),
        "spearman": Figure(float(spearmanr(cosines, scores).statistic)),
    }
    return SCORES, {"cosine": figures}, ()


def _labelled(
    path: Path, pairs: Sequence[LabelledPair], vectors: PhraseVectors, seeds: Sequence[int]
) -> Found:
    splits = {"acc": "split_strict", "acc_loose": "split"}
    if "split_strict" not in pairs[0].parts:
        splits = {"acc": "split"}
    rows: dict[str, dict[str, Figure]] = {"classifier": {}, "as published": {}, "threshold": {}}
    for metric, split in splits.items():
        parts = {
            name: _vectors([pair for pair in pairs if pair.parts[split] == name], vectors) for name in PARTS
        }
        for name, part in parts.items():
            if len(set(part.label)) < 2:
                raise InputError(f"{path}: \"{split}\" must give '{name}' pairs of both labels, 0 and 1.")
        with threadpool_limits(1, user_api="blas"):  # the matrices are small, and waiting threads spin
            rows["classifier"][metric] = repeated(by_classifier(parts, seeds))
            rows["as published"][metric] = repeated(as_published(parts, seeds))
        rows["threshold"][metric] = Figure(by_threshold(parts))
    return LABELS + (STRICT if len(splits) > 1 else ""), {**rows}, seeds


def _answered(questions: Sequence[Question], vectors: PhraseVectors) -> Found:
    right = [
        question.choices[int(np.argmax(vectors.of(question.choices) @ vectors.of([question.query])[0]))]
        == question.answer
        for question in questions
    ]
    return CHOICES, {"nearest": {"acc": Figure(float(np.mean(right)))}}, ()


def _vectors(pairs: Sequence[LabelledPair], vectors: PhraseVectors) -> Pairs:
    a, b = vectors.of([pair.a for pair in pairs]), vectors.of([pair.b for pair in pairs])
    return Pairs(a, b, np.array([pair.label for pair in pairs], np.intp))


# -- reading ------------------------------------------------------------------------------------------------


class _Reader:
    """Reads lines of one kind, which the first line decides."""

    first: Item | None = None

    def __call__(self, line: Line) -> Item:
        item = _item(line)
        self.first = first = self.first or item
        if type(item) is not type(first):
            raise line.wrong("this is another kind of line than the first.")
        if (
            isinstance(item, LabelledPair)
            and isinstance(first, LabelledPair)
            and item.parts.keys() != first.parts.keys()
        ):
            raise line.wrong('"split_strict" must be in every line or in none.')
        return item


def _item(line: Line) -> Item:
    if "query" in line.fields:
        return _question(line)
    if "score" in line.fields and "a" in line.fields:
        return Scored(line.text("a"), line.text("b"), line.number("score"))
    if "label" in line.fields and "a" in line.fields:
        return _pair(line)
    raise line.wrong(
        'expected "a", "b" and "score"; or "a", "b", "label" and "split"; or "query", "choices" and "answer". '
        f"Found: {', '.join(line.fields) or 'nothing'}."
    )


def _question(line: Line) -> Question:
    choices, answer = line.texts("choices"), line.text("answer")
    if answer not in choices or len(choices) < 2:
        raise line.wrong(f'"choices" must be at least two, and "answer" one of them; it is \'{answer}\'.')
    return Question(line.text("query"), tuple(choices), answer)


def _pair(line: Line) -> LabelledPair:
    label = line.integer("label")
    if label not in (0, 1):
        raise line.wrong(f'"label" must be 0 or 1, not {label}.')
    parts = {"split": line.text("split")}
    if "split_strict" in line.fields:
        parts["split_strict"] = line.text("split_strict")
    for name, part in parts.items():
        if part not in PARTS:
            raise line.wrong(f"\"{name}\" must be one of {', '.join(PARTS)}, not '{part}'.")
    return LabelledPair(line.text("a"), line.text("b"), label, parts)


def _only(kind: type[K], items: Sequence[Item]) -> list[K]:
    return [item for item in items if isinstance(item, kind)]
