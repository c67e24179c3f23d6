"""Reindex: copy the live generation into a new one, whose indices have the present form; nothing is mined.

    copy      texts, and what was mined from them, while the live generation is searched and written
    finish    under the lock of the collection: later changes, phrases, topics; then the switch

For a collection of an earlier version in Elasticsearch, whose mappings cannot be changed in place. Killed before the
switch, the live generation is what it was, and the next call resumes. The old generation is kept until it is removed.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import dataclass

from indexer.catalog import Catalog
from indexer.catalog.generations import ledger_of
from indexer.common import batches
from indexer.engines.base import Engine
from indexer.engines.generations import Generations
from indexer.errors import CatalogError, NotFound
from indexer.pipeline.next_generation import bring_up, building, complete, remove_generation
from indexer.pipeline.phrase_rows import VECTORS_PER_PHRASE, is_kept, phrase_row
from indexer.pipeline.topic_fit import CHUNK, mined_documents
from indexer.protocols import Progress, no_progress
from indexer.records import MentionRow, MinedDocument, StoredDocument
from indexer.topics.fits import live_fit

OWNER = "indexer generations reindex"  # of the locks
PHRASES = 1_000  # copied at once


@dataclass(frozen=True)
class ReindexReport:
    """What a reindex did: the generation that was live, the one that is, and its documents."""

    replaced: int
    generation: int
    documents: int
    seconds: float


class Reindex:
    """Copies the live generation of one collection, and makes the copy the live one."""

    def __init__(
        self, generations: Generations, catalog: Catalog, collection: str, progress: Progress = no_progress
    ) -> None:
        self._generations = generations
        self._catalog = catalog
        self._collection = collection
        self._progress = progress

    def run(self) -> ReindexReport:
        """Copy everything and switch.

        Raises:
            NotFound: There is no collection.
            CatalogError: A retrain or a run is under way.
        """
        start = time.perf_counter()
        catalog, name = self._catalog, self._collection
        with building(catalog, name, OWNER), ExitStack() as opened:
            live = self._generations.live()
            if not live:
                raise NotFound(f"There is no collection '{name}'.", hint="Make one: indexer index SOURCE")
            source = opened.enter_context(closing(self._generations.open(live)))
            number, target = self._begun(live, source.dims)
            opened.enter_context(closing(target))
            for engine in (source, target):
                opened.enter_context(engine.retrying())
            self._copy(source, target, number)
            with catalog.lock(name, OWNER) as lock:
                complete(self._generations, catalog, name)
                self._check_no_other_work()
                run = catalog.start_run(name, "reindex", {"from": live, "to": number}, lock=lock)
                self._copy(source, target, number)
                self._copy_phrases(source, target)
                target.write_topics(source.topics())
                fit = live_fit(catalog, name)
                catalog.check_locks()
                catalog.plan_switch(name, live, number, fit=fit.run if fit else "", run=run)
                self._generations.switch(number)
                complete(self._generations, catalog, name)
                report = ReindexReport(
                    live, number, sum(catalog.count(name).values()), time.perf_counter() - start
                )
                catalog.finish_run(run, "finished", vars(report))
        return report

    def _begun(self, live: int, dims: int) -> tuple[int, Engine]:
        """The unfinished copy of a killed call, or a new generation; that of a killed retrain is removed."""
        found = {one.number: one for one in self._generations.all()}
        bundle = found[live].bundle
        for one in found.values():
            if one.state == "unfinished" and one.bundle == bundle and one.dims == dims:
                return one.number, self._generations.open(one.number)
            if one.state == "unfinished":
                remove_generation(self._generations, self._catalog, self._collection, one.number)
        engine = self._generations.make(dims, bundle=bundle)
        return max(one.number for one in self._generations.all()), engine

    def _check_no_other_work(self) -> None:
        """Workers hold no lock."""
        self._catalog.interrupted_runs(self._collection)
        for run in self._catalog.open_runs(self._collection):
            raise CatalogError(
                f"Workers are at the run {run.id} ({run.kind}) of collection '{self._collection}'.",
                hint="Wait until it is done: indexer status --watch",
            )

    def _copy(self, source: Engine, target: Engine, number: int) -> None:
        """Copy texts that are new or changed, and the mined data of all documents that have none there."""
        catalog, ledger = self._catalog, ledger_of(self._collection, number)
        source.catch_up()
        bring_up(source, target, catalog, self._collection, number, self._progress)
        pending = list(catalog.ids(ledger, state="stored"))
        for done, some in enumerate(batches(pending, CHUNK)):
            known = catalog.ledger(self._collection, some)
            rows = [_as_mined(*mined) for mined in mined_documents(source, some) if mined[0].bundle]
            catalog.check_locks()
            refused = {row.id for row in target.write_mined(rows)}
            for row in rows:
                entry = known.get(row.id)
                if entry and row.id not in refused and entry.state != "stored":
                    fit = entry.topic_fit
                    catalog.mark(ledger, [row.id], state=entry.state, bundle=entry.bundle, topic_fit=fit)
            self._progress("copy", min(len(pending), (done + 1) * CHUNK), len(pending))

    def _copy_phrases(self, source: Engine, target: Engine) -> None:
        """Copy phrase rows; those that are out of date are computed again from their mentions."""
        changed = set(source.changed_phrases())
        for some in batches(source.phrase_ids(), PHRASES):
            self._catalog.check_locks()
            target.write_phrases(source.phrases([id_ for id_ in some if id_ not in changed]))
        for some in batches(sorted(changed), PHRASES):
            groups = list(source.mentions_by_phrase(some, limit=VECTORS_PER_PHRASE))
            made = zip(map(phrase_row, groups), groups, strict=True)
            target.write_phrases([row for row, mentions in made if is_kept(row, mentions)])


def _as_mined(stored: StoredDocument, mentions: list[MentionRow]) -> MinedDocument:
    """The rows of an engine, as they were when they were written."""
    if stored.vector is None:
        raise ValueError(f"document '{stored.document.id}' is mined and has no vector")
    return MinedDocument(
        id=stored.document.id,
        vector=stored.vector,
        keyphrases=stored.keyphrases,
        topics=stored.topics,
        mentions=tuple(mentions),
        bundle=stored.bundle,
        run=stored.run,
        content_hash=stored.document.content_hash,
    )
