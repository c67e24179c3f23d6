"""Words that no document has are searched as the nearest words that documents have.

Not those that are words all the same: common English ones, and names in capitals. In quotes, any word stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from indexer.engines.base import Engine
from indexer.search.query import parse_words


@dataclass(frozen=True)
class Spelled:
    """A query as it is searched.

    Attributes:
        corrections: Word as it was typed ► word that is searched.
        synonyms: Term as it was typed ► what is searched for it, the term itself where it still is.
    """

    query: str
    corrections: Mapping[str, str] = field(default_factory=dict)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def spelled(engine: Engine, query: str, known: Callable[[], Collection[str]] = frozenset) -> Spelled:
    """Correct a query. Excluded words, prefixes and what is in quotes stay as they are.

    Args:
        known: Words in small letters that are not misspelt; asked for where there is something to correct.

    Raises:
        QueryError: It cannot be read.
    """
    wanted = [clause for clause in parse_words(query).clauses if not clause.negated]
    words = [term.text for clause in wanted for term in clause.terms if term.kind == "word"]
    corrections = engine.spellings(words) if words else {}
    corrections = {
        word: near for word, near in corrections.items() if not word.isupper() and word.lower() not in known()
    }
    if not corrections:
        return Spelled(query)
    used: dict[str, str] = {}

    def near(typed: re.Match[str]) -> str:
        used[typed[0]] = corrections[typed[0]]
        return corrections[typed[0]]

    misspelt = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, corrections))})(?![\w*])")
    pieces = query.split('"')
    pieces[::2] = [misspelt.sub(near, piece) for piece in pieces[::2]]  # those outside quotes
    return Spelled('"'.join(pieces), used)
