"""The user's labelled examples: documents that a search should find, and phrases of one kind.

    {"query": "solar wind", "documents": ["arxiv:1405.3939", "a7"]}
    {"mention": "the cell [[membrane]] is thin", "label": "anatomy"}

Both encoders are measured on the same examples; neither the labels nor the documents are used in training.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from indexer.common import Floats
from indexer.engines.base import Engine
from indexer.errors import InputError
from indexer.pipeline.windows import encode_documents
from indexer.protocols import Encoder
from indexer.records import Document, Prepared
from indexer.text import Preparer, normal_form
from trainer.evaluation.entities import Entity, encode_mentions
from trainer.evaluation.lines import Line, read_usable
from trainer.evaluation.search import scores
from trainer.retrain.snapshot import documents_of

MIN_EXAMPLES = 10  # of a kind; fewer would leave the decision to chance
MARKED = re.compile(r"\[\[(.+?)\]\]")
QUERIES, MENTIONS = "labelled queries, nDCG@10", "labelled mentions, average precision"


@dataclass(frozen=True)
class LabelledQuery:
    """A query and the documents that it should find."""

    where: str  # FILE:LINE
    text: str
    documents: frozenset[str]


@dataclass(frozen=True)
class GroundTruth:
    """The usable examples of a file.

    Attributes:
        documents: Those that queries should find, with their sentences.
        problems: Lines that could not be used, a sentence each.
    """

    queries: tuple[LabelledQuery, ...]
    mentions: tuple[Entity, ...]
    documents: tuple[tuple[Document, Prepared], ...]
    problems: tuple[str, ...]


def fingerprint(path: Path) -> str:
    """Changes with the file.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: this cannot be read ({error.strerror}).") from error


def read_ground_truth(path: Path, engine: Engine, tagger: str) -> GroundTruth:
    """Read a file of examples. Unusable lines are reported, and the rest is used.

    Raises:
        InputError: The file cannot be read.
    """
    examples, problems = read_usable(path, _example)
    queries = [one for one in examples if isinstance(one, LabelledQuery)]
    needed = sorted({id_ for query in queries for id_ in query.documents})
    found = list(documents_of(engine, needed))
    there = {document.id for document in found}
    for query in queries:
        problems += [
            f'{query.where}: "documents": there is no document {id_!r} in the collection.'
            for id_ in sorted(query.documents - there)
        ]
    queries = [LabelledQuery(q.where, q.text, q.documents & there) for q in queries if q.documents & there]
    mentions, alone = _with_another([one for one in examples if isinstance(one, Entity)])
    problems += [one.line.where + f': "label": no other phrase has the label {one.label!r}.' for one in alone]
    for name, some in (("queries", queries), ("mentions", mentions)):
        if 0 < len(some) < MIN_EXAMPLES:
            problems.append(
                f"{path}: {len(some)} {name} are too few, and are left out: {MIN_EXAMPLES} are needed."
            )
            some.clear()
    ready = Preparer(tagger).prepare(found) if queries else []
    pairs = [(d, p) for d, p in zip(found, ready, strict=False) if isinstance(p, Prepared)]
    return GroundTruth(tuple(queries), tuple(mentions), tuple(pairs), tuple(problems))


def _example(line: Line) -> LabelledQuery | Entity:
    if "query" in line.fields:
        documents = line.texts("documents")
        if not documents:
            raise line.wrong('"documents" is empty; it must name what the query should find.')
        return LabelledQuery(line.where, line.text("query"), frozenset(documents))
    if "mention" in line.fields:
        return _mention(line)
    raise line.wrong(f'"query" or "mention" is missing. Found: {", ".join(line.fields) or "nothing"}.')


def _mention(line: Line) -> Entity:
    text = line.text("mention")
    marked = list(MARKED.finditer(text))
    if len(marked) != 1:
        raise line.wrong(f'"mention" must mark one phrase with [[ and ]]; it marks {len(marked)}.')
    start, phrase = marked[0].start(), marked[0][1]
    sentence = MARKED.sub(r"\1", text)
    return Entity(line, sentence, start, start + len(phrase), line.name("label"))


def _with_another(mentions: Sequence[Entity]) -> tuple[list[Entity], list[Entity]]:
    """Split mentions into those whose label another phrase has too, and the others."""
    phrases: dict[str, set[str]] = {}
    for one in mentions:
        phrases.setdefault(one.label, set()).add(_phrase(one))
    shared = {label for label, some in phrases.items() if len(some) > 1}
    return [m for m in mentions if m.label in shared], [m for m in mentions if m.label not in shared]


def _phrase(mention: Entity) -> str:
    return normal_form(mention.sentence[mention.start : mention.end])


# -- metrics ------------------------------------------------------------------------------------------------


def measure_ground_truth(
    encoder: Encoder, truth: GroundTruth, others: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Score of an encoder on each example, 0 to 1, by kind of example.

    Args:
        others: Vectors of further documents, by id: queries should not find them.
    """
    found: dict[str, Floats] = {}
    if truth.queries:
        found[QUERIES] = _queries(encoder, truth, others)
    if truth.mentions:
        found[MENTIONS] = _mentions(encoder, truth.mentions)
    return found


def _queries(encoder: Encoder, truth: GroundTruth, others: Mapping[str, Floats]) -> Floats:
    documents, prepared = zip(*truth.documents, strict=True)
    encoded = encode_documents(encoder, documents, prepared)
    vectors = {**others, **{d.id: one.vector for d, one in zip(documents, encoded, strict=True)}}
    ids = sorted(vectors)
    similarity = (
        encoder.encode_texts([query.text for query in truth.queries]) @ np.stack([vectors[i] for i in ids]).T
    )
    ranked = np.argsort(-similarity, axis=1, kind="stable")[:, :10]
    return np.array(
        [
            scores([ids[at] for at in row], query.documents)["nDCG@10"]
            for row, query in zip(ranked.tolist(), truth.queries, strict=True)
        ],
        np.float32,
    )


def _mentions(encoder: Encoder, mentions: Sequence[Entity]) -> Floats:
    """Average precision of each mention: mentions with its label should be nearer. The same phrase does not count."""
    vectors, _ = encode_mentions(encoder, mentions)
    phrase = np.array([_phrase(one) for one in mentions])
    label = np.array([one.label for one in mentions])
    similarity = vectors @ vectors.T
    found = []
    for row in range(len(mentions)):
        others = phrase != phrase[row]
        order = np.argsort(-similarity[row][others], kind="stable")
        ranks = np.flatnonzero((label[others] == label[row])[order]) + 1
        found.append(float(np.mean(np.arange(1, len(ranks) + 1) / ranks)))
    return np.array(found, np.float32)
