"""Candidate phrases: which runs of tagged words may become a phrase."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexer.text.stopwords import ENGLISH, GENERIC_LEADERS, NEVER_ALONE, NEVER_INSIDE

LONGEST_PHRASE = 6  # words; a hyphenated compound is one

# A token is (start, end, tag); offsets count in the text of the piece.
Token = tuple[int, int, str]
Span = tuple[int, int]

# One letter for each kind of word, so that a sentence becomes a string and the pattern a regular expression.
NOUN, ADJECTIVE, PARTICIPLE, NUMBER, POSSESSIVE, OTHER = "NJVCPx"
KINDS = {
    "NN": NOUN, "NNS": NOUN, "NNP": NOUN, "NNPS": NOUN, "FW": NOUN,
    "JJ": ADJECTIVE, "JJR": ADJECTIVE, "JJS": ADJECTIVE, "AFX": ADJECTIVE,
    "VBN": PARTICIPLE, "VBG": PARTICIPLE,
    "CD": NUMBER, "POS": POSSESSIVE,
}  # fmt: skip
PHRASE = re.compile(r"[JVN](?:[JVCN]|(?<=N)P(?=[JN]))*(?<=N)C?|[JVN](?:[JVN])*N|N")

HYPHENS = frozenset("-‐‑‒–—−")
GLUE = HYPHENS | {"/", "&"}
_LETTERS = re.compile(r"[^\W\d_]")
_JUNK = re.compile(r"[^\w\s\-‐‑‒–—−'’./&+#*,]")  # brackets and signs never stand inside


def candidates(text: str, sentence: Sequence[Token], hidden: Sequence[Span] = ()) -> Iterator[Span]:
    """Yield the candidate phrases of one sentence as ranges of `text`, in order, never overlapping."""
    words = list(_words(text, sentence, hidden))
    kinds = "".join(kind for _, _, kind in words)
    for match in PHRASE.finditer(kinds):
        span = _trimmed(text, words[match.start() : match.end()])
        if span is not None:
            yield span


def _words(text: str, sentence: Sequence[Token], hidden: Sequence[Span]) -> Iterator[Token]:
    """Join what hyphens, slashes and '&' hold together into one word; give each word its kind.

    A compound counts as a noun when its last part does (finite-state), else as an adjective
    (state-of-the-art, well-known, 3-dimensional).
    """
    i, n = 0, len(sentence)
    while i < n:
        start, end, tag = sentence[i]
        j = i + 1
        while (
            j + 1 < n
            and sentence[j][0] == end
            and text[sentence[j][0] : sentence[j][1]] in GLUE
            and (sentence[j + 1][0] == sentence[j][1])
        ):
            end, tag = sentence[j + 1][1:]
            j += 2
        kind = KINDS.get(tag, OTHER)
        word = text[start:end]
        if j > i + 1:
            if kind != NOUN:
                kind = ADJECTIVE if _LETTERS.search(word) else NUMBER
            if "/" in word and tag in ("CC", "IN", "DT"):  # and/or
                kind = OTHER
        if kind != OTHER and (
            word.lower() in NEVER_INSIDE
            or _JUNK.search(word)
            or (kind == NOUN and not _LETTERS.search(word))
            or any(first < end and start < last for first, last in hidden)
        ):
            kind = OTHER
        yield start, end, kind
        i = j


def _trimmed(text: str, words: list[Token]) -> Span | None:
    """Take off what says nothing at the edges; None when too little or too much is left."""
    first, last = 0, len(words)
    while first < last:
        start, end, kind = words[first]
        if kind in (NUMBER, POSSESSIVE) or text[start:end].lower() in GENERIC_LEADERS:
            first += 1
        else:
            break
    if last - first > LONGEST_PHRASE:
        first = last - LONGEST_PHRASE
        if words[first][2] == POSSESSIVE:
            first += 1
    if first == last:
        return None
    start, end = words[first][0], words[last - 1][1]
    while start < end and not text[start].isalnum() and text[start] != ".":
        start += 1
    while start < end and not text[end - 1].isalnum() and text[end - 1] not in "+#*":
        end -= 1
    phrase = text[start:end].lower()
    letters = sum(map(str.isalpha, phrase))
    if letters < 2 or (last - first == 1 and (phrase in ENGLISH or phrase in NEVER_ALONE)):
        return None
    return start, end
