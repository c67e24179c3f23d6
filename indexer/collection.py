"""The Python face of the program: one object for one collection, one method for each command.

    from indexer.collection import Collection

    with Collection.open(home="my-index") as collection:
        collection.index(["articles.jsonl"])
        for hit in collection.search("solar wind", mode="both").hits:
            print(hit.score, hit.stored.document.title)

The encoder is loaded on first use, so that word search and listings never wait for it.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from threadpoolctl import threadpool_limits

from indexer.analysis.absent import AbsentFinder
from indexer.analysis.ranker import Ranker
from indexer.answers import Plan, Reason, Status, TopicDetails, Why, WorkStatus
from indexer.catalog import Catalog
from indexer.catalog.entries import DeadLetter, Run
from indexer.encoding import Encoder, Window
from indexer.engines.base import Engine, Filter
from indexer.engines.opening import live_bundle, open_engine
from indexer.errors import NotFound, QueryError
from indexer.finish import Finisher
from indexer.mining import mined
from indexer.pipeline import Pipeline, RunReport
from indexer.progress import Progress, no_progress
from indexer.readers import ReadOptions, count, read
from indexer.readers.source import SCHEME
from indexer.records import Document, Keyphrase, MentionRow, PhraseRow, StoredDocument, Topic
from indexer.search import Hit, Mode, SearchResults, scan, search
from indexer.settings import Settings, load_settings
from indexer.text import Preparer
from indexer.why import explain, reasons
from indexer.windows import encode_documents

if TYPE_CHECKING:
    from indexer.engines.elastic.user_documents import UserDocuments
    from indexer.engines.elastic.user_index import EnrichOptions
    from indexer.enrich import Enricher, EnrichReport
    from trainer.retrain.run import RetrainOptions, RetrainReport
    from workers.crew import Crew

START_SECONDS = 3.0  # of a run, before the first document is mined
MINED_FIELDS = ("topic", "keyphrase", "absent_keyphrase")
TAGGERS = 1  # worker processes; one tags faster than a CPU encodes
IN_CONTEXT = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


class Collection:
    """One collection of documents. Close it, or use it in a `with` block."""

    def __init__(self, settings: Settings, engine: Engine, catalog: Catalog) -> None:
        self.settings = settings
        self.engine = engine
        self.catalog = catalog
        self.name = settings.collection

    @classmethod
    def open(cls, settings: Settings | None = None, *, create: bool = True, **flags: Any) -> Self:
        """Open a collection.

        Args:
            settings: Ready settings; otherwise they are read as for the command line.
            create: Make it when it is new; otherwise that is an error, and nothing is left behind.
            flags: Settings by name, e.g. ``home="my-index"``; they win over environment and file.

        Raises:
            NotFound: There is no such collection, and none is to be made.
        """
        from models.registry import Registry

        settings = settings or load_settings(**flags)
        if bundle := live_bundle(settings):  # the settings' one is for a new collection
            settings = settings.model_copy(update={"bundle": bundle})
        dims = Registry(settings.home).get(settings.bundle).dims
        engine = open_engine(settings, dims, create=create)
        try:
            settings.make_home()
            catalog = Catalog.open(settings.database)
        except BaseException:
            engine.close()
            raise
        return cls(settings, engine, catalog)

    def close(self) -> None:
        """Give back files and connections."""
        self.engine.close()
        self.catalog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the settings, loaded on first use."""
        from models.load import load_encoder

        settings = self.settings
        return load_encoder(
            settings.bundle, home=settings.home, backend=settings.backend, threads=settings.threads
        )

    @cached_property
    def ranker(self) -> Ranker | None:
        """What the bundle of the settings has learned of keyphrases; the encoder need not be loaded for it."""
        from models.ranker import read_ranker
        from models.registry import Registry

        return read_ranker(Registry(self.settings.home).get(self.settings.bundle))

    # -- indexing -------------------------------------------------------------------------------------------

    def index(
        self,
        sources: Sequence[str | Path],
        *,
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
        topics: int | None = None,
        refit: bool = False,
        delete_missing: bool = False,
        workers: bool = True,
        wait: bool = True,
        progress: Progress = no_progress,
    ) -> RunReport:
        """Read sources, store, mine and write. Again, it does only what changed.

        Args:
            options: Names of fields, and limits of the readers.
            topics: How many topics are wanted; None leaves it to the silhouette, or to the topics there are.
            refit: Fit the topics again; ids go on where a new topic continues an old one.
            delete_missing: Remove documents that came from these sources and are not in them any more.
            workers: Let workers do the mining, when the settings name a broker.
            wait: Until the workers are through; otherwise a maintaining worker finishes the run.
        """
        return self._run(
            "index",
            sources,
            options,
            topics=topics,
            refit=refit,
            delete_missing=delete_missing,
            workers=workers,
            wait=wait,
            progress=progress,
        )

    def retry(self, *, workers: bool = True, progress: Progress = no_progress) -> RunReport:
        """Do again what stands in the dead letters; what succeeds leaves them."""
        letters = self.catalog.dead(self.name)
        letters = [
            letter for letter in letters if not letter.source.startswith(SCHEME)
        ]  # `enrich` tries them again
        files = {_file_of(letter.source) for letter in letters if letter.source}
        there = {file for file in files if Path(file).exists()}
        tried = [letter for letter in letters if not letter.source or _file_of(letter.source) in there]
        report = self._run(
            "retry", sorted(there), ReadOptions(), letters=tried, workers=workers, progress=progress
        )
        report.notes += [
            f"{file}: is not there, and cannot be tried again." for file in sorted(files - there)
        ]
        return report

    def _run(
        self,
        kind: str,
        sources: Sequence[str | Path],
        options: ReadOptions,
        *,
        topics: int | None = None,
        refit: bool = False,
        delete_missing: bool = False,
        letters: Sequence[DeadLetter] = (),
        workers: bool = True,
        wait: bool = True,
        progress: Progress,
    ) -> RunReport:
        start = time.perf_counter()
        report = RunReport()
        given = [_absolute(source) for source in sources]
        pipeline = self._pipeline(progress)
        crew = self._crew() if workers and self.settings.broker else None
        with self.catalog.lock(self.name, f"indexer {kind}") as lock:
            self.catalog.interrupted_runs(self.name)
            wanted = {"sources": given, "topics": topics, "refit": refit, "delete_missing": delete_missing}
            kept = ("bundle", "tagger", "keyphrases", "absent_keyphrases")
            wanted |= {name: getattr(self.settings, name) for name in kept}
            report.run = self.catalog.start_run(self.name, kind, wanted, lock=lock)
            # BLAS threads spin while they wait, and take the cores from the encoder.
            with threadpool_limits(1, user_api="blas"), garbage_frozen():
                with self._recorded(report, detach=crew is not None):
                    options = replace(options, max_bytes=self.settings.max_document_bytes)
                    items = read(given, options)
                    self._settle(letters)
                    pipeline.take_in(items, report, count(given, options) if given else 0)
                    if delete_missing:
                        pipeline.remove_missing(given, report)
                    if crew is None:
                        pipeline.mine(report)
                        pipeline.finish(report, number=topics, refit=refit)
                        report.seconds = time.perf_counter() - start
                if crew is not None:
                    crew.begin(report)
                    if wait:
                        with report.timed("workers"):
                            crew.wait(report, progress)
                        pipeline.finish(report, number=topics, refit=refit)
                    report.seconds = time.perf_counter() - start
                    if wait:
                        self.catalog.finish_run(report.run, "finished", _counts(report))
        return report

    def _crew(self) -> Crew:
        from workers.crew import Crew

        return Crew(self.settings, self.catalog)

    # -- somebody else's index ------------------------------------------------------------------------------

    def enrich(
        self,
        index: str,
        options: EnrichOptions,
        *,
        topics: int | None = None,
        refit: bool = False,
        progress: Progress = no_progress,
    ) -> EnrichReport:
        """Mine the documents of an Elasticsearch index of yours, and write topics, keyphrases and vectors to them.

        Its own fields stay as they are; phrases and mentions go to indices of this collection. Again, it does only
        what changed. Documents that somebody writes to meanwhile are read again; deleted ones stay deleted.

        Args:
            topics, refit: As for `index`.

        Raises:
            SettingsError: The engine is not Elasticsearch.
            NotFound, MappingMismatch, EngineForbidden: The index cannot be enriched; see `UserIndex.open`.
        """
        wanted = {"index": index, "text_field": options.text_field, "into": options.into, "topics": topics}
        with self._enriching(index, options, wanted, progress) as (enricher, report):
            enricher.all(report, topics=topics, refit=refit)
        return report

    def watch(
        self,
        index: str,
        options: EnrichOptions,
        *,
        every: float = 30.0,
        progress: Progress = no_progress,
        pause: Callable[[float], None] = time.sleep,
    ) -> Iterator[EnrichReport]:
        """Enrich an index, and keep up with what is written to it and deleted from it. Ends when nobody asks on.

        Args:
            every: Seconds between two looks.

        Yields:
            What each look that found something did; the first one always.
        """
        from indexer.enrich import Watcher

        with self._user_documents(index, options) as documents:
            watcher = Watcher(documents, self.catalog, self.name)
            yield self.enrich(index, options, progress=progress)
            while True:
                pause(every)
                rows, gone = watcher.look()
                if not rows and not gone:
                    continue
                wanted = {"index": index, "into": options.into, "watch": every}
                with self._enriching(index, options, wanted, progress) as (enricher, report):
                    enricher.some(rows, gone, report)
                yield report

    def undo_enrich(self, index: str, options: EnrichOptions, *, progress: Progress = no_progress) -> int:
        """Take back from the documents of an index what `enrich` added, and empty this collection.

        The documents are then as they were. Only the mapping keeps the field: Elasticsearch cannot remove one.

        Returns:
            How many documents had it.
        """
        from indexer.engines.opening import open_generations

        wanted = {"index": index, "into": options.into, "undo": True}
        with self._enriching(index, options, wanted, progress) as (enricher, report):
            report.written = enricher.take_back()
            # The ledger first: killed in between, a later run finds documents to mine, and not a ledger that says "done".
            enricher.forget_all()
            with closing(open_generations(self.settings)) as generations:
                old = [generation.number for generation in generations.all()]
                generations.make(self.engine.dims, bundle=self.settings.bundle).close()
                generations.switch(max(old) + 1)
                for number in old:
                    generations.remove(number)
        return report.written

    @contextmanager
    def _user_documents(self, index: str, options: EnrichOptions) -> Iterator[UserDocuments]:
        from indexer.engines.elastic.user_documents import UserDocuments
        from indexer.engines.elastic.user_index import UserIndex
        from indexer.engines.opening import connected
        from indexer.enrich import must_be_elastic

        must_be_elastic(self.settings)
        with closing(connected(self.settings)) as cluster:
            opened = UserIndex.open(cluster, index, options)
            yield UserDocuments(opened, options, self.settings.max_document_bytes)

    @contextmanager
    def _enriching(
        self, index: str, options: EnrichOptions, wanted: dict[str, Any], progress: Progress
    ) -> Iterator[tuple[Enricher, EnrichReport]]:
        """One recorded run on a user's index, under the lock of the collection."""
        from indexer.enrich import Enricher, EnrichReport, Pace

        start = time.perf_counter()
        report = EnrichReport()
        with (
            self._user_documents(index, options) as documents,
            self.catalog.lock(self.name, "indexer enrich") as lock,
        ):
            self.catalog.interrupted_runs(self.name)
            pace = Pace(options.throttle)
            enricher = Enricher(self._pipeline(progress), documents, pace=pace, progress=progress)
            enricher.check_collection()
            if options.text_field:
                documents.index.add_field(self.engine.dims, self.settings.vector_index)
            report.run = self.catalog.start_run(self.name, "enrich", wanted, lock=lock)
            with self._recorded(report), threadpool_limits(1, user_api="blas"), garbage_frozen():
                yield enricher, report
                report.seconds = time.perf_counter() - start

    def _settle(self, letters: Sequence[DeadLetter]) -> None:
        """Close letters that are about to be tried again; a failure opens them anew."""
        sources = sorted({letter.source for letter in letters})
        if sources:
            self.catalog.resolve(self.name, sources=sources)

    @contextmanager
    def _recorded(self, report: RunReport | EnrichReport, *, detach: bool = False) -> Iterator[None]:
        """Write into the catalog how the run ended, however it ends; or, with `detach`, that workers go on with it."""
        try:
            yield
        except KeyboardInterrupt:
            self.catalog.finish_run(report.run, "interrupted", _counts(report))
            raise
        except BaseException as error:
            self.catalog.finish_run(report.run, "failed", _counts(report), str(error) or type(error).__name__)
            raise
        if detach:
            self.catalog.detach_run(report.run, _counts(report))
        else:
            self.catalog.finish_run(report.run, "finished", _counts(report))

    def _pipeline(self, progress: Progress) -> Pipeline:
        return Pipeline(
            self.engine,
            self.catalog,
            self.name,
            lambda: self.encoder,
            tagger=self.settings.tagger,
            workers=TAGGERS,
            keyphrases=self.settings.keyphrases,
            ranker=lambda: self.ranker,
            absent=self.settings.absent_keyphrases,
            progress=progress,
        )

    def plan(
        self,
        sources: Sequence[str | Path],
        *,
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    ) -> Plan:
        """What `index` would do with these sources; reads them and writes nothing."""
        given = [_absolute(source) for source in sources]
        seen: set[str] = set()
        new = changed = unreadable = size = 0
        problems: list[str] = []
        for item in read(given, options):
            if not isinstance(item, Document):
                unreadable += "left_out" not in item.facts
                problems += [str(item)] if len(problems) < 20 else []
                continue
            seen.add(item.id)
            known = self.catalog.ledger(self.name, [item.id]).get(item.id)
            new += known is None
            changed += known is not None and known.content_hash != item.content_hash
            if known is None or known.content_hash != item.content_hash:
                size += len(item.content)
        missing = sum(id_ not in seen for id_ in self.catalog.unseen(self.name, given, ""))
        return Plan(
            documents=len(seen),
            new=new,
            changed=changed,
            unchanged=len(seen) - new - changed,
            unreadable=unreadable,
            missing=missing,
            megabytes=round((new + changed) * MEGABYTES_PER_DOCUMENT + 3 * size / 1e6, 1),
            seconds=self._expected_seconds(new + changed),
            problems=tuple(problems),
        )

    def _expected_seconds(self, documents: int) -> float | None:
        done = [run.counts for run in self.catalog.runs(self.name) if run.counts.get("mined", 0) >= 10]
        if not done:
            return None
        return START_SECONDS + float(documents * done[0]["seconds"] / done[0]["mined"]) if documents else 0.0

    # -- searching ------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        mode: Mode = "both",
        filters: Sequence[Filter] = (),
        facets: Sequence[str] = ("topic", "keyphrase"),
        facet_size: int = 10,
        limit: int = 10,
        offset: int = 0,
    ) -> SearchResults:
        """Find documents by words, by meaning, or both; see `indexer.search.search`."""
        self._check_fields([*(f.field for f in filters), *facets])
        encoder = None if mode == "words" or not query.strip() else self.encoder
        return search(
            self.engine,
            encoder,
            query,
            mode=mode,
            filters=[self._resolved(f) for f in filters],
            facets=facets,
            facet_size=facet_size,
            limit=limit,
            offset=offset,
            absent=self.settings.absent_weight,
        )

    def scan(self, query: str, *, filters: Sequence[Filter] = ()) -> Iterator[Hit]:
        """All documents that `search` finds by words, without an end; for export."""
        self._check_fields([f.field for f in filters])
        chosen = [self._resolved(f) for f in filters]
        return scan(self.engine, query, chosen, absent=self.settings.absent_weight)

    def _check_fields(self, names: Sequence[str]) -> None:
        """Refuse a field that no document has: it would find nothing, and say nothing."""
        known = [*MINED_FIELDS, *self.engine.fields()]
        for name in names:
            if name not in known:
                from difflib import get_close_matches

                near = get_close_matches(name.casefold(), {k.casefold(): k for k in known}, n=1)
                meant = next((k for k in known if near and k.casefold() == near[0]), "")
                raise QueryError(
                    f"There is no field '{name}' in collection '{self.name}'.",
                    hint=f"Did you mean {meant}?" if meant else f"There are: {', '.join(known)}.",
                )

    def _resolved(self, condition: Filter) -> Filter:
        """A topic may be named by its id or its label; a retired id stands for its successors."""
        if condition.field != "topic":
            return condition
        return Filter("topic", condition.operator, self.topic_id(str(condition.value)))

    def reasons(self, results: SearchResults) -> dict[str, list[Reason]]:
        """Why each hit was found: document id ► its phrases that have a word of the query or are near it."""
        vector = None
        if results.mode != "words" and any(c.isalnum() for c in results.query):
            vector = self.encoder.encode_phrases([results.query])[0]
        return reasons(self.engine, results, vector)

    def phrases(self, phrase: str, *, limit: int = 10) -> list[tuple[PhraseRow, float]]:
        """Phrases of the collection by likeness of meaning, without context."""
        if not any(c.isalnum() for c in phrase):
            raise QueryError(f"The phrase {phrase!r} has no letter or digit.")
        return self.engine.nearest_phrases(self.encoder.encode_phrases([phrase])[0], limit=limit)

    def phrases_in(
        self, text: str, *, limit: int = 10, filters: Sequence[Filter] = ()
    ) -> list[tuple[MentionRow, float]]:
        """Mentions like the one marked with ``[[…]]`` in a sentence, its context counted.

        Raises:
            QueryError: Nothing, or more than one thing, is marked.
        """
        marked = IN_CONTEXT.findall(text)
        if len(marked) != 1 or not any(c.isalnum() for c in marked[0]):
            raise QueryError(
                f"Exactly one phrase must be marked; {text!r} marks {len(marked)}.",
                hint='For example: indexer phrases --in "the cell [[membrane]] is thin"',
            )
        self._check_fields([f.field for f in filters])
        start = text.index("[[")
        plain = IN_CONTEXT.sub(r"\1", text)
        encoding = self.encoder.encode([Window(plain, ((start, start + len(marked[0])),))])[0]
        chosen = tuple(self._resolved(f) for f in filters)
        return self.engine.nearest_mentions(encoding.mentions[0], limit=limit, filters=chosen)

    def document(self, id_: str) -> StoredDocument:
        """One document with its keyphrases and topics.

        Raises:
            NotFound: There is no such document.
        """
        found = self.engine.documents([id_])
        if not found:
            raise NotFound(
                f"There is no document '{id_}' in collection '{self.name}'.",
                hint="Ids are exact; search lists them.",
            )
        return found[0]

    def documents(self) -> Iterator[StoredDocument]:
        """All documents, by id; for export."""
        from indexer.batches import batches

        for some in batches(self.engine.document_ids(), 256):
            yield from self.engine.documents(some)

    def keyphrases(self, document: Document, *, limit: int | None = None) -> tuple[Keyphrase, ...]:
        """Keyphrases of one text, the absent ones last; nothing is stored, and what the collection knows is not used."""
        prepared = Preparer(self.settings.tagger).prepare([document])
        encoded = encode_documents(self.encoder, [document], prepared)[0]
        ranker = self.encoder.ranker
        found = mined(document, encoded, self.encoder.bundle, "", limit or self.settings.keyphrases, ranker)
        if ranker is None:
            return found.keyphrases
        finder = AbsentFinder(ranker, ranker.vocabulary)
        absent = finder.find(document, found.vector, found.mentions, self.settings.absent_keyphrases)
        return (*found.keyphrases, *absent)

    # -- topics ---------------------------------------------------------------------------------------------

    def topics(self) -> list[Topic]:
        """All topics, largest first."""
        return self.engine.topics()

    def topic_id(self, name: str) -> str:
        """The id of a live topic by id, number or label. A retired id leads to its successor.

        Raises:
            NotFound: There is no such topic; the message lists near ones.
        """
        from difflib import get_close_matches

        live = {topic.id: topic for topic in self.engine.topics()}
        wanted = f"t-{int(name):06d}" if name.isdecimal() else name
        if wanted in live:
            return wanted
        named = [t.id for t in live.values() if t.label.casefold() == name.casefold()]
        if len(named) > 1:
            raise QueryError(
                f"{len(named)} topics are called '{name}': {', '.join(named)}.",
                hint="Name one of them by its id.",
            )
        if named:
            return named[0]
        heirs = (
            [id_ for id_ in self.catalog.successors(self.name, wanted) if id_ in live]
            if _is_id(wanted)
            else []
        )
        if heirs:
            return heirs[0]
        near = get_close_matches(name, [t.label for t in live.values()], n=3, cutoff=0.4)
        raise NotFound(
            f"There is no topic '{name}' in collection '{self.name}'.",
            hint=f"Did you mean: {', '.join(near)}?" if near else "indexer topics lists them.",
        )

    def topic(self, name: str, *, documents: int = 5) -> TopicDetails:
        """A topic by id or label, with the documents that stand for it and its history."""
        id_ = self.topic_id(name)
        topic = next(t for t in self.engine.topics() if t.id == id_)
        leading = self.engine.topic_documents(id_, limit=documents)
        return TopicDetails(
            topic=topic,
            entry=self.catalog.topic(self.name, id_),
            documents=tuple(self.engine.documents(leading.ids)),
            special=tuple(self.engine.special_keyphrases((Filter("topic", "=", id_),))),
            history=tuple(self.catalog.lineage(self.name, id_)),
            successors=tuple(self.catalog.successors(self.name, id_)),
        )

    def why(self, document_id: str) -> Why:
        """Which phrases of a document voted for which topic, how near they are, and what came second."""
        self.document(document_id)
        return explain(self.engine, self.catalog, self.name, document_id)

    def rename_topic(self, name: str, label: str) -> Topic:
        """Give a topic a name by hand; it stays through every later run.

        Raises:
            QueryError: The name is empty, or another topic has it.
        """
        label = " ".join(label.split())
        id_ = self.topic_id(name)
        topics = self.engine.topics()
        if not label:
            raise QueryError("The new name of a topic must not be empty.")
        if any(t.label.casefold() == label.casefold() and t.id != id_ for t in topics):
            raise QueryError(
                f"Another topic is named '{label}' already.", hint="Merge them: indexer topics merge"
            )
        self.catalog.rename_topic(self.name, id_, label)
        renamed = [replace(t, label=label, named_by_hand=True) if t.id == id_ else t for t in topics]
        self.engine.write_topics(renamed)
        return next(t for t in renamed if t.id == id_)

    def merge_topics(
        self, into: str, others: Sequence[str], *, progress: Progress = no_progress
    ) -> tuple[Topic, int]:
        """Make several topics one: `into` keeps its id and name, the others retire and lead to it.

        Returns:
            The topic, and how many documents changed.
        """
        target = self.topic_id(into)
        sources = [id_ for id_ in (self.topic_id(other) for other in others) if id_ != target]
        if not sources:
            raise QueryError("Name at least one other topic to merge.")
        with self.catalog.lock(self.name, "indexer topics merge") as lock:
            run = self.catalog.start_run(self.name, "merge", {"into": target, "from": sources}, lock=lock)
            finisher = Finisher(
                self.engine,
                self.catalog,
                self.name,
                run,
                self.settings.keyphrases,
                progress,
                ranker=self.ranker,
                absent=self.settings.absent_keyphrases,
            )
            changed = finisher.merge(target, sources)
            self.catalog.finish_run(run, "finished", {"documents": changed})
        return next(t for t in self.engine.topics() if t.id == target), changed

    # -- retraining -----------------------------------------------------------------------------------------

    def retrain(self, options: RetrainOptions, *, progress: Progress = no_progress) -> RetrainReport:
        """Adapt the encoder to this collection, and let it take over if it is better; see `trainer.retrain.run`.

        After a swap open the collection again: this object goes on with the generation that was live.
        """
        from indexer.engines.opening import open_generations
        from trainer.retrain.run import Retrainer

        with closing(open_generations(self.settings)) as generations:
            retrainer = Retrainer(
                self.settings,
                self.engine,
                generations,
                self.catalog,
                self._encoder_of,
                taggers=TAGGERS,
                progress=progress,
            )
            return retrainer.run(options)

    def _encoder_of(self, bundle: str) -> Encoder:
        """The encoder of any bundle; the collection's own is not loaded twice."""
        from models.load import load_encoder

        settings = self.settings
        if bundle == settings.bundle:
            return self.encoder
        return load_encoder(bundle, home=settings.home, backend=settings.backend, threads=settings.threads)

    def history(self, limit: int = 20) -> list[Run]:
        """Retrains and rollbacks, newest first, with their figures."""
        runs = self.catalog.runs(self.name, 10 * limit)
        return [run for run in runs if run.kind in ("retrain", "rollback")][:limit]

    # -- state ----------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Counts, sizes, dead letters and the last runs."""
        info = self.engine.info()
        holder = self.catalog.lock_holder(self.name)
        bundles = [
            run.counts.get("bundle") for run in self.catalog.runs(self.name) if run.counts.get("bundle")
        ]
        return Status(
            collection=self.name,
            engine=info,
            documents={state: number for state, number in self.catalog.count(self.name).items()},
            without_topic=info.without_topic,
            dead={stage: number for stage, number in self.catalog.dead_counts(self.name).items()},
            topics=info.topics,
            bundle=str(bundles[0]) if bundles else self.settings.bundle,
            last_runs=tuple(self.catalog.runs(self.name, 5)),
            lock=f"{holder.owner} (pid {holder.pid} on {holder.host})" if holder else "",
            work=self.work(),
        )

    def work(self) -> WorkStatus:
        """What is with the workers: batches, queues, runs that go on."""
        runs = self.catalog.open_runs(self.name)
        queues: dict[str, int | None] = {}
        if self.settings.broker:
            from workers.sending import Sender

            queues |= Sender(self.settings).depths()
        return WorkStatus(
            batches=self.catalog.work(self.name),
            queues=queues,
            left=self.catalog.count(self.name)["stored"],
            mined=sum(run.counts.get("mined", 0) for run in runs),
            runs=tuple(runs),
        )

    def dead_letters(self) -> list[DeadLetter]:
        """What could not be processed, and why."""
        return self.catalog.dead(self.name)


MEGABYTES_PER_DOCUMENT = 0.03  # 25 mention vectors in half precision, and their rows


@contextmanager
def garbage_frozen() -> Iterator[None]:
    """Spare the garbage collector the objects that are there now: looking at them all took 5 % of a run."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _counts(report: RunReport | EnrichReport) -> dict[str, Any]:
    names = (
        "bundle",
        "read",
        "new",
        "changed",
        "unchanged",
        "deleted",
        "mined",
        "written",
        "failed",
        "topics",
    )
    return {
        **{name: getattr(report, name) for name in names if hasattr(report, name)},
        "seconds": round(report.seconds, 2),
        "stages": {name: round(seconds, 2) for name, seconds in report.stages.items()},
    }


def _absolute(source: str | Path) -> str:
    """The path from the root on; standard input stays as it is."""
    return str(source) if str(source) == "-" else str(Path(source).absolute())


def _file_of(source: str) -> str:
    """FILE of FILE or FILE:LINE."""
    return re.sub(r":\d+$", "", source)


def _is_id(name: str) -> bool:
    return bool(re.fullmatch(r"t-\d+", name))
