"""Records as plain data, for ``--json`` and for the API. The names are those of the records and of docs/commands.md."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indexer.catalog.corrections import Correction
    from indexer.catalog.vocabulary import Term
    from indexer.engines.base import Fragment
    from indexer.pipeline.births import Rising
    from indexer.records import (
        Document,
        Keyphrase,
        MentionRow,
        PhraseRow,
        Place,
        StoredDocument,
        Topic,
        TopicWeight,
    )
    from indexer.search.reasons import Reason
    from indexer.search.results import Facet, Hit, SearchResults
    from indexer.search.trends import Trends
    from indexer.topics.explain import Why
    from indexer.topics.history import TopicDetails, TopicEvent, TopicHistory
    from indexer.topics.naming import WhyName

Labels = Mapping[str, str]  # topic id ► label
Reasons = Mapping[str, "Sequence[Reason]"]  # by document


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
        "duplicate_of": stored.duplicate_of,
    }


def keyphrase(of: Keyphrase) -> dict[str, Any]:
    return {
        "text": of.text,
        "score": rounded(of.score),
        "present": of.present,
        "places": [_place(place) for place in of.places],
    }


def _place(of: Place) -> dict[str, Any]:
    return {
        "field": of.field,
        "start": of.start,
        "end": of.end,
    }  # there are many: asdict takes ten times as long


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
        "label_locked": of.label_locked,
        "parent": of.parent,
        "term": of.term or None,
        "mark": of.mark or None,
    }


def term(of: Term, sizes: Mapping[str, int]) -> dict[str, Any]:
    """A term of the vocabulary, with the number of documents of its topic."""
    return {**asdict(of), "synonyms": list(of.synonyms), "documents": sizes.get(of.topic, 0)}


def rising(of: Rising) -> dict[str, Any]:
    """A subject of new documents without a topic."""
    return {"label": of.label, "documents": list(of.documents), "phrases": list(of.phrases)}


def correction(of: Correction) -> dict[str, Any]:
    """What a user said of a document and a topic."""
    return asdict(of)


def growing(of: Topic, trends: Trends | None) -> dict[str, Any]:
    """A topic with how it grows; shares are null where documents have no dates, growth also where there are too few."""
    found = trends.by_topic.get(of.id) if trends else None
    return {
        **topic(of),
        "since": trends.since if trends and found else None,
        "share_lately": rounded(found.lately) if found else None,
        "share_before": rounded(found.before) if found else None,
        "growth": rounded(found.growth) if found and found.growth is not None else None,
        "clear": found.clear if found else None,
    }


def fragment(of: Fragment) -> dict[str, Any]:
    return {"field": of.field, "text": of.text, "marks": [list(span) for span in of.marks]}


def phrase(of: PhraseRow, score: float, labels: Labels) -> dict[str, Any]:
    return {
        "phrase": surface(of),
        "score": rounded(score),
        "documents": of.documents,
        "topics": [{"id": id_, "label": labels[id_]} for id_ in of.topics if id_ in labels],
        "surfaces": list(of.surfaces),
        "id": of.phrase_id,
    }


def mention(of: MentionRow, score: float, title: str, labels: Labels) -> dict[str, Any]:
    return {
        "phrase": of.surface,
        "score": rounded(score),
        "sentence": of.sentence,
        "marks": [list(span) for span in marks(of.sentence, of.surface)],
        "document": {"id": of.document_id, "title": title},
        "topic": {"id": of.topic, "label": labels.get(of.topic, of.topic)} if of.topic else None,
        "places": [_place(place) for place in of.places],
    }


def results(of: SearchResults, reasons: Reasons | None = None) -> dict[str, Any]:
    """A page of hits. `reasons` only where they were requested."""
    return {
        "query": of.query,
        "mode": of.mode,
        "total": of.total,
        "listed": of.listed,
        "has_more": of.has_more,
        "relaxed": of.relaxed,
        "diverse": of.diverse,
        "close": of.close,
        "corrections": dict(of.corrections),
        "synonyms": {term: list(searched) for term, searched in of.synonyms.items()},
        "hits": [hit(one, of.labels, reasons) for one in of.hits],
        "facets": facets(of.facets),
        "facets_over": of.facets_over,
    }


def hit(of: Hit, labels: Labels, reasons: Reasons | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rank": of.rank,
        "score": rounded(of.score),
        **document(of.stored.document),
        **mined(of.stored, labels),
        "fragments": [fragment(one) for one in of.fragments],
        "passage": of.passage,
        "found_by": dict(of.found_by),
    }
    if reasons is not None:
        near = reasons.get(of.stored.document.id, ())
        found["near"] = [{"phrase": r.phrase, "similarity": r.similarity} for r in near]
    return found


def facets(of: Sequence[Facet]) -> dict[str, list[dict[str, Any]]]:
    return {
        facet.field: [
            {"value": value, "label": label, "documents": number} for value, label, number in facet.values
        ]
        for facet in of
    }


def topic_details(of: TopicDetails) -> dict[str, Any]:
    return {
        **topic(of.topic),
        "path": [above.id for above in of.above],
        "subtopics": [topic(below) for below in of.subtopics],
        "became_too": [other.id for other in of.others],
        "top_documents": [
            {**document(d.document), "weight": rounded(weight(d, of.below))} for d in of.documents
        ],
        "significant_keyphrases": [
            {
                "keyphrase": s.keyphrase,
                "documents": s.documents,
                "everywhere": s.everywhere,
                "score": rounded(s.score),
            }
            for s in of.significant_keyphrases
        ],
        "history": [event(one) for one in of.history.events],
    }


def why_name(of: WhyName) -> dict[str, Any]:
    """Where the name of a topic comes from; `naming` is null where no language model was asked."""
    naming = of.naming
    return {
        "id": of.topic.id,
        "label": of.topic.label,
        "origin": of.origin,
        "mined": of.mined,
        "phrases": list(of.topic.phrases),
        "naming": naming
        and {
            "model": naming.model,
            "at": naming.at,
            "shown": dict(naming.shown),
            "said": naming.said,
            "name": naming.name,
            "refused": naming.refused,
        },
    }


def topic_history(of: TopicHistory) -> dict[str, Any]:
    return {
        "id": of.entry.id,
        "label": of.entry.label,
        "state": of.entry.state,
        "successors": list(of.successors),
        "history": [event(one) for one in of.events],
    }


def event(of: TopicEvent) -> dict[str, Any]:
    names = ("at", "run", "kind", "old_id", "new_id", "score", "label")
    return {**{name: getattr(of.entry, name) for name in names}, "by": of.by}


def why(of: Why, labels: Labels) -> dict[str, Any]:
    return {
        "id": of.document.id,
        "title": of.document.title,
        "topics": [{**topic(one), "weight": rounded(share)} for one, share in of.topics],
        "runner_up": {**topic(of.runner_up[0]), "weight": rounded(of.runner_up[1])} if of.runner_up else None,
        "votes": [
            {
                "phrase": vote.phrase,
                "weight": rounded(vote.weight),
                "topic": vote.topic,
                "label": labels.get(vote.topic, vote.topic) if vote.topic else None,
                "similarity": rounded(vote.similarity),
                "runner_up": vote.runner_up,
                "margin": rounded(vote.margin),
            }
            for vote in of.votes
        ],
        "reach": rounded(of.threshold),
        "bundle": of.bundle,
        "fit": of.fit,
        "whole": of.whole,
        "said": [{"id": one.id, "label": one.label, "belongs": belongs} for one, belongs in of.said],
    }


def weight(of: StoredDocument, topics: Container[str]) -> float:
    """How much of a document is about some topics."""
    return sum(topic.weight for topic in of.topics if topic.topic_id in topics)


def marks(sentence: str, surface: str) -> list[tuple[int, int]]:
    """The first span of a phrase in its sentence, as whole words where possible."""
    pattern = r"\s+".join(map(re.escape, surface.split()))
    found = re.search(rf"(?<!\w){pattern}(?!\w)", sentence) or re.search(pattern, sentence)
    return [found.span()] if found else []


def surface(of: PhraseRow) -> str:
    """The readable form of a phrase: the most frequent one."""
    return of.surfaces[0] if of.surfaces else of.phrase


def rounded(number: float) -> float:
    return round(float(number), 4)
