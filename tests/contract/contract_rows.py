"""Small rows for the contract tests, with vectors whose cosines can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np

from indexer.records import (
    Document,
    Keyphrase,
    MentionRow,
    MinedDocument,
    PhraseRow,
    Place,
    Topic,
    TopicWeight,
    Vector,
)

DIMS = 8
ROUNDING = 5e-3  # an engine may keep vectors in fewer bits


def axis(number: int) -> Vector:
    """The unit vector along one axis: cosine 0 with every other axis."""
    vector = np.zeros(DIMS, np.float32)
    vector[number] = 1
    return vector


def between(first: int, second: int, degrees: float) -> Vector:
    """Unit vector in the plane of two axes, `degrees` away from the first: their cosine is cos(degrees)."""
    angle = math.radians(degrees)
    return np.asarray(math.cos(angle) * axis(first) + math.sin(angle) * axis(second), np.float32)


_hashes: dict[
    str, str
] = {}  # of the document that was made last under an id: what `mined` is of, unless said


def document(id_: str, text: str = "plain text", title: str = "", **meta: object) -> Document:
    made = Document(id_, text, title, meta)  # type: ignore[arg-type]
    _hashes[id_] = made.content_hash
    return made


def keyphrase(text: str, score: float = 0.5, *places: Place) -> Keyphrase:
    return Keyphrase(f"p-{text.casefold()}", text, score, places or (Place("text", 0, 5),))


def absent(text: str, score: float = 0.5) -> Keyphrase:
    """One that does not stand in the text."""
    return Keyphrase(f"p-{text.casefold()}", text, score)


def mention(
    document_id: str,
    phrase: str,
    vector: Vector | None = None,
    *,
    score: float = 0.5,
    topic: str | None = None,
    surface: str = "",
) -> MentionRow:
    return MentionRow(
        document_id=document_id,
        phrase_id=f"p-{phrase}",
        phrase=phrase,
        surface=surface or phrase,
        score=score,
        places=(Place("text", 4, 4 + len(phrase)),),
        sentence=f"The {phrase} stands here.",
        vector=axis(0) if vector is None else vector,
        topic=topic,
    )


def mined(
    id_: str,
    vector: Vector | None = None,
    *,
    keyphrases: tuple[Keyphrase, ...] = (),
    topics: tuple[tuple[str, float], ...] = (),
    mentions: tuple[MentionRow, ...] = (),
    bundle: str = "base",
    run: str = "run-1",
    of: Document | None = None,
) -> MinedDocument:
    return MinedDocument(
        id_,
        axis(0) if vector is None else vector,
        keyphrases,
        tuple(TopicWeight(*topic) for topic in topics),
        mentions,
        bundle,
        run,
        of.content_hash if of else _hashes.get(id_, ""),
    )


def phrase(text: str, vector: Vector | None = None, documents: int = 2) -> PhraseRow:
    return PhraseRow(
        f"p-{text}",
        text,
        (text.title(), text),
        documents,
        ("t-000001",),
        axis(0) if vector is None else vector,
    )


def topic(id_: str, size: int = 1, label: str = "label", parent: str | None = None) -> Topic:
    return Topic(id_, label, ("heat pump", "boiler"), size, axis(1), parent=parent)
