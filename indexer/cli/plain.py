"""Records as plain data, for ``--json``. The names are those of the records and of docs/commands.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indexer.engines.base import Fragment
    from indexer.records import Document, Keyphrase, MentionRow, PhraseRow, StoredDocument, Topic, TopicWeight

Labels = Mapping[str, str]  # topic id ► label


def labels_of(topics: Sequence[Topic]) -> Labels:
    return {topic.id: topic.label for topic in topics}


def document(of: Document, *, text: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"id": of.id, "title": of.title, "source": of.source, "meta": dict(of.meta)}
    return {**found, "text": of.text} if text else found


def mined(stored: StoredDocument, labels: Labels) -> dict[str, Any]:
    """What mining has added to a document."""
    return {
        "topics": topic_weights(stored.topics, labels),
        "keyphrases": [keyphrase(k) for k in stored.keyphrases],
    }


def keyphrase(of: Keyphrase) -> dict[str, Any]:
    return {
        "text": of.text,
        "score": rounded(of.score),
        "present": of.present,
        "places": [asdict(place) for place in of.places],
    }


def topic_weights(weights: Sequence[TopicWeight], labels: Labels) -> list[dict[str, Any]]:
    return [
        {"id": w.topic_id, "label": labels.get(w.topic_id, w.topic_id), "weight": rounded(w.weight)}
        for w in weights
    ]


def topic(of: Topic) -> dict[str, Any]:
    return {
        "id": of.id,
        "label": of.label,
        "documents": of.size,
        "phrases": list(of.phrases),
        "named_by_hand": of.named_by_hand,
    }


def fragment(of: Fragment) -> dict[str, Any]:
    return {"field": of.field, "text": of.text, "marks": [list(span) for span in of.marks]}


def phrase(of: PhraseRow, score: float, labels: Labels) -> dict[str, Any]:
    return {
        "phrase": surface(of),
        "score": rounded(score),
        "documents": of.documents,
        "topics": [{"id": id_, "label": labels.get(id_, id_)} for id_ in of.topics],
        "surfaces": list(of.surfaces),
        "id": of.phrase_id,
    }


def mention(of: MentionRow, score: float, title: str, labels: Labels) -> dict[str, Any]:
    return {
        "phrase": of.surface,
        "score": rounded(score),
        "sentence": of.sentence,
        "document": {"id": of.document_id, "title": title},
        "topic": {"id": of.topic, "label": labels.get(of.topic, of.topic)} if of.topic else None,
        "places": [asdict(place) for place in of.places],
    }


def surface(of: PhraseRow) -> str:
    """The readable form of a phrase: the most frequent one."""
    return of.surfaces[0] if of.surfaces else of.phrase


def name_of(of: Document) -> str:
    """What people call a document: its title, else its file, else its id."""
    return of.title or str(of.meta.get("file") or "") or of.id


def rounded(number: float) -> float:
    return round(float(number), 4)
