"""The user's own vocabulary as topics: a list of terms is read, and each becomes a direction of the fit.

A term begins as the vector of its names and definition. Then, as in a mixture of von Mises-Fisher distributions, it
moves to the mean of the documents that are nearest to it, held back by where it began: documents say better than two
words what a subject is about. Mined topics that a term is near to are covered by it; the others stay beside the terms.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from indexer.catalog.vocabulary import MAX_TERMS, Term
from indexer.common import Floats, unit
from indexer.errors import InputError
from indexer.topics.corrections import learned
from indexer.topics.models.base import Sample, TopicFit, lowest, mapped_unit, means, median_of_each, mixed

COVERED = 0.5  # cosine of a term and a mined topic from which on the term covers it
SHARPNESS = 40.0  # of the shares of a document, per cosine; 10 to 40 are equal within noise
HELD = 1.0  # weight of where a term began, against the mean of its documents
STEPS = 20
MAX_BYTES = 5 << 20  # of a file
MAX_NAME = 200  # characters of a label or synonym
MAX_DEFINITION = 2_000
COLUMNS = ("label", "synonyms", "broader", "definition", "key")
SEPARATOR = ";"  # between synonyms


# -- reading -------------------------------------------------------------------------------------------------


def read_vocabulary(path: Path) -> list[Term]:
    """Read a CSV file with a header: ``label``, and by choice ``synonyms`` (separated by ;), ``broader``, ``definition``
    and ``key``. `broader` is the key or the label of another term.

    Raises:
        InputError: It cannot be read, is too large, or a line is wrong.
    """
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"{path}: a vocabulary has at most {MAX_BYTES >> 20} MB.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = [name.strip().casefold() for name in reader.fieldnames or ()]
            if "label" not in columns or set(columns) - set(COLUMNS):
                raise InputError(
                    f"{path}:1: the columns must be {', '.join(COLUMNS)}; only label is required."
                )
            reader.fieldnames = columns
            rows = [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}.") from error
    if len(rows) > MAX_TERMS:
        raise InputError(f"{path}: {len(rows):,} terms; a vocabulary has at most {MAX_TERMS:,}.")
    terms = [_term(row, f"{path}:{line}") for line, row in rows]
    return list(_linked(terms, [f"{path}:{line}" for line, _ in rows]))


def is_label(text: str) -> bool:
    """Whether a text can be the name of a term."""
    return len(text) <= MAX_NAME and any(c.isalnum() for c in text)


def _term(row: dict[str, str], where: str) -> Term:
    if None in row or None in row.values():
        raise InputError(f"{where}: the line has more or fewer columns than the header.")
    label = " ".join(row["label"].split())
    synonyms = tuple(
        " ".join(part.split()) for part in row.get("synonyms", "").split(SEPARATOR) if part.strip()
    )
    if not is_label(label[:MAX_NAME]):
        raise InputError(f"{where}: the label is empty.")
    if longest := max((name for name in (label, *synonyms)), key=len)[MAX_NAME:]:
        raise InputError(
            f"{where}: a name has {MAX_NAME + len(longest)} characters; at most {MAX_NAME} are read."
        )
    definition = " ".join(row.get("definition", "").split())
    if len(definition) > MAX_DEFINITION:
        raise InputError(f"{where}: the definition has more than {MAX_DEFINITION:,} characters.")
    return Term(
        row.get("key", "").strip() or label, label, synonyms, row.get("broader", "").strip(), definition
    )


def _linked(terms: Sequence[Term], where: Sequence[str]) -> Iterator[Term]:
    """The terms with `broader` as a key; no two have the same key or label, and none is above itself."""
    keys = {term.key: term for term in terms}
    labels = {term.label.casefold(): term.key for term in terms}
    if len(labels) < len(terms) or len(keys) < len(terms):
        seen: set[str] = set()
        for term, at in zip(terms, where, strict=True):
            if {term.key, term.label.casefold()} & seen:
                raise InputError(f"{at}: '{term.label}' is in the vocabulary twice.")
            seen |= {term.key, term.label.casefold()}
    above = {}
    for term, at in zip(terms, where, strict=True):
        key = term.broader if term.broader in keys else labels.get(term.broader.casefold(), "")
        if term.broader and not key:
            raise InputError(f"{at}: the broader term '{term.broader}' is not in the file.")
        above[term.key] = key
    for term, at in zip(terms, where, strict=True):
        path = [term.key]
        while above[path[-1]]:
            path.append(above[path[-1]])
            if path.count(path[-1]) > 1:
                raise InputError(f"{at}: '{term.label}' is above itself.")
        yield replace(term, broader=above[term.key])


# -- fitting -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seeds:
    """Where the terms begin.

    Attributes:
        topics: Ids of their topics.
        vectors: float32 [n, dims], of their names and definitions.
        middle: float32 [dims], the mean of the phrases of the collection, encoded as texts like the terms: what all short
            texts have in common says nothing about a subject.
    """

    topics: tuple[str, ...]
    vectors: Floats
    middle: Floats


def broader_groups(terms: Sequence[Term]) -> dict[str, set[str]]:
    """The topic of each term that has narrower ones ► the topics of those that have none, at any depth below it."""
    by_key = {term.key: term for term in terms}
    broader = {term.broader for term in terms}
    found: dict[str, set[str]] = {}
    for term in terms:
        above = by_key.get(term.broader)
        while above and term.key not in broader:
            found.setdefault(above.topic, set()).add(term.topic)
            above = by_key.get(above.broader)
    return found


def with_terms(
    fit: TopicFit,
    sample: Sample,
    seeds: Seeds,
    *,
    strict: bool = False,
    examples: Mapping[str, Floats] = MappingProxyType({}),
) -> TopicFit:
    """The fit with a direction for each term before those of the mined topics that no term covers.

    Args:
        strict: There are no others: all documents belong to terms.
        examples: float32 [m, dims] by topic: documents that a user has given to a term.
    """
    documents = mapped_unit(sample.documents, fit.mean, fit.projection)
    begun = mapped_unit(seeds.vectors - seeds.middle + fit.mean, fit.mean, fit.projection)
    begun = learned(begun, [examples.get(topic) for topic in seeds.topics], fit)
    covered: NDArray[np.bool_] = (begun @ fit.mapped.T).max(axis=0) >= (-1 if strict else COVERED)
    others = fit.mapped[~covered]
    mapped = np.concatenate([_moved(documents, begun, others), others]).astype(np.float32)
    points = mapped_unit(
        mixed(sample.vectors, sample.documents[sample.document], fit.share), fit.mean, fit.projection
    )
    nearest = points @ mapped.T
    centroids = means(sample.vectors, sample.weights, np.argmax(nearest, axis=1), len(mapped))
    empty = ~centroids.any(axis=1)
    centroids[empty] = np.concatenate([seeds.vectors, fit.centroids[~covered]])[empty]
    return replace(
        fit,
        mapped=mapped,
        centroids=centroids,
        threshold=lowest(median_of_each(nearest.max(axis=1), sample.document)),
        document_threshold=lowest((documents @ mapped.T).max(axis=1)),
    )


def _moved(documents: Floats, begun: Floats, others: Floats) -> Floats:
    """Terms moved to the documents that are nearest to them: float32 [n, p].

    Args:
        others: Directions that compete for documents, and stay.
    """
    terms = begun
    for _ in range(STEPS):
        cosines = SHARPNESS * (documents @ np.concatenate([terms, others]).T)
        shares = np.exp(cosines - cosines.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        terms = unit(unit(shares[:, : len(begun)].T @ documents) + HELD * begun)
    return terms
