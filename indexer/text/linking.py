"""Phrases that a text names next to each other, as things of one kind or as two names of one thing. For training pairs.

Two signs are strict enough to be trusted without a model:

- coordination: ``aspirin and ibuprofen``, ``Rome, Paris``, with nothing else between the two mentions;
- a short form: ``congestive heart failure (CHF)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Span = tuple[int, int]

_JOINED = re.compile(r"\s+(?:and|or)\s+|\s*,\s+|\s*/\s*")
_OPENED = re.compile(r"\s*\(\s*")
_CLOSED = re.compile(r"\s*\)")


def coordinated(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Pairs of mentions of one text that are named side by side as things of one kind.

    Args:
        spans: Character offsets (start, end) into `text`; they may overlap and need no order.

    Returns:
        Pairs of positions in `spans`; the first one stands before the second in the text. A pair is named once.
    """
    return list(_following(text, spans, _JOINED))


def short_forms(text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Pairs of mentions of one text of which the second, in brackets, is introduced as the short form of the first.

    Args, returns: As for `coordinated`.
    """
    return [
        (long, short)
        for long, short in _following(text, spans, _OPENED)
        if _CLOSED.match(text, spans[short][1])
        and is_short_for(text[slice(*spans[short])], text[slice(*spans[long])])
    ]


def _following(text: str, spans: Sequence[Span], between: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Pairs of mentions that have `between` between them, and nothing else."""
    starting: dict[int, list[int]] = {}  # offset ► mentions
    for at, (start, _) in enumerate(spans):
        starting.setdefault(start, []).append(at)
    for first, (_, end) in enumerate(spans):
        if joint := between.match(text, end):
            for second in starting.get(joint.end(), ()):
                yield first, second


def is_short_for(short: str, long: str) -> bool:
    """Whether `short` may be the short form of `long`: 2 to 8 letters, all of them in `long`, in this order.

    ``is_short_for("CHF", "congestive heart failure")`` is true. Both begin with the same letter; case does not count.
    """
    if not (2 <= len(short) <= 8 and short.isalpha() and len(short) < len(long)):
        return False
    letters = iter(long.lower())
    return short[0].lower() == long[0].lower() and all(letter in letters for letter in short.lower())
