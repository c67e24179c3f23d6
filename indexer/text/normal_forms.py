"""How phrases are compared: by normal form (one form, one row) and by stems (when scoring)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from indexer.text.languages import IRREGULAR, english

UNCHANGED = english("unchanged")
PLURAL_ICS = english("plural_ics")
SINGULAR_US = english("singular_us")
KEEPS_E_CH = english("keeps_e_ch")
KEEPS_E_O = english("keeps_e_o")
ENDS_IN_IE = english("ends_in_ie")
DETERMINERS = english("determiners")

_EDGES = " .,;:!?\"'`´‘’‚“”„()[]{}<>«»*_~|/\\&="
_APOSTROPHES = str.maketrans(dict.fromkeys("‘’ʼ´`", "'"))
# Every dash of Unicode, minus sign included; soft hyphens and zero-width characters have no meaning.
_GAPS = re.compile(r"[\s\-_‐‑‒–—―−﹘﹣－]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\x00-\x08\x0e-\x1b\x7f]")
_TOKEN = re.compile(r"[^\W_]+")


@lru_cache(maxsize=1 << 16)
def normal_form(surface: str) -> str:
    """Return the form that all spellings of a phrase share.

    ``The Finite-State Machines`` gives ``finite state machine``.

    Lower case; hyphens, dashes and white space as one space; no leading determiners or possessives; the last
    word in the singular. Applying it again changes nothing.
    """
    form = surface
    while True:  # a few compatibility characters need a second round, for example 'ſt' and what it leaves
        again = _normalise_once(form)
        if again == form:
            return form
        form = again


def _normalise_once(surface: str) -> str:
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", surface)).lower().translate(_APOSTROPHES)
    text = _GAPS.sub(" ", text).strip(_EDGES)
    parts = text.split(" ")
    while len(parts) > 1 and parts[0] in DETERMINERS:
        del parts[0]
    parts[-1] = singular(parts[-1])
    return " ".join(parts)


def singular(word: str) -> str:
    """Return the singular of a lower-case noun, or the word itself where the ending may not be a plural."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if (
        len(word) < 4
        or not word.endswith("s")
        or not word.isascii()
        or not word.isalpha()
        or word in UNCHANGED
    ):
        return word
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ics"):
        return word[:-1] if word in PLURAL_ICS else word
    if word.endswith("es"):
        return _singular_es(word)
    return word[:-1]


def _singular_es(word: str) -> str:
    """Words in -es: take off -s or -es, turn -ies to -y."""
    stem, with_e = word[:-2], word[:-1]
    if word.endswith("ies"):
        return with_e if with_e in ENDS_IN_IE or len(word) == 4 else word[:-3] + "y"
    if word.endswith(("yses", "theses")):
        return stem + "is"
    if word.endswith("uses"):
        return stem if stem in SINGULAR_US else with_e
    if word.endswith(("sses", "xes", "shes", "zzes")) or stem in UNCHANGED:
        return stem
    if word.endswith("ches"):
        return with_e if with_e in KEEPS_E_CH else stem
    if word.endswith("oes"):
        return with_e if with_e in KEEPS_E_O else stem
    return with_e


@cache
def _porter() -> Callable[[str], str]:
    from snowballstemmer import (
        stemmer,
    )  # imported late; nltk's would load scipy.stats with it, which takes seconds

    stem: Callable[[str], str] = stemmer("porter").stemWord
    return stem


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    return _porter()(word)


def stemmed(text: str) -> str:
    """Return the Porter stems of the alphanumeric tokens, joined by spaces: how keyphrases are scored."""
    return " ".join(map(_stem, _TOKEN.findall(text.lower())))
