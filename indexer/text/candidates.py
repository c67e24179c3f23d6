"""Candidate phrases: which runs of tagged words may become a phrase."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexer.text.languages import FUNCTION_WORDS, GENERIC_PHRASES, english
from indexer.text.normal_forms import singular

MAX_PHRASE_LENGTH = 6  # words; a hyphenated compound is one

WIDEST_GAP = 2  # spaces inside a phrase; more, or a tab, and it is a table

ENGLISH = FUNCTION_WORDS["en"]
GENERIC_LEADERS = english("generic_leaders")
GERUND_NOUNS = english("gerund_nouns")
NEVER_ALONE = english("never_alone")
NEVER_INSIDE = english("never_inside")
VERBS = english("verbs")
VERBS_BEFORE_PREPOSITION = english("verbs_before_preposition")

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
# Modifiers, numbers inside, Newton's method; one number behind the last noun (Pentium 4).
PHRASE = re.compile(r"[JVN](?:[JVCN]|(?<=N)P(?=[JN]))*(?<=N)C?|N")

GLUE = frozenset("-‐‑‒–—−/&")
DETERMINERS = frozenset({"DT", "PRP$", "WP$", "PDT", "POS"})
FUNCTION_TAGS = frozenset({"CC", "IN", "DT"})  # of the last part of and/or
PREPOSITIONS = frozenset({"IN", "TO"})
AUXILIARIES = frozenset({"is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "having"})
_NAME = re.compile(r"\d+[A-Z]+")  # a number that belongs to what it stands before: 5G networks, 2D model
_LETTERS = re.compile(r"[^\W\d_]")
_JUNK = re.compile(r"[^\w\s\-‐‑‒–—−'’./&+#*,]")  # brackets and signs never stand inside


class Word(NamedTuple):
    """A token, or several that hyphens hold together."""

    start: int
    end: int
    tag: str  # of the last token
    kind: str
    lower: str


def candidates(text: str, sentence: Sequence[Token], hidden: Sequence[Span] = ()) -> Iterator[Span]:
    """Yield the candidate phrases of one sentence as ranges of `text`, in order, never overlapping."""
    words = list(_words(text, sentence, hidden))
    for match in PHRASE.finditer(_corrected(words)):
        span = _trimmed(text, words[match.start() : match.end()])
        if span is not None:
            yield span


def _words(text: str, sentence: Sequence[Token], hidden: Sequence[Span]) -> Iterator[Word]:
    """Join what hyphens, slashes and '&' hold together into one word; give each word its kind.

    A compound counts as a noun when its last part does (finite-state), else as an adjective
    (state-of-the-art, well-known, 3-dimensional).
    """
    at, count = 0, len(sentence)
    end = sentence[0][0] if sentence else 0
    while at < count:
        if sentence[at][0] - end > WIDEST_GAP or text[end] == "\t":
            yield Word(end, end, "", OTHER, "")
        start, end, tag = sentence[at]
        at += 1
        # The tokenizer cuts inside words: units off numbers (5 G, 10 km), "id" as it would "I'd".
        while at < count and sentence[at][0] == end and text[end - 1].isalnum() and text[end].isalnum():
            end, tag = sentence[at][1], tag if tag == "CD" else sentence[at][2]
            at += 1
        compound = False
        while (
            at + 1 < count
            and text[end : sentence[at][1]] in GLUE
            and sentence[at][0] == end
            and sentence[at + 1][0] == sentence[at][1]
        ):
            end, tag = sentence[at + 1][1:]
            at += 2
            compound = True
        word = text[start:end]
        kind = KINDS.get(tag, OTHER)
        if kind == NUMBER and _NAME.fullmatch(word):
            kind = NOUN
        if compound and kind != NOUN:
            named = NOUN if kind == NUMBER else ADJECTIVE  # COVID-19 is a name, well-known is not
            kind = named if _LETTERS.search(word) else NUMBER
        if compound and "/" in word and tag in FUNCTION_TAGS:
            kind = OTHER
        lower = word.lower()
        if kind != OTHER and (
            (lower in NEVER_INSIDE and not (word.isupper() and len(word) > 1))  # WHO and OR are names, too
            or _JUNK.search(word)
            or (kind == NOUN and not _LETTERS.search(word))
            or (hidden and any(first < end and start < last for first, last in hidden))
        ):
            kind = OTHER
        yield Word(start, end, tag, kind, lower)


def _corrected(words: Sequence[Word]) -> str:
    """Return the kinds of the words, with the commonest mistakes of a small tagger put right."""
    kinds: list[str] = []
    for at, word in enumerate(words):
        before = kinds[-1] if kinds else OTHER
        after = words[at + 1].tag if at + 1 < len(words) else ""
        kind = word.kind
        if kind == PARTICIPLE:
            if word.lower in GERUND_NOUNS:
                kind = NOUN
            elif _is_verb(word, before, words[at - 1] if at else None):
                kind = OTHER
        elif kind == NOUN and before == NOUN:
            deals_with = word.lower in VERBS_BEFORE_PREPOSITION and after in PREPOSITIONS
            kind = OTHER if deals_with or word.lower in VERBS else NOUN
        kinds.append(kind)
    return "".join(kinds)


def _is_verb(participle: Word, kind_before: str, before: Word | None) -> bool:
    """Whether a participle is not a modifier.

    It is none after a noun (networks using …), after an auxiliary (has proposed methods), and, when it ends in
    -ing, at the beginning of a phrase without a determiner (training neural networks).
    """
    if kind_before == NOUN:
        return True
    if kind_before != OTHER:
        return False
    if participle.tag == "VBN":
        return before is not None and before.lower in AUXILIARIES
    return before is None or before.tag not in DETERMINERS


def _trimmed(text: str, words: Sequence[Word]) -> Span | None:
    """Take off what says nothing at the edges; None when too little is left."""
    first, last = 0, len(words)
    while first < last and (
        words[first].kind in (NUMBER, POSSESSIVE)
        or (words[first].lower in GENERIC_LEADERS and not words[first].tag.startswith("NNP"))
    ):
        first += 1
    if last - first > MAX_PHRASE_LENGTH:
        first = last - MAX_PHRASE_LENGTH
        if words[first].kind == POSSESSIVE:
            first += 1
    if first == last:
        return None
    start, end = words[first].start, words[last - 1].end
    while start < end and not text[start].isalnum() and text[start] != ".":
        start += 1
    while start < end and not text[end - 1].isalnum() and text[end - 1] not in "+#*":
        end -= 1
    surface = text[start:end]
    return None if _says_nothing(surface, words[first:last]) else (start, end)


def _says_nothing(surface: str, words: Sequence[Word]) -> bool:
    phrase = surface.lower()
    if sum(map(str.isalpha, phrase)) < 2 or phrase in GENERIC_PHRASES:
        return True
    if len(words) == 2 and words[1].kind == NUMBER:  # Section 4, March 2016
        return words[0].lower in NEVER_ALONE
    if len(words) > 1:
        return False
    if len(surface) == 2 and not surface[1].isupper():  # AI is a phrase; Th, se and km are not
        return True
    return (phrase in ENGLISH and not surface.isupper()) or singular(phrase) in NEVER_ALONE
