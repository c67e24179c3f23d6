"""Query strings to clauses and filters. Nothing the user types is an error of syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile

from indexer.engines.base import Clause, Filter, Operator, WordQuery
from indexer.errors import QueryError
from indexer.records import MetaValue
from indexer.text.languages import english

MAX_QUERY = 4_000  # characters
MAX_PREFIXES = 16  # each may match thousands of words
MAX_CONDITIONS = 50
MANY_WORDS = (
    4  # from so many on, a query is a question or a description: no document needs to have all of them
)
PROSE_WORDS = 8  # from so many on, it is a text, and what it quotes need not be in every document either
# Words that carry no meaning of their own: never required, unless the query has nothing else.
STOP_WORDS = english("query_words")
FUNCTION_WORDS = STOP_WORDS | english("function_words")  # left out of a query of many words
_TERM = r'"[^"]*"?|[^\s"|]+'
_PIECE = re.compile(rf"(?P<sign>[-+]?)(?P<terms>(?:{_TERM})(?:\|(?:{_TERM}))*)")
_TERMS = re.compile(_TERM)
_AND = re.compile(r"(?<=\s)AND(?=\s)")
_WORD = re.compile(r"\w+")
_FILTER = re.compile(r"^(?P<field>[\w.\-]+)\s*(?P<operator>!=|<=|>=|=|<|>)\s*(?P<value>.*)$", re.DOTALL)


def parse_words(query: str) -> WordQuery:
    """Read a word query: words, "exact phrases", prefix*, and -word to exclude; in capitals AND, OR and NOT.

    Terms with | between them and no space are alternatives, such as car|"motor vehicle".

    Stop words are not required, unless there is nothing else. Of four words or more none is required, but those with a
    plus sign and, among fewer than eight words, "exact phrases"; AND between them requires all.

    Raises:
        QueryError: There is something, and no letter or digit in it; OR joins only some of the words; or there are too
            many of them.
    """
    if len(query) > MAX_QUERY:
        raise QueryError(
            f"The query has {len(query):,} characters; at most {MAX_QUERY:,} are read.",
            hint="Search for its most telling words or sentences.",
        )
    if query.strip() and not any(c.isalnum() for c in query):
        raise QueryError(
            f"The query {query!r} has no letter or digit.",
            hint="Words are found by their letters and digits; an empty query lists all documents.",
        )
    pieces = [piece for piece in _typed(query) if piece is None or _has_word(piece.text)]
    clauses = [piece for piece in pieces if piece is not None]
    if sum(term.kind == "prefix" for clause in clauses for term in clause.terms) > MAX_PREFIXES:
        raise QueryError(f"More than {MAX_PREFIXES} words of the query end in *.")
    alternatives = _are_alternatives(pieces)
    number = sum(map(_is_plain, clauses))
    if number >= MANY_WORDS and not alternatives and not _AND.search(query):
        return WordQuery(tuple(_of_many(clauses, prose=number >= PROSE_WORDS)), require_all=False)
    telling = [c for c in clauses if c.negated or any(map(_is_telling, c.terms))]
    if any(not clause.negated for clause in telling):
        clauses = telling
    return WordQuery(tuple(clauses), require_all=not alternatives)


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _is_telling(term: Clause) -> bool:
    return term.kind != "word" or term.text.lower() not in STOP_WORDS


def _is_plain(clause: Clause) -> bool:
    is_word = clause.kind == "word" or bool(clause.alternatives)
    return is_word and not clause.negated and not clause.required


def _of_many(clauses: Sequence[Clause], *, prose: bool) -> Iterator[Clause]:
    """The clauses of a query of many words: each word by itself, and none that says nothing of the subject."""
    texts = []
    for clause in clauses:
        quoted = clause.kind == "phrase" and not clause.negated
        if clause.alternatives:
            yield clause
        elif _is_plain(clause) or (quoted and prose and not clause.required):
            texts.append(clause.text)
        else:
            yield replace(clause, required=clause.required or quoted)
    words = [word for text in texts for word in _WORD.findall(text)]
    telling = [w for w in words if w.lower() not in FUNCTION_WORDS and (len(w) > 1 or w.isdigit())]
    yield from map(Clause, telling or words)


def _typed(query: str) -> Iterator[Clause | None]:
    """The clauses of a query, in order; None for an OR between two of them."""
    pieces = list(_PIECE.finditer(query.replace("\x00", " ")))
    negated = False
    for at, found in enumerate(pieces):
        operator = found[0] if at + 1 < len(pieces) else ""
        if operator == "NOT":
            negated = True
        elif operator == "OR" and at:
            yield None
        elif operator != "AND" or not at:
            yield _clause(found, negated or found["sign"] == "-")
            negated = False


def _clause(found: re.Match[str], negated: bool) -> Clause:
    required = found["sign"] == "+" and not negated
    terms = list(map(_term, _TERMS.findall(found["terms"])))
    first, *others = [term for term in terms if _has_word(term.text)] or terms
    return replace(first, negated=negated, required=required, alternatives=tuple(others))


def _term(text: str) -> Clause:
    if text.startswith('"'):
        return Clause(text.strip('"').strip(), "phrase")
    if len(text) > 1 and text.endswith("*"):
        return Clause(text.rstrip("*"), "prefix")
    return Clause(text)


def _are_alternatives(pieces: Sequence[Clause | None]) -> bool:
    """Whether OR joins all that is looked for. What is left out may stand before or behind that.

    Raises:
        QueryError: OR joins only a part of it, and who searches would get something else than he asked for.
    """
    if None not in pieces:
        return False
    wanted = list(dropwhile(_is_left_out, reversed(list(dropwhile(_is_left_out, pieces)))))
    words, between = wanted[::2], wanted[1::2]
    if len(words) != len(between) + 1 or any(between) or None in words or any(map(_is_left_out, words)):
        raise QueryError(
            'OR stands between single words and "phrases" only, such as: wind OR "solar power" OR tides.',
            hint="Put what belongs together in quotes. As a word, write it in small letters: or.",
        )
    return True


def _is_left_out(piece: Clause | None) -> bool:
    return piece is not None and piece.negated


def parse_filter(text: str) -> Filter:
    """Read a condition such as ``year>=2015`` or ``label=cs.RO``. The engine compares with numbers as numbers.

    Raises:
        QueryError: There is no operator in it.
    """
    found = _FILTER.match(text.strip())
    if not found or not found["value"].strip():
        raise QueryError(
            f"The condition {text!r} is not FIELD, operator, value.",
            hint="Operators: = != < <= > >=. For example: year>=2015, or label=cs.RO.",
            command="In a shell, quote it: --where 'year>=2015'",
        )
    operator: Operator = found["operator"]  # type: ignore[assignment]
    return Filter(found["field"], operator, _value(found["value"].strip()))


def check_number(conditions: Sequence[object]) -> None:
    """Refuse more conditions than are read.

    Raises:
        QueryError: There are more.
    """
    if len(conditions) > MAX_CONDITIONS:
        raise QueryError(f"There are {len(conditions):,} conditions; at most {MAX_CONDITIONS} are read.")


def _value(text: str) -> MetaValue:
    return text.lower() == "true" if text.lower() in ("true", "false") else text.strip("\"'")


def without_syntax(query: str) -> str:
    """The query as a text to encode: without quotes, stars, operators and excluded words, of alternatives the first."""
    kept = " ".join(piece.text for piece in _typed(query) if piece is not None and not piece.negated)
    return kept.replace("*", " ").strip()


def only_excluding(words: WordQuery) -> WordQuery:
    """What is left of the words where meaning decides."""
    return replace(words, clauses=tuple(clause for clause in words.clauses if clause.negated))
