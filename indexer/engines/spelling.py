"""What a word that no document has was meant to be.

An index has stems, and a wrong letter can keep an ending from being cut off. So stems are looked up that are near a
beginning of the word, and the words themselves are read in documents that have one of these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from rapidfuzz.distance import OSA

SHORTEST = 4  # letters; shorter words have too many neighbours
LONG = 8  # letters, from which on two edits are allowed
LONGEST_ENDING = 6  # letters that a stemmer cuts off: "computational" has the stem "comput"
SHORTEST_STEM = 3
_WORD = re.compile(r"[^\W\d_]+")


def may_be_misspelt(word: str) -> bool:
    return len(word) >= SHORTEST and bool(_WORD.fullmatch(word))


def most_edits(word: str) -> int:
    """Return how many letters may be wrong, missing, too many, or have changed places."""
    return 2 if len(word) >= LONG else 1


def beginnings(word: str) -> list[str]:
    """Return what a stem may be near to, longest first."""
    shortest = max(SHORTEST_STEM, len(word) - LONGEST_ENDING)
    return [word.lower()[:length] for length in range(len(word), shortest - 1, -1)]


def near_words(typed: str, texts: Iterable[str]) -> list[str]:
    """Return the words of some texts that take the fewest edits, if these are few enough, most frequent first."""
    typed = typed.lower()
    words = Counter(word.lower() for text in texts for word in _WORD.findall(text))
    most = most_edits(typed)
    edits = {word: OSA.distance(typed, word, score_cutoff=most) for word in words if word != typed}
    fewest = min(edits.values(), default=most + 1)
    if fewest > most:
        return []
    return sorted((word for word in edits if edits[word] == fewest), key=lambda word: (-words[word], word))
