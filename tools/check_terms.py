"""Find words that the field does not use, in code, pages and docs. Exits with 1 if there are any."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("indexer", "models", "trainer", "workers", "mappings", "tools", "benchmarks", "docs")
SUFFIXES = {".py", ".md", ".html", ".js"}
NOT_PROSE = (Path(__file__),)
TERMS = {
    r"(?<!_)likeness(?:es)?|\balike\b": "similarity, similar",
    r"(?<!\")\b(?:somebody|nobody|whoever|everybody)\b": "name the actor: another process, no worker, the user",
    r"\banew\b": "again, rebuilt",
    r"\bmeanwhile\b": "concurrently, in the meantime: or leave it out",
    r"(?<!there )\bis no (?!longer\b|more\b|less\b)": "is not a, invalid",
    r"\bstands? (?:in|for|there)\b": "occurs in, represents, is stored",
    r"\b(?:goes|go|went|going) on\b": "resume, continue",
    r"\bby hand\b": "manual, user-defined",
    r"\btold\b(?! apart)": "notified, reported, logged",
    r"(?<![\"-])\bgold\b(?!\"| standard)": "ground truth, labelled set",
    r"\blessons?\b": "pseudo-labels, objective",
    r"\bbur(?:y|ied|ies)\b": "dead-letter",
    r"\b(?:heirs?|succession)\b": "continued topics, next generation",
    r"\bput off\b": "retry, backoff",
}
DENIED = re.compile("|".join(f"({pattern})" for pattern in TERMS), re.IGNORECASE)


def findings() -> Iterator[str]:
    """Each denied term as ``FILE:LINE: term (use: …)``."""
    suggestions = list(TERMS.values())
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    for path in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        if path.suffix not in SUFFIXES or path in NOT_PROSE or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for found in DENIED.finditer(line):
                yield f"{path.relative_to(ROOT)}:{number}: '{found[0]}' (use: {suggestions[(found.lastindex or 1) - 1]})"


if __name__ == "__main__":
    wrong = list(findings())
    print(*wrong, sep="\n")
    sys.exit(f"{len(wrong)} terms to replace" if wrong else 0)
