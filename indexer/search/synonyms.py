"""The user's own synonyms: words of a query are searched together with what a file says means the same.

The file is one that Solr and Elasticsearch read: `car, automobile` on a line lets each be found by the other, and
`tv => television` replaces what stands before the arrow by what stands behind it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

from indexer.errors import SettingsError
from indexer.log import get_logger

MAX_BYTES = 10_000_000
MOST_WORDS = 5  # of a term
MOST_SYNONYMS = 50  # of a term; each is a search of its own
_COMMA = re.compile(r"(?<!\\),")
_ESCAPED = re.compile(r"\\(.)")
_WORD = re.compile(r"\+?\w[\w'’.-]*\w|\+?\w")
_OPERATORS = frozenset(("AND", "OR", "NOT"))

Terms = tuple[str, ...]

logger = get_logger(__name__)


@dataclass(frozen=True)
class Synonyms:
    """Term in small letters, as words ► what is searched for it."""

    terms: Mapping[Terms, Terms] = field(default_factory=dict)

    @cached_property
    def words(self) -> frozenset[str]:
        """All terms of one word, in small letters."""
        terms = {*(" ".join(term) for term in self.terms), *chain.from_iterable(self.terms.values())}
        return frozenset(term.lower() for term in terms if " " not in term)

    def applied(self, query: str) -> tuple[str, dict[str, Terms]]:
        """Let synonyms stand beside the words of a query, or for them.

        What is in quotes, excluded or has other syntax stays as it is.

        Returns:
            The query, and what is searched for each term that has synonyms.
        """
        used: dict[str, Terms] = {}
        pieces = query.split('"') if self.terms else [query]
        pieces[::2] = [self._in_piece(piece, used) for piece in pieces[::2]]  # those outside quotes
        return '"'.join(pieces), used

    def _in_piece(self, text: str, used: dict[str, Terms]) -> str:
        words = [found for found in _WORD.finditer(text) if _is_free(text, found)]
        written, end, at = [], 0, 0
        while at < len(words):
            for number in range(min(MOST_WORDS, len(words) - at), 0, -1):
                first, last = words[at], words[at + number - 1]
                plain = text[first.start() : last.end()].removeprefix("+")
                if found := self.terms.get(tuple(plain.lower().split())):
                    used[plain] = found
                    sign = "+" * first[0].startswith("+")
                    written += [text[end : first.start()], sign, "|".join(map(_quoted, found))]
                    end, at = last.end(), at + number
                    break
            else:
                at += 1
        return "".join([*written, text[end:]])


def _is_free(text: str, word: re.Match[str]) -> bool:
    """Whether a word stands by itself: not excluded, no beginning, no alternative, no operator."""
    before = text[word.start() - 1 : word.start()]
    after = text[word.end() : word.end() + 1]
    return before not in ("-", "|", "*") and after not in ("*", "|") and word[0] not in _OPERATORS


def _quoted(term: str) -> str:
    return term if term.isalnum() else f'"{term}"'


_known: dict[str, tuple[int, Synonyms]] = {}  # path ► when it was changed, and what was read then


def synonyms_of(path: str) -> Synonyms:
    """Read a file of synonyms, again when it has changed; none for an empty path.

    A file that can no longer be read leaves the synonyms as they were, with a warning in the log: searches continue.

    Raises:
        SettingsError: This process has not read it before, and it is not there, too large, or has an invalid line.
    """
    if not path:
        return Synonyms()
    changed, last = _known.get(path, (-1, None))
    try:
        state = Path(path).stat()
        if state.st_mtime_ns == changed and last is not None:
            return last
        if state.st_size > MAX_BYTES:
            raise SettingsError(
                f"{path} has {state.st_size:,} bytes; at most {MAX_BYTES:,} of synonyms are read."
            )
        found = _read(path)
    except (OSError, UnicodeDecodeError, SettingsError) as error:
        if last is not None:
            logger.warning("synonyms_not_read", file=path, reason=str(error))
            return last
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"The file of synonyms {path} cannot be read: {error}.") from error
    _known[path] = state.st_mtime_ns, found
    return found


def _read(path: str) -> Synonyms:
    lines = Path(path).read_text("utf-8-sig").splitlines()
    found: dict[Terms, dict[str, None]] = defaultdict(dict)
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            for term, others in _rules(line):
                found[term] |= dict.fromkeys(others)
        except ValueError as error:
            raise SettingsError(f"{path}, line {number}: {error}") from error
    for term, searched in found.items():
        if len(searched) > MOST_SYNONYMS:
            raise SettingsError(
                f"{path}: '{' '.join(term)}' has {len(searched)} synonyms; at most {MOST_SYNONYMS} are searched."
            )
    return Synonyms({term: tuple(searched) for term, searched in found.items()})


def _rules(line: str) -> list[tuple[Terms, list[str]]]:
    """Return each term of a line with all that is searched for it, the term itself first if it is."""
    sides = line.split("=>")
    if len(sides) > 2:
        raise ValueError("a line has one arrow (=>) at most.")
    terms = _listed(sides[0])
    if len(sides) == 2:
        replaced = _listed(sides[1])
        return [(tuple(term.lower().split()), replaced) for term in terms]
    if len(terms) < 2:
        raise ValueError(f"'{line.strip()}' has no synonym: put a comma or => between terms.")
    return [
        (tuple(term.lower().split()), [term, *(other for other in terms if other != term)]) for term in terms
    ]


def _listed(side: str) -> list[str]:
    terms = [" ".join(_ESCAPED.sub(r"\1", part).replace('"', " ").split()) for part in _COMMA.split(side)]
    for term in terms:
        if not any(character.isalnum() for character in term):
            raise ValueError(f"'{term}' has no letter or digit.")
        if len(term.split()) > MOST_WORDS:
            raise ValueError(f"'{term}' has more than {MOST_WORDS} words.")
    return terms
