"""Parts of phrases that may be keyphrases too: n-grams over the words of neighbouring candidates.

After SimCKP (EMNLP Findings 2023, algorithm 1). Its phrases come from tags of all kinds; here they are the noun phrases
that indexing has found anyway, and what holds them together ("quality of service"). A part begins and ends with a word of
a phrase, never with what joins two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from indexer.records import Document, Mention, Prepared
from indexer.text.normal_forms import normal_form

MAX_LENGTH = 6  # words; the paper's
_JOINT = re.compile(r"\s+(?:of|for|in|and|on|by|with)\s+")
_WORD = re.compile(r"[^\s\-/]+")
_EDGES = ".,;:!?\"'()[]{}"


def with_parts(document: Document, prepared: Prepared) -> Prepared:
    """The same document with all n-grams of its phrases that are no candidates of their own."""
    own = {(mention.start, mention.end) for mention in prepared.mentions}
    content = document.content
    places = sorted({place for place in _spans(content, prepared) if place not in own})
    parts = (Mention(start, end, normal_form(content[start:end])) for start, end in places)
    return replace(prepared, parts=tuple(part for part in parts if part.phrase))


def _spans(content: str, prepared: Prepared) -> Iterator[tuple[int, int]]:
    for mentions in _chunks(content, prepared.mentions):
        words: list[tuple[int, int]] = []
        inside: list[bool] = []  # of a phrase; the others join two
        for at, mention in enumerate(mentions):
            if at:
                gap = _WORD.search(content, mentions[at - 1].end, mention.start)
                if gap:
                    words.append(gap.span())
                    inside.append(False)
            for word in _WORD.finditer(content, mention.start, mention.end):
                words.append(word.span())
                inside.append(True)
        for first in range(len(words)):
            for last in range(first, min(first + MAX_LENGTH, len(words))):
                if inside[first] and inside[last]:
                    yield _trimmed(content, words[first][0], words[last][1])


def _chunks(content: str, mentions: tuple[Mention, ...]) -> Iterator[list[Mention]]:
    """Mentions that nothing but a joining word stands between."""
    chunk: list[Mention] = []
    for mention in mentions:
        if chunk and not _JOINT.fullmatch(content, chunk[-1].end, mention.start):
            yield chunk
            chunk = []
        chunk.append(mention)
    if chunk:
        yield chunk


def _trimmed(content: str, start: int, end: int) -> tuple[int, int]:
    """Without punctuation at the edges."""
    while start < end and content[start] in _EDGES:
        start += 1
    while end > start and content[end - 1] in _EDGES:
        end -= 1
    return start, end
