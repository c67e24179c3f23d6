"""Texts in pieces, some of them marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from indexer.records import Keyphrase, MentionRow

Kind = Literal["", "found", "keyphrase", "mention"]


@dataclass(frozen=True)
class Span:
    """A range that is to be marked."""

    start: int
    end: int
    kind: Kind
    phrase: str = ""  # as people read it


@dataclass(frozen=True)
class Piece:
    """A stretch of text, marked or not."""

    text: str
    kind: Kind = ""
    phrase: str = ""


def pieces(text: str, spans: Iterable[Span]) -> list[Piece]:
    """Cut a text at its marks. Where they overlap, those that are given first count."""
    chosen: list[Span] = []
    taken = bytearray(len(text))
    for span in spans:
        if 0 <= span.start < span.end <= len(text) and not any(taken[span.start : span.end]):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
            chosen.append(span)
    found: list[Piece] = []
    at = 0
    for span in sorted(chosen, key=lambda span: span.start):
        found += [Piece(text[at : span.start]), Piece(text[span.start : span.end], span.kind, span.phrase)]
        at = span.end
    return [piece for piece in (*found, Piece(text[at:])) if piece.text]


def highlighted(text: str, marks: Sequence[tuple[int, int]]) -> list[Piece]:
    """A fragment with what was found in it."""
    return pieces(text, (Span(start, end, "found") for start, end in marks))


def phrases_of(field: str, keyphrases: Sequence[Keyphrase], mentions: Sequence[MentionRow]) -> list[Span]:
    """Marks in a field of a document: keyphrases first, then the other phrases; longer ones first."""
    chosen = [
        Span(place.start, place.end, "keyphrase", keyphrase.text)
        for keyphrase in keyphrases
        for place in keyphrase.places
        if place.field == field
    ]
    others = [
        Span(place.start, place.end, "mention", row.surface)
        for row in mentions
        for place in row.places
        if place.field == field
    ]
    return [*_longest_first(chosen), *_longest_first(others)]


def _longest_first(spans: list[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: (span.start - span.end, span.start))
