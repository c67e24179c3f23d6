"""Records ► rows of the indices and back. Only this file and mappings/ define the layout of a record."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from indexer.engines.base import MAX_VALUE_LENGTH, MOSTLY, path_value
from indexer.engines.elastic.opensearch import PLAIN_NAMES, FieldNames
from indexer.engines.elastic.vector_cache import key_of
from indexer.engines.elastic.vectors import NO_VECTOR, VectorField, of_vector
from indexer.engines.values import (
    ISO_DATE,
    Value,
    bindable,
    meta_json,
    restored,
    to_value,
    unencodable,
    unstorable,
    without_nuls,
)
from indexer.records import (
    Document,
    Keyphrase,
    MentionRow,
    MetaValue,
    MinedDocument,
    PhraseRow,
    Place,
    Refinement,
    StoredDocument,
    Topic,
    TopicWeight,
    Vector,
    topic_path,
)

Row = dict[str, Any]

MAX_ID_LENGTH = 512  # bytes; the server takes no more


# -- documents -----------------------------------------------------------------------------------------------


def unstorable_document(document: Document) -> str:
    """Return the reason that a document cannot be stored; empty when it can."""
    reason = unstorable(document)
    if not reason and len(document.id.encode()) > MAX_ID_LENGTH:
        reason = f"the id has {len(document.id.encode()):,} bytes, more than {MAX_ID_LENGTH}"
    return reason


def of_document(document: Document, names: FieldNames = PLAIN_NAMES) -> Row:
    """Return the row of a document that has not been mined."""
    title, text, nuls = without_nuls(document.title, document.text)
    row = {
        "id": document.id,
        "title": title,
        "text": text,
        "source": document.source,
        "hash": document.content_hash,
        "fields": meta_json(document.meta),
        **_values({names.stored(name): value for name, value in document.meta.items()}),
    }
    return row if nuls is None else {**row, "nuls": nuls}


def to_document(row: Mapping[str, Any]) -> Document:
    title, text = restored(row["title"], row["text"], row.get("nuls"))
    return Document(row["id"], text, title, json.loads(row["fields"]), row["source"])


def to_stored(row: Mapping[str, Any], vector: Vector | None) -> StoredDocument:
    """Return a document with its mined data, if any."""
    return StoredDocument(
        to_document(row),
        tuple(
            Keyphrase(k["phrase_id"], k["text"], k["score"], to_places(k["places"]))
            for k in row.get("keyphrase_rows", ())
        ),
        tuple(TopicWeight(t["topic"], t["weight"]) for t in row.get("topic_weights", ())),
        vector,
        row.get("bundle", ""),
        row.get("run", ""),
        row.get("duplicate_of"),
    )


def _values(meta: Mapping[str, MetaValue]) -> Row:
    """Return the searchable user fields: all as text, numbers also as numbers, dates also as dates.

    Each of these objects has fields of one type only, so no document is refused because an earlier one had another
    type.
    """
    texts: Row = {}
    numbers: Row = {}
    dates: Row = {}
    for field, content in meta.items():
        if not searchable_name(field):
            continue
        values = [to_value(item) for item in (content if isinstance(content, list) else [content])]
        known = [value for value in values if value is not None and len(value.text) <= MAX_VALUE_LENGTH]
        if known:
            texts[field] = _one_or_many(dict.fromkeys(value.text for value in known))
        finite = [float(v.number) for v in known if v.number is not None and math.isfinite(v.number)]
        if finite:
            numbers[field] = _one_or_many(finite)
        days = [value.text for value in known if ISO_DATE.fullmatch(value.text)]
        if days:
            dates[field] = _one_or_many(day.replace(" ", "T") for day in days)
    return {"meta": texts, "numbers": numbers, "dates": dates}


def searchable_name(field: str) -> bool:
    """Return whether the server can have a field of this name; others are stored, but neither filtered nor counted."""
    return bool(field.strip())


def _one_or_many(items: Iterable[Any]) -> Any:
    found = list(items)
    return found[0] if len(found) == 1 else found


# -- mined data ------------------------------------------------------------------------------------------


def of_mined(row: MinedDocument, names: TopicNames, vectors: VectorField, nested: bool) -> Row:
    """Return the fields that mining adds to a document."""
    topics = [mention.topic for mention in row.mentions]
    return {
        **of_choice(row, names, nested),
        "phrase_ids": [mention.phrase_id for mention in row.mentions],
        "mention_topics": topics if any(topics) else [],
        **({} if nested else {"sentences": sentences_of(row)}),
        "bundle": row.bundle,
        "mined_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "vector": vectors.stored(row.vector),
    }


def of_choice(row: MinedDocument | Refinement, names: TopicNames, nested: bool) -> Row:
    """Return keyphrases and topics of a document.

    Args:
        nested: The index has no `main_topics`; see `IndexState`.
    """
    topics = [topic.topic_id for topic in row.topics]
    main = {"main_topics": [topic.topic_id for topic in row.topics if topic.weight >= MOSTLY]}
    return {
        **({} if nested else main),
        "keyphrases": list(dict.fromkeys(k.text for k in row.keyphrases if k.present)),
        "keyphrases_absent": list(dict.fromkeys(k.text for k in row.keyphrases if not k.present)),
        "keyphrase_rows": [
            {"phrase_id": k.phrase_id, "text": k.text, "score": k.score, "places": _flat(k.places)}
            for k in row.keyphrases
        ],
        **names.fields(topics),
        "topics": topics,
        "topic_weights": [{"topic": t.topic_id, "weight": t.weight} for t in row.topics],
        "keyphrase_keys": keyphrase_keys(k.text for k in row.keyphrases if k.present),
        "run": row.run,
    }


@dataclass(frozen=True)
class TopicNames:
    """The labels of topics and the parents above them, of which a document has copies for Kibana.

    Attributes:
        labels: Topic ► label.
        parents: Topic ► the topic above it.
        terms: Those that are terms of the user's vocabulary.
    """

    labels: Mapping[str, str]
    parents: Mapping[str, str | None]
    terms: Collection[str] = frozenset()

    @classmethod
    def of(cls, topics: Iterable[Mapping[str, Any]]) -> TopicNames:
        """Those of some rows of topics."""
        found = list(topics)
        return cls(
            {row["id"]: row["label"] for row in found},
            {row["id"]: row.get("parent") for row in found},
            {row["id"] for row in found if row.get("term")},
        )

    def fields(self, topics: Sequence[str]) -> Row:
        """Return labels, and the paths of labels and ids; topics without a label are skipped."""
        known = [topic for topic in topics if self.labels.get(topic)]
        paths = [topic_path(topic, self.parents) for topic in known]
        beginnings = list(dict.fromkeys(path[:end] for path in paths for end in range(1, len(path) + 1)))
        return {
            "topic_labels": [self.labels[topic] for topic in known],
            "terms": [self.labels[topic] for topic in known if topic in self.terms],
            "topic_path": [path_value([self.labels.get(id_, id_) for id_ in path]) for path in beginnings],
            "topic_path_ids": [path_value(path) for path in beginnings],
        }

    def changed(self, before: TopicNames) -> list[str]:
        """Return the topics whose fields are others now."""
        ids = {*self.labels, *before.labels}
        return sorted(id_ for id_ in ids if self.fields([id_]) != before.fields([id_]))


def keyphrase_keys(texts: Iterable[str]) -> list[str]:
    """Return keyphrases as they are compared: case-folded."""
    keys = dict.fromkeys(text.casefold() for text in texts)
    return [key for key in keys if len(key) <= MAX_VALUE_LENGTH]


# -- mentions ------------------------------------------------------------------------------------------------


def mention_id(document_id: str, phrase_id: str) -> str:
    """Return a hash of both ids, because document ids may have the maximum length."""
    return blake2b(f"{document_id}\0{phrase_id}".encode(), digest_size=16).hexdigest()


def sentences_of(row: MinedDocument) -> list[str]:
    """Return the distinct sentences of a document's mentions; the mentions name them by number."""
    return list(dict.fromkeys(mention.sentence for mention in row.mentions))


