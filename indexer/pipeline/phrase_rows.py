"""Rows of phrases, made of their mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from indexer.common import unit
from indexer.records import MentionRow, PhraseRow
from indexer.topics.labels import PhraseCount

VECTORS_PER_PHRASE = 64  # a phrase's vector is the mean of at most so many mentions


def phrase_row(mentions: Sequence[MentionRow]) -> PhraseRow:
    """Consolidate the mention rows of one phrase. It depends on these alone, so it can be done again."""
    surfaces = Counter(row.surface for row in mentions)
    topics = Counter(row.topic for row in mentions if row.topic)
    vectors = [row.vector for row in mentions if len(row.vector)]
    return PhraseRow(
        phrase_id=mentions[0].phrase_id,
        phrase=mentions[0].phrase,
        surfaces=tuple(s for s, _ in sorted(surfaces.items(), key=_by_count)),
        documents=len(mentions),
        topics=tuple(t for t, _ in sorted(topics.items(), key=_by_count)),
        vector=unit(np.mean(vectors, axis=0)),
    )


def is_kept(row: PhraseRow, mentions: Sequence[MentionRow]) -> bool:
    """Whether a phrase has a row: several documents have it, or it is a keyphrase of one."""
    return row.documents >= 2 or any(mention.keyphrase for mention in mentions)


def phrase_count(mentions: Sequence[MentionRow], row: PhraseRow) -> PhraseCount:
    """Count a phrase for the labels: the same sentence in many documents (a thread's title, a signature) counts once."""
    distinct = {"".join(filter(str.isalnum, m.sentence.casefold())): m for m in reversed(mentions)}.values()
    return PhraseCount(
        row.phrase,
        Counter(m.surface for m in distinct),
        Counter(m.topic for m in distinct if m.topic),
        row.vector,
    )


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
