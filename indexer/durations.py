"""Times as people write them: 90s, 45m, 2h."""

from __future__ import annotations

import re

PATTERN = r"(\d+(?:\.\d+)?)\s*([smh])"
SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float | None:
    """``30m`` is 1800.0; None when the text is no such time."""
    found = re.fullmatch(PATTERN, text.strip().lower())
    return float(found[1]) * SECONDS[found[2]] if found else None
