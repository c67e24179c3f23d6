"""Texts in pieces, some of them marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from indexer.records import Keyphrase, MentionRow

NEARBY = 300  # characters of a sentence on either side of a phrase
# A point and space before what can begin a sentence; or an empty line.
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[^\sa-z])|\n\s*\n")

Kind = Literal["", "found", "keyphrase", "mention"]


@dataclass(frozen=True)
class Span:
    """A range that is to be marked."""

    start: int
    end: int
    kind: Kind
    phrase: str = ""  # as people read it


@dataclass(frozen=True)
class TextSpan:
    """A stretch of text, marked or not."""

    text: str
    kind: Kind = ""
    phrase: str = ""
    context: str = ""  # its sentence, with the phrase in [[ ]]: what can be asked for


def text_spans(text: str, spans: Iterable[Span]) -> list[TextSpan]:
    """Cut a text at its marks. Where they overlap, those that are given first count."""
    chosen: list[Span] = []
    taken = bytearray(len(text))
    for span in spans:
        if 0 <= span.start < span.end <= len(text) and not any(taken[span.start : span.end]):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
            chosen.append(span)
    found: list[TextSpan] = []
    at = 0
    for span in sorted(chosen, key=lambda span: span.start):
        found += [
            TextSpan(text[at : span.start]),
            TextSpan(text[span.start : span.end], span.kind, span.phrase),
        ]
        at = span.end
    return [piece for piece in (*found, TextSpan(text[at:])) if piece.text]


def highlighted(text: str, marks: Sequence[tuple[int, int]]) -> list[TextSpan]:
    """A fragment with what was found in it."""
    return text_spans(text, (Span(start, end, "found") for start, end in marks))


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


def in_context(text: str, cut: Iterable[TextSpan]) -> list[TextSpan]:
    """Pieces of a text, those that are phrases with their sentences."""
    found, at = [], 0
    for piece in cut:
        end = at + len(piece.text)
        found.append(replace(piece, context=_sentence(text, at, end)) if piece.phrase else piece)
        at = end
    return found


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a place, which is marked in it; of a long one what is near."""
    before = text[max(0, start - NEARBY) : start]
    begins = [found.end() for found in SENTENCE_END.finditer(before)]
    behind = text[end : end + NEARBY]
    ends = SENTENCE_END.search(behind)
    left = before[begins[-1] :] if begins else _from_a_word(before, whole=start <= NEARBY)
    right = behind[: ends.start() + 1] if ends else _to_a_word(behind, whole=end + NEARBY >= len(text))
    return f"{_plain(left)}[[{_plain(text[start:end])}]]{_plain(right)}".strip()


def _from_a_word(text: str, *, whole: bool) -> str:
    return text if whole else text.partition(" ")[2]


def _to_a_word(text: str, *, whole: bool) -> str:
    return text if whole else text.rpartition(" ")[0]


def _plain(text: str) -> str:
    """On one line, and without marks of its own."""
    return re.sub(r"\s+", " ", text.replace("[[", "[").replace("]]", "]"))
