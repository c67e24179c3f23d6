"""The Python face of the program: one object for one collection, one method for each command.

    from indexer.collection import Collection

    with Collection.open(home="my-index") as collection:
        collection.index(["articles.jsonl"])
        for hit in collection.search("solar wind", mode="both").hits:
            print(hit.score, hit.stored.document.title)

The encoder is loaded on first use, so that word search and listings never wait for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property, partial, wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from indexer.analysis.absent import AbsentFinder
from indexer.analysis.finders import Asked
from indexer.analysis.ranker import Ranker
from indexer.answers import Plan, Reason, Status, TopicDetails, TopicHistory, Why, WorkStatus
from indexer.browsing import (
    FieldKinds,
    Timeline,
    field_kinds,
    near_topics,
    open_facets,
    similar_documents,
    timeline,
)
from indexer.catalog import Catalog
from indexer.catalog.entries import DeadLetter, Run
from indexer.catalog.locks import retraining, watching
from indexer.drift import latest
from indexer.encoding import Encoder, Window
from indexer.engines.base import Engine, Filter
from indexer.engines.opening import live_bundle, open_engine
from indexer.errors import NotFound, QueryError, Superseded
from indexer.finish import Finisher
from indexer.metrics import SEARCH_SECONDS
from indexer.mining import mined
from indexer.pipeline import Pipeline, RunReport
from indexer.plan import planned
from indexer.progress import Progress, no_progress
from indexer.readers import ReadOptions
from indexer.records import Document, Keyphrase, MentionRow, PhraseRow, StoredDocument, Topic
from indexer.rollback import KINDS, Rollback, RollbackReport, Switched, nobody
from indexer.runs import Again, SourceRun, Wanted, check_live
from indexer.search import Facet, Hit, Mode, SearchResults, scan, search
from indexer.settings import Settings, load_settings
from indexer.succession import settle
from indexer.text import Preparer
from indexer.topic_names import topic_history, topic_ids
from indexer.why import explain, reasons
from indexer.windows import encode_documents

if TYPE_CHECKING:
    from indexer.engines.elastic.user_index import EnrichOptions
    from indexer.engines.generations import Generation
    from indexer.enrich import EnrichReport
    from indexer.enriching import Enriching
    from indexer.topic_map import TopicMap
    from trainer.retrain.run import Retrainer, RetrainOptions, RetrainReport
    from workers.crew import Crew

MINED_FIELDS = ("topic", "keyphrase", "absent_keyphrase")
TAGGERS = 1  # worker processes; one tags faster than a CPU encodes
IN_CONTEXT = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


LOOK_EVERY = 1.0  # seconds between two looks whether another generation has taken over

P = ParamSpec("P")
T = TypeVar("T")


def on_live_vectors(
    method: Callable[Concatenate[Collection, P], T],
) -> Callable[Concatenate[Collection, P], T]:
    """For methods whose vectors must be of the live generation's encoder: done again when another one takes over."""

    @wraps(method)
    def called(self: Collection, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except Superseded:
            self._open_again()
            return method(self, *args, **kwargs)

    return called


class Collection:
    """One collection of documents. Close it, or use it in a `with` block.

    It may stay open for long: when another generation takes over, it goes on with that and its encoder.
    """

    def __init__(self, settings: Settings, engine: Engine, catalog: Catalog) -> None:
        self.settings = settings
        self.catalog = catalog
        self.name = settings.collection
        self._engine = engine
        self._looked = time.monotonic()

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
        settings, engine = _opened(settings or load_settings(**flags), create=create)
        try:
            settings.make_home()
            catalog = Catalog.open(settings.database)
        except BaseException:
            engine.close()
            raise
        return cls(settings, engine, catalog)

    @property
    def engine(self) -> Engine:
        """Reads and writes the live generation."""
        if time.monotonic() - self._looked > LOOK_EVERY:
            self._looked = time.monotonic()
            if self._engine.superseded():
                self._open_again()
        return self._engine

    def _open_again(self) -> None:
        """Go on with the generation that is live now, and with its encoder."""
        settings, engine = _opened(self.settings, create=False)
        if settings.bundle != self.settings.bundle:
            for learned in ("encoder", "ranker"):
                self.__dict__.pop(learned, None)
        before, self._engine, self.settings = self._engine, engine, settings
        self._leave(before)

    def _leave(self, engine: Engine) -> None:
        """Give back what another generation has taken over from."""
        engine.close()

    def close(self) -> None:
        """Give back files and connections."""
        self._engine.close()
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

    @cached_property
    def _preparer(self) -> Preparer:
        return Preparer(self.settings.tagger)

    # -- indexing -------------------------------------------------------------------------------------------

    @on_live_vectors
    def index(
        self,
        sources: Sequence[str | Path],
        *,
        options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
        topics: str | int | None = None,
        refit: bool = False,
        delete_missing: bool = False,
        workers: bool = True,
        wait: bool = True,
        progress: Progress = no_progress,
    ) -> RunReport:
        """Read sources, store, mine and write. Again, it does only what changed.

        Args:
            options: Names of fields, and limits of the readers.
            topics: How many topics are wanted (``40``), found how (``"clusters"``), or both (``"clusters:40"``); what
                is not said is left to the texts, or as it was.
            refit: Fit the topics again; ids go on where a new topic continues an old one.
            delete_missing: Remove documents that came from these sources and are not in them any more.
            workers: Let workers do the mining, when the settings name a broker.
            wait: Until the workers are through; otherwise a maintaining worker finishes the run.
        """
        wanted = Wanted(topics, refit, delete_missing)
        run = self._source_run("index", workers, progress)
        return run.run(sources, options, wanted, wait=wait, progress=progress)

    @on_live_vectors
    def retry(self, *, workers: bool = True, progress: Progress = no_progress) -> RunReport:
        """Do again what stands in the dead letters; what succeeds leaves them."""
        again = Again.of(self.catalog.dead(self.name))
        run = self._source_run("retry", workers, progress)
        report = run.run(again.files, ReadOptions(), letters=again.letters, progress=progress)
        report.notes += [f"{file}: is not there, and cannot be tried again." for file in again.missing]
        return report

    def _source_run(self, kind: str, workers: bool, progress: Progress) -> SourceRun:
        crew = self._crew() if workers and self.settings.broker else None
        return SourceRun(kind, self.settings, self._pipeline(progress), crew)

    def _crew(self) -> Crew:
        from workers.crew import Crew

        return Crew(self.settings, self.catalog)

    # -- somebody else's index ------------------------------------------------------------------------------

    @on_live_vectors
    def enrich(
        self,
        index: str,
        options: EnrichOptions,
        *,
        topics: str | int | None = None,
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
        Asked.read(topics)
        return self._enriching(index, options, progress).all(topics, refit=refit)

    def watch(
        self,
        index: str,
        options: EnrichOptions,
        *,
        every: float = 30.0,
        progress: Progress = no_progress,
        pause: Callable[[float], None] = time.sleep,
    ) -> Generator[EnrichReport]:
        """Enrich an index, and keep up with what is written to it and deleted from it. Ends when nobody asks on.

        Also with topics that are renamed or merged and with generations that take over here. Somebody else's lock and
        servers that are away are waited for, but not in the first look.

        Args:
            every: Seconds between two looks.

        Yields:
            What each look that found something did; the first one always.
        """
        return self._enriching(index, options, progress).watch(every, pause)

    @on_live_vectors
    def undo_enrich(self, index: str, options: EnrichOptions, *, progress: Progress = no_progress) -> int:
        """Take back from the documents of an index what `enrich` added, and empty this collection.

        The documents are then as they were. Only the mapping keeps the field: Elasticsearch cannot remove one.

        Returns:
            How many documents had it.
        """
        return self._enriching(index, options, progress).undo()

    def _enriching(self, index: str, options: EnrichOptions, progress: Progress) -> Enriching:
        from indexer.enriching import Enriching

        pipeline = partial(self._pipeline, progress)
        return Enriching(self.settings, self.catalog, pipeline, index, options, progress)

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
        return planned(self.catalog, self.name, sources, options)

    # -- searching ------------------------------------------------------------------------------------------

    @on_live_vectors
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
        start = time.perf_counter()
        results = search(
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
        SEARCH_SECONDS.labels(mode).observe(time.perf_counter() - start)
        return results

    def scan(self, query: str, *, filters: Sequence[Filter] = ()) -> Iterator[Hit]:
        """All documents that `search` finds by words, without an end; for export."""
        self._check_fields([f.field for f in filters])
        chosen = [self._resolved(f) for f in filters]
        return scan(self.engine, query, chosen, absent=self.settings.absent_weight)

    def open_facets(
        self,
        query: str,
        *,
        mode: Mode = "both",
        filters: Sequence[Filter] = (),
        fields: Sequence[str] = ("topic", "keyphrase"),
        size: int = 10,
    ) -> tuple[Facet, ...]:
        """Counts as `search` gives them, but of each field without the choices made in it; see `indexer.browsing`."""
        self._check_fields([*(f.field for f in filters), *fields])
        return open_facets(
            self.engine,
            query,
            mode=mode,
            filters=[self._resolved(f) for f in filters],
            fields=fields,
            size=size,
            absent=self.settings.absent_weight,
        )

    def timeline(
        self,
        query: str,
        field: str,
        *,
        mode: Mode = "both",
        filters: Sequence[Filter] = (),
        unit: str | None = None,
    ) -> Timeline | None:
        """How many documents that match there are in each year, month or day; None where a field has no dates."""
        self._check_fields([*(f.field for f in filters), field])
        return timeline(
            self.engine,
            query,
            mode=mode,
            filters=[self._resolved(f) for f in filters],
            field=field,
            absent=self.settings.absent_weight,
            unit=unit,
        )

    def field_kinds(self) -> FieldKinds:
        """Which of the users' own fields are good to narrow by, and which has the date."""
        return field_kinds(self.engine)

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
        """A topic may be named by its id or its label; a retired id stands for all its successors."""
        if condition.field != "topic":
            return condition
        named = condition.value if isinstance(condition.value, list) else [condition.value]
        ids = [id_ for name in named for id_ in self._topic_ids(str(name))]
        return Filter("topic", condition.operator, ids[0] if len(ids) == 1 else ids)

    @on_live_vectors
    def reasons(self, results: SearchResults) -> dict[str, list[Reason]]:
        """Why each hit was found: document id ► its phrases that have a word of the query or are near it."""
        vector = None
        if results.mode != "words" and any(c.isalnum() for c in results.query):
            vector = self.encoder.encode_phrases([results.query])[0]
        return reasons(self.engine, results, vector)

    @on_live_vectors
    def phrases(self, phrase: str, *, limit: int = 10) -> list[tuple[PhraseRow, float]]:
        """Phrases of the collection by likeness of meaning, without context."""
        if not any(c.isalnum() for c in phrase):
            raise QueryError(f"The phrase {phrase!r} has no letter or digit.")
        return self.engine.nearest_phrases(self.encoder.encode_phrases([phrase])[0], limit=limit)

    @on_live_vectors
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

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """What people call these documents: their titles, else their files, else their ids."""
        found = {stored.document.id: stored.document.name for stored in self.engine.documents(ids)}
        return {id_: found.get(id_, id_) for id_ in ids}

    def mentions(self, id_: str) -> list[MentionRow]:
        """The phrases that are kept for a document, keyphrases or not, with every place where they stand."""
        return self.engine.mentions([id_])

    def similar(self, id_: str, *, limit: int = 5) -> list[tuple[StoredDocument, float]]:
        """Documents that are nearest to one in meaning, with the cosine.

        Raises:
            NotFound: There is no such document.
        """
        self.document(id_)
        return similar_documents(self.engine, id_, limit)

    def documents(self) -> Iterator[StoredDocument]:
        """All documents, by id; for export."""
        from indexer.batches import batches

        for some in batches(self.engine.document_ids(), 256):
            yield from self.engine.documents(some)

    def keyphrases(self, document: Document, *, limit: int | None = None) -> tuple[Keyphrase, ...]:
        """Keyphrases of one text, the absent ones last; nothing is stored, and what the collection knows is not used."""
        prepared = self._preparer.prepare([document])
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
        """The id of a live topic by id, number or label. A retired id leads to its successor that is most alike.

        Raises:
            NotFound: There is no such topic; the message lists near ones.
        """
        return self._topic_ids(name)[0]

    def _topic_ids(self, name: str) -> list[str]:
        return topic_ids(name, self.engine.topics(), self.catalog, self.name)

    def topic(self, name: str, *, documents: int = 5) -> TopicDetails:
        """A topic by id or label, with the documents that stand for it and its history."""
        id_, *others = self._topic_ids(name)
        topics = {topic.id: topic for topic in self.engine.topics()}
        leading = self.engine.topic_documents(id_, limit=documents)
        return TopicDetails(
            topic=topics[id_],
            others=tuple(topics[other] for other in others),
            documents=tuple(self.engine.documents(leading.ids)),
            special=tuple(self.engine.special_keyphrases((Filter("topic", "=", id_),))),
            history=self.topic_history(id_),
        )

    def near_topics(self, name: str, *, limit: int = 5) -> list[tuple[Topic, float]]:
        """Topics that are nearest to one in meaning, with the cosine."""
        return near_topics(self.engine.topics(), self.topic_id(name), limit)

    def topic_map(self) -> TopicMap:
        """Where topics lie in a picture: near in meaning, near each other; it keeps its shape from fit to fit."""
        from indexer.topic_map import topic_map

        return topic_map(self.engine.topics(), self.settings.home / "maps" / f"{self.name}.json")

    def topic_history(self, name: str) -> TopicHistory:
        """What became of a topic, by id or label; also of a retired one, by its id.

        Raises:
            NotFound: There is no such topic, and was none.
        """
        return topic_history(name, self.engine.topics(), self.catalog, self.name)

    def why(self, document_id: str) -> Why:
        """Which phrases of a document voted for which topic, how near they are, and what came second."""
        self.document(document_id)
        return explain(self.engine, self.catalog, self.name, document_id)

    @on_live_vectors
    def rename_topic(self, name: str, label: str) -> Topic:
        """Give a topic a name by hand; it stays through every later run.

        Raises:
            QueryError: The name is empty, or another topic has it.
            CatalogError: Somebody is writing to the collection.
        """
        label = " ".join(label.split())
        if not label:
            raise QueryError("The new name of a topic must not be empty.")
        with self.catalog.lock(self.name, "indexer topics rename"):
            settle(self.settings, self.catalog)
            check_live(self.engine)
            id_ = self.topic_id(name)
            topics = self.engine.topics()
            if any(t.label.casefold() == label.casefold() and t.id != id_ for t in topics):
                raise QueryError(
                    f"Another topic is named '{label}' already.", hint="Merge them: indexer topics merge"
                )
            self.catalog.rename_topic(self.name, id_, label)
            renamed = [replace(t, label=label, named_by_hand=True) if t.id == id_ else t for t in topics]
            self.engine.write_topics(renamed)
        return next(t for t in renamed if t.id == id_)

    @on_live_vectors
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
            settle(self.settings, self.catalog)
            check_live(self.engine)
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

    @on_live_vectors
    def retrain(self, options: RetrainOptions, *, progress: Progress = no_progress) -> RetrainReport:
        """Adapt the encoder to this collection, and let it take over if it is better; see `trainer.retrain.run`.

        The whole retrain reads the generation that was live when it began.
        """
        with self._retrainer(progress) as retrainer:
            return retrainer.run(options)

    @on_live_vectors
    def begin_retrain(self, options: RetrainOptions) -> RetrainReport:
        """See whether there is something to do, and write down what, for workers: `workers.training` does the rest."""
        with self._retrainer(no_progress) as retrainer:
            return retrainer.begin(options)

    @on_live_vectors
    def go_on_with_retrain(self, run: str, *, progress: Progress) -> RetrainReport:
        """Do a retrain that was begun for workers: until it is done, or `progress` raises `Paused`."""
        with self._retrainer(progress) as retrainer:
            return retrainer.go_on(run)

    @contextmanager
    def _retrainer(self, progress: Progress) -> Iterator[Retrainer]:
        from indexer.engines.opening import open_generations
        from trainer.retrain.run import Retrainer

        engine = self.engine  # before the settings, which may change with it
        with closing(open_generations(self.settings)) as generations:
            yield Retrainer(
                self.settings,
                engine,
                generations,
                self.catalog,
                self._encoder_of,
                taggers=TAGGERS,
                progress=progress,
            )

    def rollback(
        self, to: int | None = None, *, switched: Switched = nobody, progress: Progress = no_progress
    ) -> RollbackReport:
        """Make an earlier generation the live one again, or a later one; see `indexer.rollback`.

        Args:
            to: Number of the generation; None means the one that the live one replaced.
            switched: Told when searches see it; what is left then is mining.
        """
        from indexer.engines.opening import open_generations
        from models.fetching import fetch
        from models.ranker import read_ranker
        from models.registry import Registry

        registry = Registry(self.settings.home)

        def check_bundle(name: str) -> None:
            fetch(self.settings, name)
            registry.get(name)

        with closing(open_generations(self.settings)) as generations:
            rollback = Rollback(
                self.settings,
                generations,
                self.catalog,
                check_bundle,
                self._encoder_of,
                lambda bundle: read_ranker(registry.get(bundle)),
                taggers=TAGGERS,
                progress=progress,
                switched=switched,
            )
            return rollback.run(to)

    def _encoder_of(self, bundle: str) -> Encoder:
        """The encoder of any bundle; the collection's own is not loaded twice."""
        from models.load import load_encoder

        settings = self.settings
        if bundle == settings.bundle:
            return self.encoder
        return load_encoder(bundle, home=settings.home, backend=settings.backend, threads=settings.threads)

    def history(self, limit: int = 20) -> list[Run]:
        """Retrains and rollbacks, newest first, with their figures."""
        return self.catalog.runs(self.name, limit, kinds=KINDS)

    # -- state ----------------------------------------------------------------------------------------------

    def generations(self) -> list[Generation]:
        """Complete sets of rows, each mined with one encoder: the live one, those that are kept, an unfinished one."""
        from indexer.engines.opening import open_generations

        with closing(open_generations(self.settings)) as generations:
            return generations.all()

    def status(self) -> Status:
        """Counts, sizes, drift, dead letters and the last runs."""
        info = self.engine.info()
        drift = latest(self.catalog, self.name)
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
            lock=self._holder(self.name),
            retraining=self._holder(retraining(self.name)),
            watching=self._holder(watching(self.name)),
            work=self.work(),
            drift=drift,
            worth_a_retrain=drift.worth_a_retrain(self.settings.drift),
        )

    def _holder(self, lock: str) -> str:
        holder = self.catalog.lock_holder(lock)
        return f"{holder.owner} (pid {holder.pid} on {holder.host})" if holder else ""

    def work(self) -> WorkStatus:
        """What is with the workers: batches, queues, runs and retrains that go on."""
        runs = self.catalog.open_runs(self.name)
        retrains = self.catalog.open_runs(self.name, retrains=True)
        batches = self.catalog.work(self.name)
        finishing = any(self.catalog.is_through(run.id) for run in runs)
        finisher = self._holder(self.name) if finishing else ""
        idle: list[str] = [
            state for state, waiting in batches.waiting.items() if waiting and not batches.held[state]
        ]
        idle += ["maintain"] if finishing and not finisher else []
        idle += ["train"] if retrains and not self._holder(retraining(self.name)) else []
        queues: dict[str, int | None] = {}
        if self.settings.broker:
            from workers.sending import Sender

            queues |= Sender(self.settings).depths()
        return WorkStatus(
            batches=batches,
            queues=queues,
            left=self.catalog.count(self.name)["stored"],
            mined=sum(run.counts.get("mined", 0) for run in runs),
            runs=tuple(runs),
            retrains=tuple(retrains),
            finishing=finishing,
            finisher=finisher,
            idle_queues=tuple(idle),
        )

    def unattended(self) -> tuple[str, ...]:
        """Queues with something to do of which no worker answers. Asks them, which takes a second."""
        from workers.sending import Sender

        before = self.work()
        if not before.idle_queues or None in before.queues.values():
            return ()
        attended = Sender(self.settings).attended()
        still = self.work().idle_queues  # who has taken something meanwhile has not answered
        return tuple(queue for queue in still if queue in before.idle_queues and queue not in attended)

    def dead_letters(self, limit: int | None = None) -> list[DeadLetter]:
        """What could not be processed, and why."""
        return self.catalog.dead(self.name, limit=limit)


def _opened(settings: Settings, *, create: bool) -> tuple[Settings, Engine]:
    """The live generation, and settings that name its encoder: that of the settings is for a new collection."""
    from models.fetching import fetch
    from models.registry import Registry

    if bundle := live_bundle(settings):
        settings = settings.model_copy(update={"bundle": bundle})
        fetch(settings, bundle)
    return settings, open_engine(settings, Registry(settings.home).get(settings.bundle).dims, create=create)
