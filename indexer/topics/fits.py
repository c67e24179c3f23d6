"""Fits of topics as the catalog keeps them: arrays, and the permanent ids of their topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from indexer.catalog import Catalog
from indexer.catalog.corrections import Correction
from indexer.catalog.entries import Fit, LineageEntry
from indexer.catalog.vocabulary import Term
from indexer.keyphrases.frequencies import DocumentFrequencies
from indexer.records import Document, topic_path
from indexer.topics.models.base import TopicFit
from indexer.topics.models.registry import DEFAULT, TopicRequest
from indexer.topics.vocabulary import Seeds

_LINEAGE = (
    "run",
    "old_id",
    "new_id",
    "kind",
    "score",
)  # kept of an entry; the rest is known when it is recorded
OUTDATED = "outdated"  # key of a fit's info: its texts are gone


@dataclass(frozen=True)
class Act:
    """What a user has done to the topics of another fit."""

    kind: str  # of the run: merge, split, move, birth, retire
    topics: tuple[str, ...]  # that it was about, as the user named them
    before: str  # the run of the fit that it changed
    renamed: Mapping[
        str, tuple[str, tuple[str, ...]]
    ]  # topics that got another name ► their label and phrases before


@dataclass(frozen=True)
class NamedFit:
    """A fit with the permanent ids of its topics, in the order of its centroids."""

    run: str
    fit: TopicFit
    ids: tuple[str, ...]
    requested: int | None  # number of topics requested
    lineage: tuple[LineageEntry, ...] = ()
    model: str = DEFAULT
    fitted: str = ""  # the run whose documents the arrays were fitted to, where it is another one
    outdated: bool = False  # nearly all texts were replaced since
    frequencies: DocumentFrequencies = field(default_factory=DocumentFrequencies)  # keyphrases depend on them
    documents: int = 0  # of the collection, when the arrays were fitted; 0 where an earlier version did it
    parents: Mapping[str, str] = field(default_factory=dict)  # topic or parent ► the parent above it
    levels: str = ""  # requested; see `indexer.topics.levels.Levels`
    terms: tuple[Term, ...] = ()  # of the user's vocabulary, when it was fitted
    seeds: Seeds | None = None  # where those began that have no narrower ones
    strict: bool = False  # the terms are the only topics
    placed: Mapping[str, str] = field(default_factory=dict)  # by a user: topic ► its parent, or "" at the top
    corrections: tuple[Correction, ...] = ()  # by a user, of topics of this fit
    shaped: bool = False  # a user has split topics or added some: further fits keep them
    corrected: int = 0  # how often the corrections had been changed, when it was fitted
    act: Act | None = None  # made this fit of another one, which is kept for the case that a user undoes it

    def answers(self, request: TopicRequest) -> bool:
        """Whether a request for topics is met without another fit."""
        return (
            request.model in ("", self.model)
            and request.number in (None, self.requested, len(self.ids))
            and str(request.levels) in ("", self.levels)
        )

    @cached_property
    def corrections_of(self) -> dict[str, dict[str, bool]]:
        """Document ► topic ► whether a user says that the document has it."""
        found: dict[str, dict[str, bool]] = {}
        for one in self.corrections:
            found.setdefault(one.document, {})[one.topic] = one.belongs
        return found

    @cached_property
    def _fields(self) -> dict[str, dict[str, str]]:
        """Field of documents ► value, in small letters ► topic."""
        found: dict[str, dict[str, str]] = {}
        for term in self.terms:
            if term.field and term.topic in self.ids:
                found.setdefault(term.field, {})[term.label.casefold()] = term.topic
        return found

    def said_of(self, document: Document) -> dict[str, bool]:
        """Topic ► whether the document has it, as its own fields or, which counts more, a user says."""
        found: dict[str, bool] = {}
        for name, topics in self._fields.items():
            own = document.meta.get(name)
            values = own if isinstance(own, list | tuple) else [own]
            found |= {topics[v]: True for value in values if (v := str(value).casefold()) in topics}
        return found | self.corrections_of.get(document.id, {})

    def groups(self) -> dict[str, set[str]]:
        """Each parent with the topics of documents that are below it, at any depth."""
        found: dict[str, set[str]] = {}
        for topic in self.ids:
            for above in topic_path(topic, self.parents)[:-1]:
                found.setdefault(above, set()).add(topic)
        return found


def live_fit(catalog: Catalog, collection: str) -> NamedFit | None:
    """The fit that assigns topics now, or None."""
    found = catalog.live_fit(collection)
    return _named(found) if found else None


def last_act(catalog: Catalog, collection: str) -> Act | None:
    """What a user has done last to the topics and can undo: not once they were fitted again."""
    fits = catalog.fits(collection)
    act = next((_act(entry.info) for entry in fits if entry.live), None)
    return act if act and act.before in {entry.run for entry in fits} else None


def saved_fit(catalog: Catalog, collection: str, run: str) -> NamedFit:
    """The fit that a run made, live or not.

    Raises:
        NotFound: There is none.
    """
    return _named(catalog.fit(collection, run))


def save_fit(catalog: Catalog, collection: str, named: NamedFit, *, sample: str, documents: int) -> None:
    """Keep a fit in the catalog; it does not become the live one.

    Args:
        sample: Fingerprint of the sample that it was fitted to; see `pending_fit`.
        documents: In the sample.
    """
    silhouette = named.fit.silhouette
    info = {
        "ids": list(named.ids),
        "asked": named.requested,
        "parents": dict(named.parents),
        "levels": named.levels,
        "strict": named.strict,
        "placed": dict(named.placed),
        "corrections": [asdict(one) for one in named.corrections],
        "corrected": named.corrected,
        "shaped": named.shaped,
        "act": asdict(named.act) if named.act else None,
        "terms": [asdict(term) for term in named.terms],
        "seeded": list(named.seeds.topics) if named.seeds else [],
        "finder": named.model,
        "fitted": named.fitted or named.run,
        "sample": sample,
        "documents": documents,
        "collection": named.documents,
        "silhouette": silhouette if np.isfinite(silhouette) else None,
        "lineage": [{name: getattr(entry, name) for name in _LINEAGE} for entry in named.lineage],
    }
    arrays = {**named.fit.arrays(), **named.frequencies.arrays()}
    if named.seeds:
        arrays |= {"term_vectors": named.seeds.vectors, "term_middle": named.seeds.middle}
    catalog.save_fit(collection, named.run, "", arrays, info)


def pending_fit(
    catalog: Catalog,
    collection: str,
    sample: str,
    request: TopicRequest,
    ancestors: set[str],
    vocabulary: tuple[Sequence[Term], bool],
    corrected: int,
) -> NamedFit | None:
    """The fit of a killed run, of the same sample and ancestors and not installed: its topics have their ids already."""
    installed = {entry.run for entry in catalog.all_lineage(collection)}
    for entry in catalog.fits(collection):
        if entry.run in installed or entry.info.get("sample") != sample:
            continue
        named = _named(catalog.fit(collection, entry.run))
        asked = request.number, request.model or DEFAULT, str(request.levels)
        same = (named.requested, named.model, named.levels) == asked
        if (
            same
            and (named.terms, named.strict, named.corrected)
            == (tuple(vocabulary[0]), vocabulary[1], corrected)
            and {e.old_id for e in named.lineage if e.old_id} == ancestors
        ):
            return named
    return None


def _act(info: Mapping[str, Any]) -> Act | None:
    found = info.get("act")
    if not found:
        return None
    renamed = {id_: (label, tuple(phrases)) for id_, (label, phrases) in found["renamed"].items()}
    return Act(found["kind"], tuple(found["topics"]), found["before"], renamed)


def _seeds(found: Fit) -> Seeds | None:
    if "term_vectors" not in found.arrays:
        return None
    arrays = found.arrays
    return Seeds(tuple(found.info["seeded"]), arrays["term_vectors"], arrays["term_middle"])


def _named(found: Fit) -> NamedFit:
    info = found.info
    return NamedFit(
        found.run,
        TopicFit.from_arrays(found.arrays),
        tuple(info["ids"]),
        info.get("asked"),
        tuple(LineageEntry(**values) for values in info.get("lineage", ())),
        info.get("finder", DEFAULT),
        str(info.get("fitted", "")),
        bool(info.get(OUTDATED)),
        DocumentFrequencies.from_arrays(found.arrays),
        int(info.get("collection", 0)),
        info.get("parents", {}),
        info.get("levels", ""),
        tuple(Term(**{**term, "synonyms": tuple(term["synonyms"])}) for term in info.get("terms", ())),
        _seeds(found),
        bool(info.get("strict")),
        info.get("placed", {}),
        tuple(Correction(**one) for one in info.get("corrections", ())),
        bool(info.get("shaped")),
        int(info.get("corrected", 0)),
        _act(info),
    )