def of_mentions(
    row: MinedDocument, document: Mapping[str, Any], vectors: VectorField, nested: bool
) -> Iterator[tuple[str, Row]]:
    """Yield the id and the row of each mention. Its document stores its topic, its sentence, and whether it is a
    keyphrase: see `Choice`.

    Args:
        document: The document's stored row; its `meta` and `numbers` are copied, so that they can filter a vector
            search.
        nested: The index of documents has no `sentences`; see `IndexState`.
    """
    numbers = {sentence: number for number, sentence in enumerate(sentences_of(row))}
    copied = {name: document[name] for name in ("meta", "numbers") if document.get(name)}
    for mention in row.mentions:
        vector = vectors.stored(mention.vector)
        yield (
            mention_id(row.id, mention.phrase_id),
            {
                "document_id": mention.document_id,
                "phrase_id": mention.phrase_id,
                "phrase": mention.phrase,
                "surface": mention.surface,
                "score": mention.score,
                "places": _flat(mention.places),
                "sentence": mention.sentence if nested else numbers[mention.sentence],
                "chance": chance(mention.document_id),
                "vector": vector,
                **(
                    {"vector_key": key_of(bytes.fromhex(vector))}
                    if isinstance(vector, str) and not nested
                    else {}
                ),
                **copied,
            },
        )


