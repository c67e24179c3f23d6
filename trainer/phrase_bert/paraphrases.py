"""Finds paraphrases in the texts alone, in place of a paraphrasing model.

Four signs, each strict enough to be trusted without a model:

- a short form and what it is introduced for: ``congestive heart failure (CHF)``;
- another name: ``aspirin, also known as acetylsalicylic acid``;
- turned round: ``detection of anomalies``, where some text has ``anomaly detection``;
- the same words in another form or order: ``optimised networks`` and ``network optimisation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from indexer.text import normal_form, stemmed
from indexer.text.linking import is_short_for
from trainer.base.corpus import Mined

MAX_SIZE = 4  # forms of the same words; more are lists and numbers

_OTHER_NAME = re.compile(
    r"\s*[,(]?\s*(?:also|often|otherwise|commonly)?\s*"
    r"(?:known as|called|termed|referred to as|i\.\s?e\.,?|a\.k\.a\.|aka)\s+(?:the\s+|an?\s+)?",
    re.IGNORECASE,
)
_OF = re.compile(r"\s+of\s+(?:the\s+|an?\s+)?", re.IGNORECASE)

Pair = tuple[str, str]


def paraphrases(mined: Mined) -> list[Pair]:
    """Every pair once, as the texts spell them, in an order that depends on the texts alone."""
    surfaces = [_surface(mined, row) for row in mined.phrases[:-1].tolist()]  # as first mentioned
    found = [*_short_forms(mined), *_in_sentences(mined, surfaces), *_same_words(surfaces)]
    kept = {frozenset((normal_form(a), normal_form(b))): (a, b) for a, b in reversed(found)}
    return [pair for names, pair in reversed(kept.items()) if len(names) == 2]


def _short_forms(mined: Mined) -> Iterator[Pair]:
    for long, short in mined.together.tolist():
        pair = _surface(mined, long), _surface(mined, short)
        if is_short_for(pair[1], pair[0]):
            yield pair


def _in_sentences(mined: Mined, surfaces: Sequence[str]) -> Iterator[Pair]:
    """Other names, and phrases turned round."""
    known = {normal_form(surface): surface for surface in surfaces}
    for sentence, spans in _sentences(mined):
        starting: dict[int, list[int]] = {}  # offset ► ends
        for start, end in spans:
            starting.setdefault(start, []).append(end)
        for start, end in spans:
            if named := _OTHER_NAME.match(sentence, end):
                for last in starting.get(named.end(), ()):
                    yield sentence[start:end], sentence[named.end() : last]
            if of := _OF.match(sentence, end):
                for last in starting.get(of.end(), ()):
                    turned = normal_form(f"{normal_form(sentence[of.end() : last])} {sentence[start:end]}")
                    if turned in known:
                        yield sentence[start:last], known[turned]


def _sentences(mined: Mined) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Each sentence with its mentions."""
    rows = np.argsort(mined.mentions[:, 1], kind="stable")
    ends = np.searchsorted(mined.mentions[rows, 1], np.arange(mined.size + 1))
    for at in range(mined.size):
        spans = mined.mentions[rows[ends[at] : ends[at + 1]], 2:]
        yield mined.sentence(at), [(start, end) for start, end in spans.tolist()]


def _same_words(surfaces: Sequence[str]) -> Iterator[Pair]:
    """Phrases of two words or more with the same stems."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for surface in surfaces:
        stems = tuple(sorted(stemmed(surface).split()))
        if len(stems) > 1:
            groups.setdefault(stems, []).append(surface)
    for forms in groups.values():
        if 1 < len(forms) <= MAX_SIZE:
            yield from pairwise(forms)


def _surface(mined: Mined, row: int) -> str:
    sentence, (start, end) = mined.mention(row)
    return sentence[start:end]
