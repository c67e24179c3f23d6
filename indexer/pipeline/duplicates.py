"""Near duplicates: mined documents with nearly the words and the meaning of another one, their original.

    sketch    the documents that have not been compared yet
    pair      those that share hashes of their sketches, with each other and with the originals that are there
    verify    by the vectors, and by the words in their order
    decide    an original for each; a document that is similar to duplicates alone is an original itself

The ledger keeps the sketches, 128 bytes a document: later documents are compared without reading the collection again.
A sketch is recorded last, so a document without one is compared, whatever has happened before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from indexer.catalog import Catalog
from indexer.common import batches
from indexer.engines.base import Engine
from indexer.engines.values import ISO_DATE
from indexer.protocols import Progress
from indexer.records import Document, StoredDocument
from indexer.text.common_words import common_share, words
from indexer.text.shingles import candidate_pairs, sketch

SAME_MEANING = (
    0.75  # cosine of two documents; short ones about different things may have a long signature in common
)
CHUNK = 256  # documents read at once
BLOCK = 20_000  # documents paired at once: bounds the memory
PAIRS_AT_ONCE = 256
UNDATED = "~"  # comes after all dates

Links: TypeAlias = dict[str, dict[str, float]]  # document ► similar documents, with the share of common words


class DuplicateFinder:
    """Keeps `duplicate_of` of a collection's documents up to date."""

    def __init__(self, engine: Engine, catalog: Catalog, collection: str, progress: Progress) -> None:
        self._engine = engine
        self._catalog = catalog
        self._collection = collection
        self._progress = progress
        self._dates: dict[str, str] = {}
        self._runs: dict[str, str] = {}  # that read each document

    def update(self) -> int:
        """Compare the mined documents that have not been compared, and those whose original is gone or has another text.

        Returns:
            How many of them are near duplicates.
        """
        before = self._engine.duplicates()
        ids = self._to_compare(before)
        if not ids:
            return 0
        fresh = self._sketches(ids)
        found = self._compare(fresh, before)
        self._catalog.check_locks()
        self._engine.write_duplicates({id_: of for id_, of in found.items() if of != before.get(id_)})
        self._catalog.set_sketches(self._collection, fresh)
        return sum(found[id_] is not None for id_ in fresh)

    def _compare(self, fresh: Mapping[str, bytes], before: Mapping[str, str]) -> dict[str, str | None]:
        """Find the original of each of these documents, and of others that were original to none.

        Args:
            fresh: Their sketches.
            before: The original of each near duplicate, as it was.
        """
        originals = set(before.values())

        def precedence(id_: str) -> tuple[bool, str, str, str]:
            return id_ not in originals, self._dates.get(id_) or UNDATED, self._runs.get(id_, ""), id_

        left_out = before.keys() | fresh.keys()
        sketched = self._catalog.sketches(self._collection)
        known = {id_: its for id_, its in sketched if id_ not in left_out}
        order = sorted(known, key=precedence) + sorted(fresh, key=precedence)
        links = self._links(order, {**known, **fresh}, len(known))
        self._note_runs(links)
        fixed = originals.intersection(known)
        undecided = (fresh.keys() | links.keys()) - fixed
        return originals_of(sorted(undecided, key=precedence), links, fixed)

    def _to_compare(self, before: Mapping[str, str]) -> list[str]:
        """Ids of the documents without a sketch, and of those whose original is one of these, or was deleted."""
        self._runs = self._catalog.without_sketch(self._collection)
        originals = set(before.values())
        there = self._catalog.ledger(self._collection, sorted(originals)).keys() - self._runs.keys()
        orphans = [id_ for id_, original in before.items() if original not in there]
        self._note_runs(orphans)
        return sorted({*self._runs, *orphans})

    def _note_runs(self, ids: Iterable[str]) -> None:
        """Note which runs read these documents: where dates decide nothing, the earlier run does."""
        unknown = sorted(set(ids).difference(self._runs))
        self._runs |= {
            id_: entry.run for id_, entry in self._catalog.ledger(self._collection, unknown).items()
        }

    def _sketches(self, ids: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for some in batches(ids, CHUNK):
            documents = [stored.document for stored in self._engine.documents(some)]
            found |= {document.id: sketch(document.content) for document in documents}
            self._dates |= {document.id: first_date(document) for document in documents}
            self._progress("duplicates", len(found), len(ids))
        return found

    def _links(self, ids: Sequence[str], sketched: Mapping[str, bytes], known: int) -> Links:
        """The pairs of near duplicates, except those of two known documents, which come first."""
        links: Links = {}
        for start in range(known, len(ids), BLOCK):
            pairs = candidate_pairs([sketched[id_] for id_ in ids[: start + BLOCK]], start)
            for some in batches(pairs.tolist(), PAIRS_AT_ONCE):
                for first, second, share in self._verified([(ids[a], ids[b]) for a, b in some]):
                    links.setdefault(first, {})[second] = share
                    links.setdefault(second, {})[first] = share
        return links

    def _verified(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str, float]]:
        ids = sorted({id_ for pair in pairs for id_ in pair})
        stored = {one.document.id: one for one in self._engine.documents(ids, vectors=True)}
        texts = {id_: words(one.document.content) for id_, one in stored.items()}
        for first, second in pairs:
            if first not in stored or second not in stored or not are_near(stored[first], stored[second]):
                continue
            if share := common_share(texts[first], texts[second]):
                self._dates |= {id_: first_date(stored[id_].document) for id_ in (first, second)}
                yield first, second, share


def are_near(one: StoredDocument, other: StoredDocument) -> bool:
    """Whether the vectors of two documents are near enough; not where one has none."""
    if one.vector is None or other.vector is None:
        return False
    return float(one.vector @ other.vector) >= SAME_MEANING


def first_date(document: Document) -> str:
    """Return the earliest date among a document's own fields, as ISO 8601; empty without one."""
    values = (
        item for value in document.meta.values() for item in (value if isinstance(value, list) else [value])
    )
    return min((item for item in values if isinstance(item, str) and ISO_DATE.fullmatch(item)), default="")


def originals_of(
    order: Iterable[str], links: Mapping[str, Mapping[str, float]], fixed: Set[str] = frozenset()
) -> dict[str, str | None]:
    """Give each document the original that it is most similar to; one that is similar to none is an original.

    Args:
        order: The documents, the likelier originals first.
        links: Document ► similar documents, with their similarity.
        fixed: Further originals, which stay what they are.

    Returns:
        Document ► original, or None for an original.
    """
    originals = set(fixed)
    found: dict[str, str | None] = {}
    for id_ in order:
        near = {other: share for other, share in links.get(id_, {}).items() if other in originals}
        found[id_] = min(near, key=lambda other: (-near[other], other)) if near else None
        if not near:
            originals.add(id_)
    return found


def without_duplicates(engine: Engine, ids: Collection[str]) -> list[str]:
    """Return these ids without those of near duplicates, in their order."""
    duplicates = engine.duplicates()
    return [id_ for id_ in ids if id_ not in duplicates]
