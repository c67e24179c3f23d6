"""Search by words with FTS5, and the marked pieces of text that go with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from indexer.engines.base import Clause, Fragment, WordQuery
from indexer.engines.fragments import marks_in, pieces, worth
from indexer.engines.local.row_ids import select, storable
from indexer.engines.values import bindable, has_words, restored

TITLE_WEIGHT, TEXT_WEIGHT = 3.0, 1.0  # a word in the title counts as three in the text


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
    wanted = [_quoted(clause) for clause in query.clauses if not clause.negated and has_words(clause.text)]
    excluded = [_quoted(clause) for clause in query.clauses if clause.negated and has_words(clause.text)]
    joined = (" " if query.require_all else " OR ").join(wanted)
    return Expression(joined if query.absent else _in_text(joined), _in_text(" OR ".join(excluded)))


def _in_text(expression: str) -> str:
    """Looked for in what people wrote, and not among absent keyphrases."""
    return f"{{title text}} : ({expression})" if expression else ""


def _quoted(clause: Clause) -> str:
    text = bindable(clause.text).replace("\0", " ").replace('"', '""')
    return f'"{text}" *' if clause.kind == "prefix" else f'"{text}"'


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
        originals = restored(title, text, nuls)
        found = [
            piece
            for field, original, with_marks in zip(("title", "text"), originals, marked, strict=True)
            for piece in pieces(field, original, marks_in(with_marks, opening, closing))
        ]
        found.sort(key=worth)
        answer[id_] = tuple(found[:limit])
    return {id_: answer[id_] for id_ in dict.fromkeys(ids) if id_ in answer}


def _unused_characters(texts_: Iterable[str]) -> tuple[str, str]:
    """Two private-use characters that stand in none of the texts: they can be told from text for certain."""
    used = set().union(*map(set, texts_))
    private = chain(range(0xE000, 0xF900), range(0xF0000, 0x10FFFE))
    free = (chr(code) for code in private if chr(code) not in used)
    return next(free), next(free)
