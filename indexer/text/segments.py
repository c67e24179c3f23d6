"""Cut a document into pieces that can be tagged one by one, and hide what is not prose from the tagger.

Every rewriting here keeps the length of the text, so that offsets into a piece are offsets into the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from indexer.records import Document

MAX_PIECE_LENGTH = 20_000  # characters; bounds the memory of one forward pass of the tagger
MAX_TITLE_LENGTH = 300  # a "title" beyond this is a text in the wrong field, and is split into sentences
MAX_WORD_LENGTH = 80  # characters without a space or punctuation inside; beyond it is data, not language
MAX_UNSPACED = 300  # characters without a space, with any signs inside; beyond it is data too
WRAPPED_LINE = 40  # a line shorter than this was not wrapped by an editor: it ended

_BLANK_LINE = re.compile(r"\n[ \t\r\f\v]*\n\s*")
# NUL and other control characters, lone surrogates (spaCy cannot hash them): never inside a phrase.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufffd]")
_SPACE = re.compile("[\x0a-\x0d\x1c-\x1f\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")

# What is not prose. Each alternative is bounded, so that a stray "$" or "<" cannot hide a page.
_NOT_PROSE = re.compile(
    r"""
    \$\$[^$]{1,600}\$\$ | \$(?=\S)[^$]{1,300}(?<=\S)\$(?!\d)          # TeX formulas; "$5 and $6" is money
  | \\\[.{1,600}?\\\] | \\\(.{1,300}?\\\)
  | \\begin\{(equation|align|gather|eqnarray|math)\*?\}.{1,2000}?\\end\{\1\*?\}
  | \\(?:cite[a-z]*|ref|eqref|label|url|href|includegraphics)\*?(?:\[[^\]]{0,80}\])?\{[^{}]{0,200}\}
  | \\[A-Za-z]+\*?
  | (?:https?|ftp)://[^\s<>"]+ | \bwww\.[^\s<>"]+ | \bdoi:\s?10\.\S+
  | [\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+
  | </?[A-Za-z][^<>\n]{0,200}> | &(?:[a-z]{2,8}|\#\d{1,6});           # HTML left over
  | ```.{1,5000}?``` | (?<!`)`[^`'\n]{1,120}`(?!`)                    # code; ``quotes'' of TeX stay
  | (?<![\w-])(?:[A-Za-z]:)?(?:[/\\][\w.-]+){2,}                      # file paths
  | \b[^\W_]+(?:_+[^\W_]+)+ | \b\w{1,60}\(\)                                      # identifiers
    """,
    re.VERBOSE | re.DOTALL,
)
_MARKUP = re.compile(r"\\(?!begin\b)[A-Za-z]|[<&]")
_MAY_BE_NOT_PROSE = re.compile(r"[$\\@<`_]|://|www\.|doi:|&[a-z#]|/\w+/|\(\)")
_LONG_WORD = re.compile(
    rf"""
    [^\s.,;:!?()\[\]-]{{{MAX_WORD_LENGTH},}}
  # The time that the tokenizer takes grows with the square of the length. Languages without spaces are not tagged.
  | [^\s\u0e00-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\uffef\U00020000-\U0003ffff]{{{MAX_UNSPACED},}}
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Segment:
    """A range of `Document.content`, with the text that the tagger may see of it."""

    start: int
    text: str  # as long as the range; unprintable characters are '|', what is not prose 'xxx' or ';  '
    hidden: tuple[tuple[int, int], ...] = ()  # ranges of `text` that no candidate may touch
    is_title: bool = False


def segments(document: Document) -> Iterator[Segment]:
    """Yield the title and the paragraphs, in order. White space between them belongs to none."""
    content = document.content
    if document.title:
        short = len(document.title) <= MAX_TITLE_LENGTH
        for start, end in _cut(content, 0, len(document.title)):
            yield _segment(content, start, end, is_title=short)
    for start, end in _paragraphs(content, document.text_start):
        yield _segment(content, start, end)


def _segment(content: str, start: int, end: int, *, is_title: bool = False) -> Segment:
    text = _SPACE.sub(" ", _UNPRINTABLE.sub("|", content[start:end]))
    hidden: list[tuple[int, int]] = []
    if _MAY_BE_NOT_PROSE.search(text):
        # The line breaks are needed here: a stray "$" must not reach the next line.
        hidden += [match.span() for match in _NOT_PROSE.finditer(content, start, end)]
        hidden = [(first - start, last - start) for first, last in hidden]
    hidden += [match.span() for match in _LONG_WORD.finditer(text)] if len(text) >= MAX_WORD_LENGTH else []
    for first, last in hidden:
        # Markup breaks a phrase; the rest stands where a noun could stand.
        sign = ";".ljust(last - first) if _MARKUP.match(text, first) else "x" * (last - first)
        text = text[:first] + sign + text[last:]
    return Segment(start, text, tuple(sorted(hidden)), is_title)


def _paragraphs(content: str, start: int) -> Iterator[tuple[int, int]]:
    """Ranges between blank lines, and inside those between lines that an author, not an editor, has ended."""
    end = len(content)
    while start < end:
        blank = _BLANK_LINE.search(content, start)
        stop = blank.start() if blank else end
        if content.find("\n", start, stop) < 0:
            yield from _cut(content, start, stop)
        else:
            yield from _lines(content, start, stop)
        start = blank.end() if blank else end


def _lines(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    while start < end:
        newline = content.find("\n", start, end)
        stop = newline + 1 if newline >= 0 else end
        if stop - start <= WRAPPED_LINE or stop == end:
            yield from _cut(content, begin, stop)
            begin = stop
        start = stop


def _cut(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Trim white space; cut what is too long at a sentence end, else at a space, else anywhere."""
    while end - start > MAX_PIECE_LENGTH:
        stop = _last_end(content, start, start + MAX_PIECE_LENGTH)
        yield from _trimmed(content, start, stop)
        start = stop
    yield from _trimmed(content, start, end)


def _last_end(content: str, start: int, limit: int) -> int:
    tail = max(start + 1, limit - 2_000)
    best = 0
    for mark in (". ", ".\n", "? ", "! ", "。"):
        found = content.rfind(mark, tail, limit)
        best = max(best, found + len(mark) if found >= 0 else 0)
    if best:
        return best
    spaces = [content.rfind(mark, tail, limit) for mark in (" ", "\n", "\t")]
    return max(spaces) + 1 if max(spaces) >= 0 else limit


def _trimmed(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and content[start].isspace():
        start += 1
    while end > start and content[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
