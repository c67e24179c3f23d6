"""Writing documents, what was mined from them, and topics.

A document and its mentions are rows of several indices, and no server writes them in one step. The order compensates:
first a change mark for each phrase that the document loses; then the new mentions, the document that names them, and the
removal of mentions that it no longer names. When a document is removed, its mentions go first. After a crash in between,
the same call completes the work; mentions that no document names in the end are removed by `compact`. The change marks
are written again at the end: a process that consolidates phrases concurrently may have read the rows too early and
removed the first mark. Phrases that a document keeps or gains need no mark: it is not finished before they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from indexer.engines.base import CHANGED, NO_DOCUMENT, Refused, Why
from indexer.engines.elastic import rows
from indexer.engines.elastic.bulk import Action
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import IndexState, Names
from indexer.engines.elastic.reading import VECTORS, Freshness, Version, by_id, stream, versions_by_id
from indexer.engines.elastic.rows import Row, mention_id
from indexer.engines.elastic.vector_cache import VectorCache
from indexer.engines.elastic.vectors import bad_vector, vector_of
from indexer.engines.values import unencodable, unstorable_mined
from indexer.errors import WriteRefused
from indexer.records import Document, MentionRow, MinedDocument, Refinement, Topic

TOPICS_PAGE = 10_000  # rows of one search, the limit of the server
NOT_MINED = "it has not been mined"
MINED = [*rows.CHOICE_FIELDS, "meta", "numbers", "bundle", "hash"]
MISSING: tuple[str, Why] = (NO_DOCUMENT, "missing")


@dataclass(frozen=True)
class Writer:
    """Writes documents and mined data of one collection."""

    cluster: Cluster
    names: Names
    dims: int
    fresh: Freshness
    state: IndexState
    cache: VectorCache | None = None

    # -- documents -------------------------------------------------------------------------------------------

    def store(self, documents: Sequence[Document]) -> list[Refused]:
        """Write new and changed documents. Of several with one id, the last one is written."""
        refused, taken = [], {}
        for document in documents:
            reason = rows.unstorable_document(document)
            if reason:
                refused.append(Refused(document.id, reason))
            else:
                taken[document.id] = document
        old = self._stored(list(taken), ["hash", "source", "phrase_ids"])
        actions, changed = [], []
        for id_, document in taken.items():
            known = old.get(id_)
            if known is None or known["hash"] != document.content_hash:
                changed.append(id_)
                body = rows.of_document(document, self.state.fields)
                actions.append(Action("index", self.names.documents, id_, body))
            elif known["source"] != document.source:
                actions.append(Action("update", self.names.documents, id_, {"source": document.source}))
        replaced = {id_: old[id_] for id_ in changed if id_ in old}
        self._mark(phrase for row in replaced.values() for phrase in row.get("phrase_ids", ()))
        self._remove_mentions(replaced)
        failures = self.fresh.send(actions)
        self._mark(phrase for row in replaced.values() for phrase in row.get("phrase_ids", ()))
        self.fresh.refresh(self.names.documents)
        return refused + [Refused(failure.action.id, failure.reason) for failure in failures]

    def delete(self, ids: Sequence[str]) -> int:
        """Remove documents and their mentions, mentions first, so that a killed call can be repeated."""
        old = self._stored(ids, ["phrase_ids"])
        self._mark(phrase for row in old.values() for phrase in row.get("phrase_ids", ()))
        self._remove_mentions(old)
        self.fresh.must(Action("delete", self.names.documents, id_) for id_ in old)
        self._mark(phrase for row in old.values() for phrase in row.get("phrase_ids", ()))
        self.fresh.refresh(self.names.documents)
        return len(old)

    def write_duplicates(self, originals: Mapping[str, str | None]) -> None:
        """Set the originals of documents; None removes the value. A document that is not there is skipped."""
        there = self._stored(list(originals), ["id"])
        self.fresh.must(
            Action("update", self.names.documents, id_, {"duplicate_of": originals[id_]}) for id_ in there
        )

    # -- mined data --------------------------------------------------------------------------------------

    def write_mined(self, mined: Sequence[MinedDocument], topics: rows.TopicNames) -> list[Refused]:
        """Replace the mined data of these documents. Of several rows with one id, the last one is written."""
        versions = self._versions(row.id for row in mined)
        old = {id_: version.row for id_, version in versions.items()}
        refused: dict[str, tuple[str, Why]] = {}
        taken: dict[str, MinedDocument] = {}
        for row in mined:
            problem = self._problem(row, old.get(row.id))
            if problem:
                refused[row.id] = problem
            else:
                taken[row.id] = _without_repeats(row)
                refused.pop(row.id, None)
        self._mark(_lost(row, old[row.id]) for row in taken.values())
        vectors = self.state.vectors[self.names.mentions]
        bodies = {
            id_: body
            for row in taken.values()
            for id_, body in rows.of_mentions(row, old[row.id], vectors, self.state.nested)
        }
        failures = self.fresh.send(
            Action("index", self.names.mentions, id_, body) for id_, body in bodies.items()
        )
        if self.cache:
            keyed = (body for body in bodies.values() if "vector_key" in body)
            self.cache.add({body["vector_key"]: bytes.fromhex(body["vector"]) for body in keyed})
        for failure in failures:
            body = failure.action.body or {}
            refused[body["document_id"]] = (f"mention '{body['phrase']}': {failure.reason}", "unsound")
        for id_ in refused.keys() & taken.keys():
            self._remove_mentions({id_: {"phrase_ids": _new_only(taken.pop(id_), old[id_])}})
        refused |= self._add_to_documents(taken, versions, topics)
        stale = {
            id_: {"phrase_ids": [p for p in old[id_].get("phrase_ids", ()) if p not in _phrases(row)]}
            for id_, row in taken.items()
            if id_ not in refused
        }
        self._remove_mentions(stale)
        self._mark(_lost(row, old[row.id]) for row in taken.values())
        return [Refused(row.id, *refused[row.id]) for row in mined if row.id in refused]

    def _add_to_documents(
        self, taken: Mapping[str, MinedDocument], versions: Mapping[str, Version], topics: rows.TopicNames
    ) -> dict[str, tuple[str, Why]]:
        """Write the mined data into each document, unless it changed since it was read.

        A conflict alone does not mean that the text changed: the source may have changed, or the answer to our own first
        try was lost. So the document is read again, and its content hash decides. Mentions of an old text stay: its
        document does not name them, so they are ignored until mining the new text overwrites them or `compact` removes
        them.

        Returns:
            The refused rows, by id.
        """
        field = self.state.vectors[self.names.documents]
        mined = partial(rows.of_mined, names=topics, vectors=field, nested=self.state.nested)
        refused: dict[str, tuple[str, Why]] = {}
        waiting = dict(taken)
        while waiting:
            failures = self.fresh.send(
                Action("update", self.names.documents, id_, mined(row), versions[id_].guard)
                for id_, row in waiting.items()
            )
            conflicts = [failure.action.id for failure in failures if failure.conflict]
            for failure in failures:
                refused[failure.action.id] = MISSING if failure.missing else (failure.reason, "unsound")
            versions = self._versions(conflicts)
            waiting = {}
            for id_ in conflicts:
                problem = _outdated(taken[id_], versions[id_].row) if id_ in versions else MISSING
                if problem:
                    refused[id_] = problem
                else:
                    del refused[id_]
                    waiting[id_] = taken[id_]
        return refused

    def refine(self, refinements: Sequence[Refinement], named: rows.TopicNames) -> list[Refused]:
        """Replace keyphrases and topics of mined documents; no row of mentions is written."""
        old = self._stored([row.id for row in refinements], MINED)
        refused, taken = [], {}
        for row in refinements:
            reason = "" if old.get(row.id, {}).get("bundle") else NOT_MINED
            reason = reason or unstorable_mined(row)
            if row.id not in old:
                refused.append(Refused(row.id, *MISSING))
            elif reason:
                refused.append(Refused(row.id, reason))
            else:
                taken[row.id] = row
        updates = []
        for row in taken.values():
            before = rows.to_choice(old[row.id])
            topics = {
                phrase: row.mention_topics.get(phrase, topic) for phrase, topic in before.topics.items()
            }
            body = {**rows.of_choice(row, named, self.state.nested), "mention_topics": list(topics.values())}
            updates.append(Action("update", self.names.documents, row.id, body))
        failures = self.fresh.send(updates)
        return refused + [
            Refused(failure.action.id, *(MISSING if failure.missing else (failure.reason,)))
            for failure in failures
        ]

    def has_lost_mentions(self) -> bool:
        """Return whether there are more mentions than documents name."""
        self.fresh.refresh(self.names.mentions, self.names.documents)
        named = {"value_count": {"field": "phrase_ids"}}
        documents, mentions = self.cluster.search_many(
            [
                (self.names.documents, {"size": 0, "aggs": {"named": named}}),
                (self.names.mentions, {"size": 0, "track_total_hits": True}),
            ]
        )
        return int(mentions["hits"]["total"]["value"]) > int(documents["aggregations"]["named"]["value"])

    def sweep(self) -> int:
        """Remove mentions that no document names, left by a killed writer. Returns the number removed."""
        self.fresh.refresh(self.names.mentions, self.names.documents)
        removed = 0
        found: list[Row] = []
        hits = stream(
            self.cluster, self.names.mentions, {"match_all": {}}, sort=["document_id", "phrase_id"],
            fields=["document_id", "phrase_id"],
        )  # fmt: skip
        for hit in hits:
            found.append(hit)
            if len(found) == 5_000:
                removed += self._sweep(found)
                found = []
        return removed + self._sweep(found)

    def _sweep(self, hits: Sequence[Row]) -> int:
        named = self._stored({hit["_source"]["document_id"]: None for hit in hits}, ["phrase_ids"])
        lost = [
            hit
            for hit in hits
            if hit["_source"]["phrase_id"]
            not in named.get(hit["_source"]["document_id"], {}).get("phrase_ids", ())
        ]
        self._mark(hit["_source"]["phrase_id"] for hit in lost)
        self.fresh.must(Action("delete", self.names.mentions, hit["_id"]) for hit in lost)
        return len(lost)

    # -- steps -----------------------------------------------------------------------------------------------

    def _stored(self, ids: Iterable[str], fields: Sequence[str]) -> dict[str, Row]:
        return by_id(self.cluster, self.names.documents, list(ids), fields)

    def _versions(self, ids: Iterable[str]) -> dict[str, Version]:
        return versions_by_id(self.cluster, self.names.documents, list(ids), MINED)

    def _mark(self, phrases: Iterable[str] | Iterable[set[str]]) -> None:
        """Write change marks for these phrases."""
        flat: dict[str, None] = {}
        for item in phrases:
            flat.update(dict.fromkeys([item] if isinstance(item, str) else item))
        self.fresh.must(Action("index", self.names.changes, id_, {"phrase_id": id_}) for id_ in flat)

    def _remove_mentions(self, documents: Mapping[str, Row]) -> None:
        self.fresh.must(
            Action("delete", self.names.mentions, mention_id(id_, phrase))
            for id_, row in documents.items()
            for phrase in row.get("phrase_ids", ())
        )

    def _problem(self, row: MinedDocument, stored: Row | None) -> tuple[str, Why] | None:
        """Return the reason that a row cannot be stored; None when it can."""
        if stored is None:
            return MISSING
        if outdated := _outdated(row, stored):
            return outdated
        reasons = (bad_vector(v, self.dims) for v in (row.vector, *(m.vector for m in row.mentions)))
        unsound = next(filter(None, reasons), "") or unstorable_mined(row)
        return (unsound, "unsound") if unsound else None


def _outdated(row: MinedDocument, stored: Row) -> tuple[str, Why] | None:
    """Return a refusal when the document has another text than the one that the row was mined from."""
    return None if stored["hash"] == row.content_hash else (CHANGED, "changed")


def _without_repeats(row: MinedDocument) -> MinedDocument:
    """Keep the last mention of each phrase."""
    mentions: dict[str, MentionRow] = {mention.phrase_id: mention for mention in row.mentions}
    if len(mentions) == len(row.mentions):
        return row
    return replace(row, mentions=tuple(mentions.values()))


def _phrases(row: MinedDocument) -> set[str]:
    return {mention.phrase_id for mention in row.mentions}


def _lost(row: MinedDocument, stored: Row) -> set[str]:
    """Return phrases that a document had and has no longer."""
    return set(stored.get("phrase_ids", ())) - _phrases(row)


def _new_only(row: MinedDocument, stored: Row) -> list[str]:
    return sorted(_phrases(row) - set(stored.get("phrase_ids", ())))


# -- topics --------------------------------------------------------------------------------------------------


def write_topics(
    cluster: Cluster, names: Names, fresh: Freshness, topics: Sequence[Topic], dims: int
) -> None:
    """Replace the topics of the collection, and update their labels and paths on documents."""
    for topic in topics:
        reason = bad_vector(topic.centroid, dims) or unencodable(
            "\n".join([topic.id, topic.label, *topic.phrases])
        )
        if reason:
            raise WriteRefused(f"Topic {topic.id} was refused: {reason}.")
    fresh.refresh(names.topics)
    before = topic_names(cluster, names)
    requested = {topic.id: rows.of_topic(topic) for topic in topics}
    # The rows come last: after a crash they still say which labels documents may not have yet.
    _rename(cluster, names, fresh, before, rows.TopicNames.of(requested.values()))
    actions = [Action("index", names.topics, id_, row) for id_, row in requested.items()]
    actions += [
        Action("delete", names.topics, id_) for id_ in sorted(before.labels.keys() - requested.keys())
    ]
    fresh.must(actions)


def _rename(
    cluster: Cluster, names: Names, fresh: Freshness, before: rows.TopicNames, after: rows.TopicNames
) -> None:
    """Update the labels and paths on documents of topics of which one is new, another one, or gone."""
    changed = after.changed(before)
    if not changed:
        return
    fresh.refresh(names.documents)
    having = {"terms": {"topics": changed}}
    fields = ["topics", "topic_labels", "terms", "topic_path", "topic_path_ids"]
    hits = stream(cluster, names.documents, having, sort=["id"], fields=fields)
    fresh.must(
        Action("update", names.documents, hit["_id"], requested)
        for hit in hits
        if not (requested := after.fields(hit["_source"]["topics"])).items() <= hit["_source"].items()
    )


TopicsVersion = tuple[int, tuple[int, int, str] | None]  # number of rows, newest write


class Topics:
    """Reads the topics of a collection, and again only when a row of their index has changed.

    Every search needs their labels. The number of rows and the newest write among them tell whether they have changed,
    in a tenth of the time that it takes to read them.
    """

    def __init__(self, cluster: Cluster, names: Names) -> None:
        self._cluster = cluster
        self._names = names
        self._read: tuple[TopicsVersion, list[Topic]] | None = None

    def all(self) -> list[Topic]:
        """Return all topics, largest first."""
        if self._read is None or self._read[0] != self._version():
            hits = _rows(self._cluster, self._names, vectors=True)
            found = [(hit["_source"], vector_of(hit, "centroid")) for hit in hits]
            topics = [rows.to_topic(row, centroid) for row, centroid in found if centroid is not None]
            # Of what was read: another copy of the shard may be newer than this one.
            version = len(hits), max((_written(hit) for hit in hits), default=None)
            self._read = version, sorted(topics, key=lambda topic: (-topic.size, topic.id))
        return list(self._read[1])

    def _version(self) -> TopicsVersion:
        hits = self._cluster.search(
            index=self._names.topics,
            size=1,
            sort=[{"_seq_no": "desc"}],
            source=False,
            seq_no_primary_term=True,
            track_total_hits=True,
        )["hits"]
        return int(hits["total"]["value"]), _written(hits["hits"][0]) if hits["hits"] else None


def _written(hit: Row) -> tuple[int, int, str]:
    """Return when a row was written, in the order of all writes of its index."""
    return hit["_seq_no"], hit["_primary_term"], hit["_index"]


def topic_names(cluster: Cluster, names: Names) -> rows.TopicNames:
    """Return the labels of all topics, and their parents."""
    return rows.TopicNames.of(hit["_source"] for hit in _rows(cluster, names))


def _rows(cluster: Cluster, names: Names, *, vectors: bool = False) -> list[Any]:
    """Return all rows of topics; there are never more than one search returns."""
    answer = cluster.search(
        index=names.topics,
        size=TOPICS_PAGE,
        source={"excludes": VECTORS},
        fields=[{"field": "centroid"}] if vectors else None,
        seq_no_primary_term=vectors,
        track_total_hits=False,
    )
    return list(answer["hits"]["hits"])
