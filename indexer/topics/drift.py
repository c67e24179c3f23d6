"""Drift: are new documents still what the topics were made of?

Three signs, each as a share from 0 to 1: new phrases that no topic reaches, another mixture of topics, words that were
not there before. Some of each is chance, since no two samples of documents are equal: the same is measured of old
documents that are left out of the reference, and drift is what new ones have more of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MIN_DOCUMENTS = 60  # new ones; of 30 like the old, one handful in nine looked like drift, of 60 one in twenty


@dataclass(frozen=True)
class Seen:
    """What is looked at of one document.

    Attributes:
        topic: Its heaviest one, or None.
        phrases: Each of its phrases, with the topic that it has here, or None.
    """

    topic: str | None
    phrases: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Sign:
    """One sign of drift, 0 to 1, among new documents and among old ones."""

    new: float
    old: float

    @property
    def more(self) -> float:
        """What new documents have more than old ones."""
        return max(0.0, self.new - self.old)


@dataclass(frozen=True)
class Signs:
    """How far new documents are from what the topics were made of.

    Attributes:
        beyond_topics: Share of the phrases that no topic reaches.
        topic_shares: Half the sum of differences between the shares of topics: 0 equal, 1 no topic in common.
        new_vocabulary: Share of the phrases that no reference document has.
    """

    beyond_topics: Sign
    topic_shares: Sign
    new_vocabulary: Sign


def compare(reference: Sequence[Seen], old: Sequence[Seen], new: Sequence[Seen]) -> Signs | None:
    """Compare new documents and old ones with a reference; None where there are too few to say.

    Args:
        reference: Of the documents that the topics were fitted to.
        old: Others of these; as many as `new`, or chance would weigh differently.
    """
    if not enough(len(reference), len(old), len(new)):
        return None
    known = {phrase for seen in reference for phrase, _ in seen.phrases}
    return Signs(
        Sign(_beyond(new), _beyond(old)),
        Sign(_distance(reference, new), _distance(reference, old)),
        Sign(_unknown(new, known), _unknown(old, known)),
    )


def enough(*documents: int) -> bool:
    """Whether numbers of documents are large enough to compare."""
    return min(documents) >= MIN_DOCUMENTS


def _beyond(seen: Sequence[Seen]) -> float:
    topics = [topic for one in seen for _, topic in one.phrases]
    return topics.count(None) / len(topics) if topics else 0.0


def _distance(one: Sequence[Seen], other: Sequence[Seen]) -> float:
    a, b = Counter(seen.topic for seen in one), Counter(seen.topic for seen in other)
    return sum(abs(a[topic] / len(one) - b[topic] / len(other)) for topic in a | b) / 2


def _unknown(seen: Sequence[Seen], known: set[str]) -> float:
    phrases = [phrase for one in seen for phrase, _ in one.phrases]
    return sum(phrase not in known for phrase in phrases) / len(phrases) if phrases else 0.0
