"""Cuts a prepared document into windows that an encoder takes whole, and puts the answers together again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter

import numpy as np

from indexer.common import unit
from indexer.protocols import Encoder, Encoding, Window
from indexer.records import Document, EncodedDocument, Mention, Prepared, Sentence
from indexer.text.subspans import with_parts

MAX_MENTION_LENGTH = 400  # characters; only a bound for looking back, nothing is lost beyond it


@dataclass(frozen=True)
class _WindowSpan:
    """One window of one document: a range of its content and the mentions in it."""

    document: int
    start: int
    end: int
    mentions: tuple[int, ...]  # indices into Prepared.mentions


def encode_documents(
    encoder: Encoder, documents: Sequence[Document], prepared: Sequence[Prepared]
) -> list[EncodedDocument]:
    """Encode documents in one call of the encoder; every character of each is in exactly one window.

    The answer depends on the documents of this call only, so the same call again gives the same vectors. Where the
    encoder has a ranker, parts of phrases are encoded too, in the same pass.
    """
    if encoder.ranker:
        prepared = [with_parts(document, ready) for document, ready in zip(documents, prepared, strict=True)]
    mentions = [_mentions(ready) for ready in prepared]
    cuts = list(_telling(_split_all(encoder, documents, prepared, mentions), documents))
    windows = [
        Window(
            documents[cut.document].content[cut.start : cut.end],
            tuple(
                (mention.start - cut.start, min(mention.end, cut.end) - cut.start)
                for mention in (mentions[cut.document][i] for i in cut.mentions)
            ),
        )
        for cut in cuts
    ]
    encodings = encoder.encode(windows)
    parts: list[list[tuple[_WindowSpan, Encoding]]] = [[] for _ in documents]
    for cut, encoding in zip(cuts, encodings, strict=True):
        parts[cut.document].append((cut, encoding))
    return [_assemble(encoder, prepared[i], mentions[i], part) for i, part in enumerate(parts)]


def _telling(cuts: Iterable[_WindowSpan], documents: Sequence[Document]) -> Iterator[_WindowSpan]:
    """Leave out windows of signs alone, such as a long row of brackets, where the document has others."""
    for number, some in groupby(cuts, key=attrgetter("document")):
        found = list(some)
        content = documents[number].content
        telling = [
            cut for cut in found if cut.mentions or any(map(str.isalnum, content[cut.start : cut.end]))
        ]
        yield from telling or found[:1]


def _mentions(ready: Prepared) -> tuple[Mention, ...]:
    """Candidates and parts, in order of appearance."""
    if not ready.parts:
        return ready.mentions
    return tuple(sorted((*ready.mentions, *ready.parts), key=lambda m: (m.start, m.end)))


def _assemble(
    encoder: Encoder,
    ready: Prepared,
    mentions: Sequence[Mention],
    parts: Sequence[tuple[_WindowSpan, Encoding]],
) -> EncodedDocument:
    total = np.zeros(encoder.dims, np.float32)
    order: dict[str, int] = {}  # phrase ► row
    grouped: list[list[Mention]] = []
    rows: list[int] = []
    for mention in mentions:
        row = order.setdefault(mention.phrase, len(order))
        if row == len(grouped):
            grouped.append([])
        grouped[row].append(mention)
        rows.append(row)
    sums = np.zeros((len(order), encoder.dims), np.float32)
    attention = np.zeros(len(order), np.float32)
    for cut, encoding in parts:
        total += encoding.document * max(encoding.tokens, 1)
        at = np.array([rows[i] for i in cut.mentions], np.intp)
        np.add.at(sums, at, encoding.mentions)
        np.add.at(attention, at, encoding.attention)
    vector, vectors = unit(total), unit(sums)
    parts_of = set(ready.parts)
    return EncodedDocument(
        vector=vector,
        phrases=tuple(tuple(group) for group in grouped),
        sentences=tuple(_sentence_of(ready.sentences, group[0]) for group in grouped),
        vectors=vectors,
        attention=attention,
        relevance=encoder.relevance(vectors, vector),
        own=np.array([np.mean([m not in parts_of for m in group]) for group in grouped], np.float32),
    )


def _sentence_of(sentences: Sequence[Sentence], mention: Mention) -> Sentence:
    """The sentence that the mention begins in; sentences are in ascending order."""
    return sentences[max(0, bisect_right(sentences, mention.start, key=lambda s: s.start) - 1)]


def _split_all(
    encoder: Encoder,
    documents: Sequence[Document],
    prepared: Sequence[Prepared],
    mentions: Sequence[Sequence[Mention]],
) -> Iterator[_WindowSpan]:
    texts: list[str] = []
    for document, ready in zip(documents, prepared, strict=True):
        texts += [document.content[s.start : s.end] for s in ready.sentences]
    counts = iter(encoder.count_tokens(texts))
    windows: list[tuple[int, int, int]] = []  # document, start, end
    for number, (document, ready) in enumerate(zip(documents, prepared, strict=True)):
        pieces: list[tuple[int, int, int]] = []  # start, end, word pieces
        for sentence in ready.sentences:
            tokens = next(counts)
            pieces += _fit(encoder, document.content, sentence.start, sentence.end, tokens, ready.mentions)
        windows += [(number, *window) for window in _pack(document.content, pieces, encoder.window_tokens)]
    if not _adds_up(encoder):
        windows = list(_counted_anew(encoder, documents, prepared, windows))
    for number, found in groupby(windows, key=itemgetter(0)):
        yield from _handed_out(number, [(start, end) for _, start, end in found], mentions[number])


def _adds_up(encoder: Encoder) -> bool:
    """Whether sentences that are joined have as many pieces as each by itself: not where white space is pieces too."""
    one, other, both = encoder.count_tokens(["A day.", "A night.", "A day.\n\nA night."])
    return one + other == both


def _counted_anew(
    encoder: Encoder,
    documents: Sequence[Document],
    prepared: Sequence[Prepared],
    windows: Sequence[tuple[int, int, int]],
) -> Iterator[tuple[int, int, int]]:
    """The same windows, and parts of those that are too long after all."""
    counts = encoder.count_tokens([documents[number].content[start:end] for number, start, end in windows])
    for (number, start, end), tokens in zip(windows, counts, strict=True):
        content, inside = documents[number].content, prepared[number].mentions
        for first, last, _ in _fit(encoder, content, start, end, tokens, inside):
            yield number, first, last


def _fit(
    encoder: Encoder, content: str, start: int, end: int, tokens: int, mentions: Sequence[Mention]
) -> list[tuple[int, int, int]]:
    """Halve a sentence that is too long for a window, at white space and outside mentions where there is any."""
    if tokens <= encoder.window_tokens or end - start < 2:
        return [(start, end, tokens)]
    middle = _middle(content, start, end, mentions)
    left, right = encoder.count_tokens([content[start:middle], content[middle:end]])
    return [
        *_fit(encoder, content, start, middle, left, mentions),
        *_fit(encoder, content, middle, end, right, mentions),
    ]


def _middle(content: str, start: int, end: int, mentions: Sequence[Mention]) -> int:
    centre = (start + end) // 2
    reach = (end - start) // 4
    first = bisect_left(mentions, centre - reach - MAX_MENTION_LENGTH, key=lambda m: m.start)
    last = bisect_left(mentions, centre + reach, key=lambda m: m.start)
    inside = mentions[first:last]
    for distance in range(reach):
        for at in (centre - distance, centre + distance):
            if start < at < end and content[at].isspace() and not any(m.start < at < m.end for m in inside):
                return at
    return centre


def _pack(content: str, pieces: Sequence[tuple[int, int, int]], limit: int) -> list[tuple[int, int]]:
    """Join neighbouring pieces while they fit."""
    windows: list[list[int]] = []  # [start, end, tokens]
    for start, end, tokens in pieces:
        # Word-piece counts add up only where the join is not inside a word.
        joins = bool(windows) and not (content[start - 1].isalnum() and content[start].isalnum())
        if joins and windows[-1][2] + tokens <= limit:
            windows[-1][1] = end
            windows[-1][2] += tokens
        else:
            windows.append([start, end, tokens])
    return [(start, end) for start, end, _ in windows]


def _handed_out(
    number: int, windows: Sequence[tuple[int, int]], mentions: Sequence[Mention]
) -> Iterator[_WindowSpan]:
    """Each mention to the window that it begins in."""
    at = 0
    for start, end in windows:
        inside = []
        while at < len(mentions) and mentions[at].start < end:
            # A mention longer than half a window may be cut; its first part speaks for it.
            inside.append(at)
            at += 1
        yield _WindowSpan(number, start, end, tuple(inside))