@dataclass(frozen=True)
class Choice:
    """Topics and keyphrases among a document's mentions, and their sentences.

    The document stores them, not the mentions: topics and keyphrases change with every fit of topics, and rows with a
    vector are expensive to rewrite; several mentions share a sentence. A mention that its document does not name was
    left by a killed writer, and is ignored.
    """

    topics: Mapping[str, str | None]  # phrase id ► topic id, of all mentions
    keyphrases: frozenset[str]  # phrase ids
    sentences: Sequence[str] = ()

    def sentence(self, stored: int | str) -> str:
        """Return the sentence of a mention: a number here, the text itself in rows of version 0.1.0."""
        if isinstance(stored, str):
            return stored
        return self.sentences[stored] if stored < len(self.sentences) else ""


CHOICE_FIELDS = ["phrase_ids", "mention_topics", "keyphrase_rows.phrase_id"]
JOINED_FIELDS = [*CHOICE_FIELDS, "sentences"]


def to_choice(row: Mapping[str, Any]) -> Choice:
    """Read a choice from a document's row, or its `JOINED_FIELDS`."""
    phrases = row.get("phrase_ids", ())
    topics = dict(zip(phrases, row.get("mention_topics") or [None] * len(phrases), strict=True))
    keyphrases = frozenset(keyphrase["phrase_id"] for keyphrase in row.get("keyphrase_rows", ()))
    return Choice(topics, keyphrases, row.get("sentences", ()))


def to_mention(row: Mapping[str, Any], choice: Choice, vector: Vector | None) -> MentionRow:
    return MentionRow(
        document_id=row["document_id"],
        phrase_id=row["phrase_id"],
        phrase=row["phrase"],
        surface=row["surface"],
        score=row["score"],
        places=to_places(row["places"]),
        sentence=choice.sentence(row["sentence"]),
        vector=NO_VECTOR if vector is None else vector,
        topic=choice.topics[row["phrase_id"]],
        keyphrase=row["phrase_id"] in choice.keyphrases,
    )


def chance(document_id: str) -> str:
    """Return a sort key of documents that depends on their ids only."""
    return blake2b(document_id.encode(), digest_size=4).hexdigest()


# -- phrases and topics --------------------------------------------------------------------------------------


def of_phrase(row: PhraseRow, vectors: VectorField) -> Row:
    return {
        "phrase_id": row.phrase_id,
        "phrase": row.phrase,
        "surfaces": list(row.surfaces),
        "documents": row.documents,
        "topics": list(row.topics),
        "vector": vectors.stored(row.vector),
    }


def to_phrase(row: Mapping[str, Any], vector: Vector) -> PhraseRow:
    return PhraseRow(
        row["phrase_id"],
        row["phrase"],
        tuple(row["surfaces"]),
        row["documents"],
        tuple(row["topics"]),
        vector,
    )


def of_topic(topic: Topic) -> Row:
    return {
        "id": topic.id,
        "label": topic.label,
        "phrases": list(topic.phrases),
        "size": topic.size,
        "named_by_hand": topic.label_locked,
        "parent": topic.parent,
        "term": topic.term,
        "centroid": of_vector(topic.centroid),
    }


def to_topic(row: Mapping[str, Any], centroid: Vector) -> Topic:
    return Topic(
        *(row["id"], row["label"], tuple(row["phrases"]), row["size"], centroid),
        label_locked=row["named_by_hand"],
        parent=row.get("parent"),  # 0.1.0 wrote none
        term=row.get("term", ""),
    )


# -- offsets and ids --------------------------------------------------------------------------------------


def _flat(places: Sequence[Place]) -> list[list[Any]]:
    return [[place.field, place.start, place.end] for place in places]


def to_places(rows: Sequence[Sequence[Any]]) -> tuple[Place, ...]:
    return tuple(Place(*row) for row in rows)


def usable(ids: Iterable[str]) -> list[str]:
    """Return the distinct ids, without those that cannot be stored."""
    requested = dict.fromkeys(ids)
    return [id_ for id_ in requested if id_ and not unencodable(id_) and len(id_.encode()) <= MAX_ID_LENGTH]


def compared(value: Value) -> str:
    """Return the text of a value for a query."""
    return bindable(value.text)
