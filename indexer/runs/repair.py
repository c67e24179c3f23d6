"""Check whether everything is as it was written, and have written again what is not.

damaged     vectors and mentions that differ from their checksums, or are missing: mined again
unmined     documents that the engine lacks the mined data of: mined again
unknown     documents and topics that the catalog lacks, when it was lost or is an old copy: added, and mined
altered     texts that differ from what was read, and lost documents: their sources must be indexed again
topics      a fit that differs from its checksum: fitted again, with the ids of the present topics
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from indexer.catalog import Catalog
from indexer.catalog.entries import LedgerEntry, topic_number
from indexer.common import batches
from indexer.engines.base import Damage, Engine
from indexer.engines.registry import open_generations
from indexer.errors import CatalogError
from indexer.pipeline.finalize import topic_entries
from indexer.pipeline.next_generation import complete
from indexer.readers.source import place_of
from indexer.records import Document, StoredDocument
from indexer.settings import Settings

AT_ONCE = 1_000  # documents


@dataclass
class Differences:
    """How the engine differs from the ledger; ids of documents, with the source of those that must be read again."""

    lost: dict[str, str] = field(default_factory=dict)
    altered: dict[str, str] = field(default_factory=dict)
    unmined: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def sources(self) -> list[str]:
        """Files to index again, sorted."""
        return sorted({place_of(source)[0] for source in (*self.lost.values(), *self.altered.values())})

    @property
    def found(self) -> list[str]:
        """A sentence for each kind of difference."""
        kinds = {
            "documents are not in the engine": self.lost,
            "documents have another text than was read": self.altered,
            "documents lack what was mined from them": self.unmined,
            "documents are not in the catalog": self.unknown,
        }
        return [f"{len(ids):,} {what}: {_named(list(ids))}" for what, ids in kinds.items() if ids]


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")


def compare(engine: Engine, catalog: Catalog, collection: str) -> Differences:
    """Compare every document of the engine with the ledger. Meaningful only while nothing writes."""
    found = Differences()
    there = 0
    for ids in batches((id_ for id_, _ in catalog.contents(collection)), AT_ONCE):
        entries = catalog.ledger(collection, ids)
        stored = {one.document.id: one for one in engine.documents(ids)}
        there += len(stored)
        for id_, entry in entries.items():
            _sort_in(found, entry, stored.get(id_))
    if engine.info().documents > there:
        for ids in batches(engine.document_ids(), AT_ONCE):
            found.unknown += set(ids).difference(catalog.ledger(collection, ids))
        found.unknown.sort()
    return found


def _sort_in(found: Differences, entry: LedgerEntry, stored: StoredDocument | None) -> None:
    if stored is None:
        found.lost[entry.id] = entry.source
    elif stored.document.content_hash != entry.content_hash:
        found.altered[entry.id] = entry.source
    elif entry.state in ("mined", "done") and not stored.bundle:
        found.unmined.append(entry.id)


def damage_of_fit(catalog: Catalog, collection: str) -> str:
    """Return what is wrong with the live fit of topics; empty when it is sound, or there is none."""
    try:
        catalog.live_fit(collection)
    except CatalogError as error:
        return str(error)
    return ""


def settle(settings: Settings, collections: Sequence[str]) -> dict[str, int]:
    """Bring the catalog of a restored home in line with its collections.

    Documents that an engine lacks were deleted while the backup was written.

    Returns:
        How many documents of each collection wait to be mined.
    """
    waiting = {}
    with Catalog.open(settings.database) as catalog:
        catalog.end_everything()
        for name in collections:
            with closing(open_generations(settings.model_copy(update={"collection": name}))) as generations:
                complete(generations, catalog, name)
                if live := generations.live():
                    with closing(generations.open(live)) as engine:
                        _mark(engine, catalog, name, compare(engine, catalog, name))
                        _add_topics(engine, catalog, name)
            waiting[name] = catalog.count(name)["stored"]
    return waiting


@dataclass
class Repaired:
    """What a repair has found and done.

    Attributes:
        found: A sentence for each thing that was wrong.
        mined: Documents that were mined again.
        sources: Files that must be indexed again: texts of theirs are lost or altered.
    """

    found: list[str] = field(default_factory=list)
    mined: int = 0
    sources: list[str] = field(default_factory=list)


@contextmanager
def repairing(engine: Engine, catalog: Catalog, collection: str, repaired: Repaired) -> Iterator[None]:
    """Under the lock of the collection: find all differences, and mark what the run has to write again.

    Killed at any moment, the next repair finds what is left.
    """
    damage = engine.damage(deep=True)
    if damage != Damage():
        catalog.mark(collection, damage.documents, state="stored")
        engine.set_aside(damage)
    differences = compare(engine, catalog, collection)
    _mark(engine, catalog, collection, differences)
    fit = damage_of_fit(catalog, collection)
    if fit:
        catalog.remove_live_fit(collection)
    _add_topics(engine, catalog, collection)
    repaired.found += [*damage.found, *differences.found, *([fit] if fit else [])]
    repaired.sources += differences.sources
    yield


def _mark(engine: Engine, catalog: Catalog, collection: str, differences: Differences) -> None:
    catalog.forget(collection, differences.lost)
    catalog.mark(collection, differences.unmined, state="stored")
    for ids in batches(differences.altered, AT_ONCE):
        documents = _documents(engine, ids)
        engine.store(documents)  # with the hash of its text, so that the original replaces it when it is read
        _record(catalog, collection, documents)
    for ids in batches(differences.unknown, AT_ONCE):
        _record(catalog, collection, _documents(engine, ids))


def _add_topics(engine: Engine, catalog: Catalog, collection: str) -> None:
    """Add topics that the catalog lacks, so that they keep their ids, and no new one gets such an id."""
    topics = engine.topics()
    known = {topic.id for topic in catalog.topics(collection, state=None)}
    if known.issuperset(topic.id for topic in topics):
        return
    catalog.save_topics(collection, topic_entries(catalog, collection, topics, run=""))
    highest = max(topic_number(topic.id) for topic in topics)
    number = catalog.next_topic_number(collection)
    if number < highest:
        catalog.next_topic_number(collection, highest - number)


def _documents(engine: Engine, ids: Sequence[str]) -> list[Document]:
    return [stored.document for stored in engine.documents(ids)]


def _record(catalog: Catalog, collection: str, documents: Sequence[Document]) -> None:
    catalog.record(
        collection,
        [
            LedgerEntry(document.id, document.content_hash, "stored", source=document.source)
            for document in documents
        ],
    )
