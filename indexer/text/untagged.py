"""Sentences and candidates without a tagger: for text that is not English."""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.text.languages import FUNCTION_WORDS

MAX_RUN_WORDS = 4  # words
MAX_RUN_CHARACTERS = 12  # of a script that writes no spaces
LANGUAGE_SAMPLE = 1_500  # characters that decide which language a piece is in
MAX_WORD_LENGTH = 40  # characters; what is longer is not a word

ENGLISH = FUNCTION_WORDS["en"]
FOREIGN = [known for code, known in FUNCTION_WORDS.items() if code != "en"]
ANY_FOREIGN = frozenset[str]().union(*FOREIGN)

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"[.!?؟।…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』）]*")
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RUN = re.compile(rf"[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*(?:[-'’][^\W_{_UNSPACED}]+)*")
# Han, Katakana, and the unspaced scripts of South-East Asia; Hiragana is mostly grammar.
_UNSPACED_RUN = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々]+|[\u30a0-\u30ff]+"
    r"|[\u0e00-\u0eff]+|[\u1000-\u109f]+|[\u1780-\u17ff]+"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def looks_english(text: str) -> bool:
    """Say whether the English tagger will make sense of `text`.

    No, when a quarter of the letters are not ASCII, or when function words of another language outnumber the
    English ones. Text without any function word (titles, lists, code) counts as English.
    """
    sample = text[:LANGUAGE_SAMPLE]
    if not sample.isascii():
        letters = sum(map(str.isalpha, sample))
        ascii_letters = sum(map(str.isalpha, sample.encode("ascii", "ignore").decode()))
        if ascii_letters < 0.75 * letters:
            return False
    found = _WORD.findall(sample.lower())
    english = sum(map(ENGLISH.__contains__, found))
    if sum(map(ANY_FOREIGN.__contains__, found)) <= max(2, english):
        return True
    foreign = max(sum(map(known.__contains__, found)) for known in FOREIGN)
    return foreign < 3 or foreign <= english


def plain_sentences(text: str) -> Iterator[Span]:
    """Yield sentences by their final punctuation; together they cover all but white space."""
    begin = 0
    for end in (*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)):
        sentence = text[begin:end]
        start = begin + len(sentence) - len(sentence.lstrip())
        stop = begin + len(sentence.rstrip())
        if start < stop:
            yield start, stop
        begin = end


def plain_candidates(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield runs of up to four words between stop words and punctuation; of a longer run, its parts."""
    spans = [match.span() for match in _UNSPACED_RUN.finditer(text, start, end)]
    spans = [span for span in spans if 2 <= span[1] - span[0] <= MAX_RUN_CHARACTERS]
    for run in _runs(text, start, end):
        if len(run) <= MAX_RUN_WORDS:
            spans.append((run[0][0], run[-1][1]))
        else:
            spans.extend(_parts(text, run))
    yield from sorted(span for span in spans if span[1] - span[0] > 1)


def _runs(text: str, start: int, end: int) -> Iterator[list[Span]]:
    run: list[Span] = []
    for match in _RUN.finditer(text, start, end):
        word = match.group().lower()
        stop = word in ANY_FOREIGN or word in ENGLISH or len(word) > MAX_WORD_LENGTH
        if run and (stop or text[run[-1][1] : match.start()].strip(" \t")):
            yield run
            run = []
        if not stop:
            run.append(match.span())
    if run:
        yield run


def _parts(text: str, run: list[Span]) -> Iterator[Span]:
    """Capitalised neighbours of a long run; without capitals, its longer words one by one."""
    capitals = [text[start].isupper() for start, _ in run]
    if not any(capitals) or all(capitals):
        yield from (span for span in run if span[1] - span[0] > 3)
        return
    begin = 0
    while begin < len(run):
        stop = begin
        while stop < len(run) and capitals[stop] and stop - begin < MAX_RUN_WORDS:
            stop += 1
        if stop > begin:
            yield run[begin][0], run[stop - 1][1]
        begin = max(stop, begin + 1)
