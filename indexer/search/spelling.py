"""Words that no document has are searched as the nearest words that documents have; in quotes they stay as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from indexer.engines.base import Engine
from indexer.search.query import parse_words


@dataclass(frozen=True)
class Spelled:
    """A query as it is searched.

    Attributes:
        corrections: Word as it was typed ► word that is searched.
    """

    query: str
    corrections: Mapping[str, str] = field(default_factory=dict)


def spelled(engine: Engine, query: str) -> Spelled:
    """Correct a query. Excluded words, prefixes and what is in quotes stay as they are.

    Raises:
        QueryError: It cannot be read.
    """
    words = [
        clause.text for clause in parse_words(query).clauses if clause.kind == "word" and not clause.negated
    ]
    corrections = engine.spellings(words) if words else {}
    if not corrections:
        return Spelled(query)
    used: dict[str, str] = {}

    def near(typed: re.Match[str]) -> str:
        used[typed[0]] = corrections[typed[0]]
        return corrections[typed[0]]

    known = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, corrections))})(?![\w*])")
    pieces = query.split('"')
    pieces[::2] = [known.sub(near, piece) for piece in pieces[::2]]  # those outside quotes
    return Spelled('"'.join(pieces), used)
