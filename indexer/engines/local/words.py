"""Search by words with FTS5, and the marked pieces of text that go with it."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from indexer.engines.base import Clause, Fragment, WordQuery
from indexer.engines.local import texts
from indexer.engines.local.lookup import bindable, select, storable

TITLE_WEIGHT, TEXT_WEIGHT = 3.0, 1.0  # a word in the title counts as three in the text
FRAGMENT = 240  # characters of a fragment, about two sentences

_SPACE = re.compile(r"\s")


@dataclass(frozen=True)
class Expression:
    """A word query in the language of FTS5. `excluded` alone means: everything but these."""

    wanted: str
    excluded: str

    @property
    def match(self) -> str:
        """For MATCH, when something is wanted."""
        return f"({self.wanted}) NOT ({self.excluded})" if self.excluded else self.wanted


def expression(query: WordQuery) -> Expression:
    """Translate a query. Every clause is quoted, so nothing that a user types is syntax.

    Clauses that hold no letter or digit are left out. Clauses that must all match are joined by a space and
    not by AND: so FTS5 too ignores a clause in which its tokenizer finds nothing.
    """
    wanted = [_quoted(clause) for clause in query.clauses if not clause.negated and _has_words(clause.text)]
    excluded = [_quoted(clause) for clause in query.clauses if clause.negated and _has_words(clause.text)]
    return Expression((" " if query.require_all else " OR ").join(wanted), " OR ".join(excluded))


def _quoted(clause: Clause) -> str:
    text = bindable(clause.text).replace("\0", " ").replace('"', '""')
    return f'"{text}" *' if clause.kind == "prefix" else f'"{text}"'


def _has_words(text: str) -> bool:
    """Whether the tokenizer would find a word: unicode61 takes letters, digits and private-use characters."""
    return any(char.isalnum() or unicodedata.category(char) in ("Co", "Nl", "No") for char in text)


# -- highlights ----------------------------------------------------------------------------------------------


def highlights(
    connection: sqlite3.Connection, query: WordQuery, ids: Sequence[str], limit: int
) -> Mapping[str, tuple[Fragment, ...]]:
    """Fragments of each document in which a wanted clause stands, at most `limit` each, best first."""
    wanted = expression(WordQuery(query.clauses, require_all=False)).wanted
    if not wanted or limit <= 0:
        return {}
    sql = "SELECT doc, id, title, text, nuls FROM documents JOIN texts USING (doc) WHERE id IN ({})"
    rows = list(select(connection, sql, storable(ids)))
    opening, closing = _unused_characters(text for row in rows for text in row[2:4])
    answer: dict[str, tuple[Fragment, ...]] = {}
    for doc, id_, title, text, nuls in rows:
        marked = connection.execute(
            "SELECT highlight(words, 0, ?, ?), highlight(words, 1, ?, ?) FROM words "
            "WHERE words MATCH ? AND rowid = ?",
            (opening, closing, opening, closing, wanted, doc),
        ).fetchone()
        if marked is None:
            continue
        originals = texts.restored(title, text, nuls)
        pieces = [
            piece
            for field, original, with_marks in zip(("title", "text"), originals, marked, strict=True)
            for piece in _pieces(field, original, _marks(with_marks, opening, closing))
        ]
        pieces.sort(key=_worth)
        answer[id_] = tuple(pieces[:limit])
    return {id_: answer[id_] for id_ in dict.fromkeys(ids) if id_ in answer}


def _unused_characters(texts_: Iterable[str]) -> tuple[str, str]:
    """Two private-use characters that stand in none of the texts: they can be told from text for certain."""
    used = set().union(*map(set, texts_))
    free = (
        chr(code) for code in [*range(0xE000, 0xF900), *range(0xF0000, 0x10FFFE)] if chr(code) not in used
    )
    return next(free), next(free)


def _marks(marked: str, opening: str, closing: str) -> list[tuple[int, int]]:
    """Ranges in the text without the marker characters."""
    marks, length = [], 0
    for number, piece in enumerate(re.split(f"[{opening}{closing}]", marked)):
        if number % 2:  # pieces alternate: outside, inside, outside
            marks.append((length, length + len(piece)))
        length += len(piece)
    return marks


def _pieces(field: str, text: str, marks: list[tuple[int, int]]) -> list[Fragment]:
    """Cut around marks that stand close together, ends moved inwards to a space."""
    groups: list[list[tuple[int, int]]] = []
    for mark in marks:
        if groups and mark[1] - groups[-1][0][0] <= FRAGMENT:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    pieces, left = [], 0  # a piece does not reach back into the one before
    for number, group in enumerate(groups):
        first, last = group[0][0], group[-1][1]
        right = groups[number + 1][0][0] if number + 1 < len(groups) else len(text)
        spare = max(0, FRAGMENT - (last - first))
        start = max(left, first - spare // 2)
        end = min(right, max(last, start + FRAGMENT))
        start = max(left, min(start, end - FRAGMENT)) if start > left else start
        start, end = _at_spaces(text, start, first, last, end)
        pieces.append(Fragment(field, text[start:end], tuple((a - start, b - start) for a, b in group)))
        left = end
    return pieces


def _at_spaces(text: str, start: int, first: int, last: int, end: int) -> tuple[int, int]:
    """Move both ends inwards so that no word is cut, but never into a mark."""
    if start > 0 and not text[start - 1].isspace():
        space = _SPACE.search(text, start, first)
        start = space.end() if space else first
    if end < len(text) and not text[end].isspace():
        spaces = [space.start() for space in _SPACE.finditer(text, last, end)]
        end = spaces[-1] if spaces else last
    while start < first and text[start].isspace():
        start += 1
    while end > last and text[end - 1].isspace():
        end -= 1
    return start, end


def _worth(piece: Fragment) -> tuple[int, int, bool]:
    """Sorting key: more different words first, then more marks, then the title."""
    words = {piece.text[a:b].casefold() for a, b in piece.marks}
    return -len(words), -len(piece.marks), piece.field != "title"
