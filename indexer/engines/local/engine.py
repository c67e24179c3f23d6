"""The embedded engine: each method of the protocol is one transaction or snapshot of functions in other modules."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from indexer.common import Floats, batches
from indexer.engines.base import (
    Counted,
    Damage,
    EngineInfo,
    Filter,
    Fragment,
    HealthProblem,
    NearSentence,
    Ranking,
    Refused,
    SearchAnswer,
    SearchRequest,
    SignificantKeyphrase,
    WordQuery,
    nearest_of_each,
)
from indexer.engines.local import (
    checksums,
    compaction,
    completion,
    document_rows,
    duplicates,
    integrity,
    phrase_rows,
    schema,
    search,
    spelling,
    topic_rows,
)
from indexer.engines.local.connections import RESTORE, Connection, Connections, translated
from indexer.engines.local.facets import own_fields
from indexer.engines.local.schema import doc_numbers
from indexer.engines.local.search import highlights
from indexer.engines.local.vectors import Vectors, from_half, missing, to_half
from indexer.engines.local.words import read_ahead
from indexer.records import (
    Document,
    MentionRow,
    MinedDocument,
    Outline,
    PhraseRow,
    Refinement,
    StoredDocument,
    Topic,
    Vector,
    leaves,
)

FILE = "collection.sqlite"
MIN_FREE_BYTES = 64 << 20  # below it, `problems` reports a full disk
MAX_NOTED = 100_000  # phrases that were read but not written yet; a process that only reads writes none


class LocalEngine:
    """One collection in one folder.

    Args:
        path: The folder; created when it does not exist.
        dims: Length of the vectors.
        language: Of the texts; English words are stemmed, those of other languages are not.
        read_only: Never write, nor create the folder.
        wait: Seconds to wait while another process writes.
        live: Returns the folder of the live generation; None for a generation that is opened by its number.

    Raises:
        MappingMismatch: The collection has vectors of another length, or is of a newer version.
        NotFound: The collection does not exist, and `read_only` is set.
        EngineUnavailable: The folder cannot be used: locked, full, damaged, no permission.
    """

    def __init__(
        self,
        path: Path,
        dims: int,
        *,
        language: str = "english",
        read_only: bool = False,
        wait: float = 30.0,
        live: Callable[[], Path] | None = None,
    ) -> None:
        self.path = path
        self._live = live
        self.dims = dims
        self._language = language
        file = path / FILE
        self._connections = Connections(file, read_only=read_only, wait=wait)
        self._vectors = Vectors(path, dims)
        self._read_at: dict[str, int] = {}  # phrase ► value of `change_count` when it was read
        try:
            if not read_only:
                with translated(file):
                    path.mkdir(parents=True, exist_ok=True)
                self._make_when_new(file)
            with self._connections.reading() as connection:
                schema.prepare(connection, file, dims, language)
        except BaseException:
            self.close()
            raise

    def _make_when_new(self, file: Path) -> None:
        """Write only when there is something to create: opening must not wait for a writer."""
        with self._connections.reading() as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] >= schema.VERSION:
                return
        with self._connections.writing() as connection:
            schema.prepare(connection, file, self.dims, self._language)
            schema.upgrade(connection, self._language)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Open a snapshot of the tables with its vector files."""
        with self._connections.reading() as connection:
            for attempt in range(3):
                try:
                    self._vectors.hold(connection)
                    break
                except FileNotFoundError as error:
                    # Compaction may have removed a file between our reading its name and opening it.
                    if attempt == 2:
                        raise missing(Path(error.filename), "is not there") from error
                    connection.execute("ROLLBACK")
                    connection.execute("BEGIN")
            yield connection

    # -- writing ---------------------------------------------------------------------------------------------

    def store(self, documents: Sequence[Document]) -> list[Refused]:
        with self._connections.writing() as connection:
            return document_rows.store(connection, documents)

    def write_mined(self, rows: Sequence[MinedDocument]) -> list[Refused]:
        with self._connections.writing() as connection:
            return document_rows.write_mined(connection, self._vectors, rows)

    def refine(self, rows: Iterable[Refinement]) -> list[Refused]:
        refused: list[Refused] = []
        for batch in batches(rows, 1_000):
            with self._connections.writing() as connection:
                refused += document_rows.refine(connection, batch)
        return refused

    def write_duplicates(self, originals: Mapping[str, str | None]) -> None:
        for batch in batches(originals.items(), 5_000):
            with self._connections.writing() as connection:
                duplicates.write(connection, dict(batch))

    def delete(self, ids: Sequence[str]) -> int:
        with self._connections.writing() as connection:
            return document_rows.delete(connection, ids)

    def write_phrases(self, rows: Iterable[PhraseRow]) -> None:
        for batch in batches(rows, 2_000):
            with self._connections.writing() as connection:
                changed = self._still_changed(connection, [row.phrase_id for row in batch])
                phrase_rows.write_phrases(connection, self._vectors, batch, changed)

    def delete_phrases(self, ids: Iterable[str]) -> None:
        for batch in batches(ids, 5_000):
            with self._connections.writing() as connection:
                phrase_rows.delete_phrases(connection, batch, self._still_changed(connection, batch))

    def _still_changed(self, connection: sqlite3.Connection, phrases: Sequence[str]) -> set[str]:
        """Return phrases that may have been marked again after this object read their mentions."""
        now = phrase_rows.change_count(connection)
        return {phrase for phrase in phrases if self._read_at.pop(phrase, now) != now}

    def _note_read(self, connection: sqlite3.Connection, phrases: Sequence[str]) -> None:
        self._read_at |= dict.fromkeys(phrases, phrase_rows.change_count(connection))
        for phrase in list(islice(self._read_at, max(0, len(self._read_at) - MAX_NOTED))):
            self._read_at.pop(phrase, None)

    def write_topics(self, topics: Sequence[Topic]) -> None:
        with self._connections.writing() as connection:
            topic_rows.write_topics(connection, topics, self.dims)

    def catch_up(self) -> None:
        """Do nothing: every snapshot contains all writes."""

    def compact(self) -> None:
        compaction.compact(self._connections, self._vectors)

    def wasteful(self) -> bool:
        with self._reading() as connection:
            return compaction.is_worthwhile(connection)

    def superseded(self) -> bool:
        return self._live is not None and self._live() != self.path

    def read_ahead(self) -> None:
        with self._connections.reading() as connection:
            read_ahead(connection)

    def retrying(self) -> AbstractContextManager[None]:
        return nullcontext()  # files are always available

    def close(self) -> None:
        self._connections.close()
        self._vectors.close()

    # -- reading ---------------------------------------------------------------------------------------------

    def fields(self) -> list[str]:
        with self._reading() as connection:
            return list(connection.remembered("fields", lambda: own_fields(connection)))

    def info(self) -> EngineInfo:
        with self._reading() as connection:
            counts = {
                table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("documents", "mined", "phrases")
            }
            topics = len(leaves(topic_rows.read_topics(connection)))
            (mentions,) = connection.execute("SELECT coalesce(sum(mentions), 0) FROM mined").fetchone()
            (without_topic,) = connection.execute("SELECT count(*) FROM mined WHERE topics = '[]'").fetchone()
        size = 0
        for file in self.path.iterdir():
            with suppress(FileNotFoundError):  # removed by a concurrent compaction
                size += file.stat().st_size
        return EngineInfo(
            **counts,
            topics=topics,
            mentions=mentions,
            without_topic=without_topic,
            bytes=size,
            description=f"local, SQLite {sqlite3.sqlite_version}",
        )

    def problems(self, *, full: bool = False) -> list[HealthProblem]:
        free = shutil.disk_usage(self.path).free
        if free >= MIN_FREE_BYTES:
            return []
        found = f"the disk of {self.path} has {free / 2**20:.0f} MiB left"
        return [HealthProblem(found, "Free some space: without it, writes fail.", fatal=free == 0)]

    def damage(self, *, deep: bool = False) -> Damage:
        deep_tables = deep and not self._connections.read_only
        with self._connections.reading() as connection:
            faults = integrity.faults(connection, deep=deep_tables)
            if faults and integrity.tables_damaged(connection):
                return Damage(found=self._named(faults), beyond_repair=RESTORE)
            damage = checksums.described(self._damaged(connection, deep=deep), connection)
        return replace(damage, found=(*self._named(faults), *damage.found))

    def _named(self, faults: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{self.path / FILE}: {fault}" for fault in faults)

    def set_aside(self, damage: Damage) -> None:
        with self._connections.writing(durable=True) as connection:
            integrity.mend(connection, RESTORE)
            checksums.set_aside(connection, self._damaged(connection, deep=True), self._vectors.row_bytes)
        self._vectors.close()  # a file may be a new one under its old name

    def _damaged(self, connection: Connection, *, deep: bool) -> list[checksums.DamagedBlocks]:
        return list(checksums.damaged(connection, self.path, self._vectors.row_bytes, deep=deep))

    def documents(self, ids: Sequence[str], *, vectors: bool = False) -> list[StoredDocument]:
        with self._reading() as connection:
            return self._documents(connection, ids, vectors)

    def _documents(
        self, connection: Connection, ids: Sequence[str], vectors: bool = False
    ) -> list[StoredDocument]:
        docs = doc_numbers(connection, ids)
        found = dict(document_rows.read(connection, list(docs.values())))
        extra = document_rows.summaries(connection, list(docs.values()))
        originals = duplicates.of(connection, docs.values())
        matrix = self._vectors.rows(connection, "documents")
        stored = {}
        for id_, doc in docs.items():
            summary = extra.get(doc)
            original = originals.get(doc)
            if summary is None:
                stored[id_] = StoredDocument(found[doc], duplicate_of=original)
                continue
            vector = from_half(matrix[summary.slot][None])[0] if vectors else None
            stored[id_] = StoredDocument(
                *(found[doc], summary.keyphrases, summary.topics, vector, summary.bundle, summary.run),
                duplicate_of=original,
            )
        return [stored[id_] for id_ in ids if id_ in stored]

    def outlines(self, ids: Sequence[str]) -> list[Outline]:
        with self._reading() as connection:
            return phrase_rows.outlines(connection, ids)

    def as_stored(self, vectors: Floats) -> Floats:
        return from_half(to_half(vectors))

    def duplicates(self) -> dict[str, str]:
        with self._connections.reading() as connection:
            return duplicates.read(connection)

    def document_ids(self) -> Iterator[str]:
        last = ""
        while True:
            with self._reading() as connection:
                page = document_rows.all_ids(connection, last)
            if not page:
                return
            yield from page
            last = page[-1]

    def mentions(self, document_ids: Sequence[str]) -> list[MentionRow]:
        with self._reading() as connection:
            groups = list(phrase_rows.mentions_of_documents(connection, self._vectors, document_ids))
        return [row for group in groups for row in group]

    def mentions_by_phrase(
        self, phrase_ids: Sequence[str] | None = None, *, limit: int = 64
    ) -> Iterator[list[MentionRow]]:
        # Each page is a snapshot: one long snapshot would keep the write-ahead log from shrinking.
        last = ""
        given = iter(sorted(set(phrase_ids))) if phrase_ids is not None else None
        while True:
            with self._reading() as connection:
                if given is None:
                    page = phrase_rows.page_of_phrases(connection, last)
                else:
                    page = list(islice(given, phrase_rows.PHRASES_AT_ONCE))
                if not page:
                    return
                self._note_read(connection, page)
                groups = phrase_rows.mentions_by_phrase(connection, self._vectors, page, limit)
            yield from groups
            last = page[-1]

    def phrases(self, ids: Sequence[str]) -> list[PhraseRow]:
        with self._reading() as connection:
            return phrase_rows.read_phrases(connection, self._vectors, ids)

    def changed_phrases(self) -> Iterator[str]:
        last = -1
        while True:
            with self._reading() as connection:
                page = phrase_rows.page_of_changed(connection, last)
            if not page:
                return
            yield from (id_ for _, id_ in page)
            last = page[-1][0]

    def phrase_ids(self) -> Iterator[str]:
        last = ""
        while True:
            with self._reading() as connection:
                page = phrase_rows.page_of_phrase_ids(connection, last)
            if not page:
                return
            yield from page
            last = page[-1]

    def topics(self) -> list[Topic]:
        with self._reading() as connection:
            return topic_rows.read_topics(connection)

    def topic_documents(self, topic_id: str, centroid: Vector, *, limit: int = 10) -> Ranking:
        with self._reading() as connection:
            return search.of_topic(connection, self._vectors, topic_id, centroid, limit)

    # -- searching -------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> SearchAnswer:
        with self._reading() as connection:
            return search.search(connection, self._vectors, request)

    def spellings(self, words: Sequence[str]) -> dict[str, str]:
        with self._reading() as connection:
            return spelling.spellings(connection, words)

    def keyphrases_with(self, beginning: str, *, limit: int) -> list[tuple[str, int]]:
        with self._reading() as connection:
            return completion.keyphrases_with(connection, beginning, limit)

    def titles_with(self, beginning: str, *, limit: int) -> list[tuple[str, str]]:
        with self._reading() as connection:
            return completion.titles_with(connection, beginning, limit)

    def scan(
        self, words: WordQuery | None = None, filters: tuple[Filter, ...] = ()
    ) -> Iterator[tuple[str, float]]:
        with self._reading() as connection:
            found = search.scan(connection, words, filters)
        yield from zip(found.ids, found.scores, strict=True)

    def count_topics(self, parts: Sequence[tuple[Filter, ...]]) -> list[Counted]:
        with self._reading() as connection:
            return search.count_topics(connection, parts)

    def significant_keyphrases(
        self, filters: tuple[Filter, ...], *, limit: int = 10
    ) -> list[SignificantKeyphrase]:
        with self._reading() as connection:
            return search.significant_keyphrases(connection, filters, limit)

    def hits(
        self, words: WordQuery, ids: Sequence[str], *, fragments: int = 3
    ) -> tuple[list[StoredDocument], Mapping[str, tuple[Fragment, ...]]]:
        with self._reading() as connection:
            return self._documents(connection, ids), highlights(connection, words, ids, fragments)

    def near_sentences(self, vector: Vector, ids: Sequence[str]) -> list[NearSentence]:
        with self._reading() as connection:
            return nearest_of_each(phrase_rows.near_sentences(connection, self._vectors, vector, ids))

    def nearest_phrases(self, vector: Vector, *, limit: int = 10) -> list[tuple[PhraseRow, float]]:
        with self._reading() as connection:
            return search.nearest_phrases(connection, self._vectors, vector, limit)

    def nearest_mentions(
        self, vector: Vector, *, limit: int = 10, filters: tuple[Filter, ...] = ()
    ) -> list[tuple[MentionRow, float]]:
        with self._reading() as connection:
            return search.nearest_mentions(connection, self._vectors, vector, limit, filters)
