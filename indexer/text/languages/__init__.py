"""Word lists by language: one TOML file for each, named by the code of the language (ISO 639-1).

A file needs `function_words`: they end a phrase, and they show which language a text is in. A new file is read without
any other change. English, the language of the tagger, has more lists, each with its purpose above it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILES = {
    file.stem: tomllib.loads(file.read_text(encoding="utf-8"))
    for file in sorted(Path(__file__).parent.glob("*.toml"))
}
_ENGLISH: dict[str, Any] = _FILES["en"]

FUNCTION_WORDS = {code: _words(lists["function_words"]) for code, lists in _FILES.items()}


def english(name: str) -> frozenset[str]:
    """Words of an English list."""
    return _words(_ENGLISH[name])


IRREGULAR: dict[str, str] = _ENGLISH["irregular"]  # plural ► singular
GENERIC_PHRASES = frozenset(
    f"{first} {second}"
    for first, seconds in _ENGLISH["generic_phrases"].items()
    for second in seconds.split()
)
