"""The levels above the topics: which of them are grouped under a parent.

The topics of documents are the leaves of a tree. Those whose documents point the same way are joined, by average linkage
of the cosines of their means: groups are coherent, and a topic that is like no other stays by itself at the top. Ward's
linkage makes groups of like size, and puts what is left over into one: it had cars, medicine and space together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from indexer.errors import SettingsError
from indexer.topics.models.base import Sample, TopicFit, mapped_unit
from indexer.topics.models.tree import sum_by

FLAT = 12  # topics; so many are read at a glance, and more are grouped
PER_ROOT = 1.5  # times the square root of the topics: how many groups are made of them
DEEPEST = 4  # levels

_NUMBERS = re.compile(r"\d{1,5}(,\d{1,5})*")


@dataclass(frozen=True)
class Levels:
    """A request for levels of topics.

    Attributes:
        depth: How many levels; None leaves it to the number of topics.
        numbers: Topics at each level, the fewest first, the last one for those of documents; empty leaves it to them.
    """

    depth: int | None = None
    numbers: tuple[int, ...] = ()

    @classmethod
    def read(cls, text: str | int | None) -> Self:
        """Read ``2``, a number of levels, or ``7,20``, how many topics each has; None requests nothing.

        Raises:
            SettingsError: It is neither.
        """
        if text is None or text == "":
            return cls()
        found = str(text).replace(" ", "")
        numbers = [int(part) for part in found.split(",")] if _NUMBERS.fullmatch(found) else []
        if len(numbers) == 1 and 1 <= numbers[0] <= DEEPEST:
            return cls(depth=numbers[0])
        if 2 <= len(numbers) <= DEEPEST and numbers[0] >= 2 and numbers == sorted(set(numbers)):
            return cls(len(numbers), tuple(numbers))
        raise SettingsError(
            f"The requested levels are '{text}'; it must be a number of levels from 1 to {DEEPEST}, or how many topics "
            "each has, the fewest first, as in 7,20."
        )

    def __str__(self) -> str:
        return ",".join(map(str, self.numbers)) or str(self.depth or "")

    @property
    def topics(self) -> int | None:
        """How many topics of documents are requested."""
        return self.numbers[-1] if self.numbers else None

    def above(self, topics: int) -> tuple[int, ...]:
        """How many groups there are at each level above so many topics, the fewest first."""
        if self.numbers:
            return tuple(number for number in self.numbers[:-1] if number < topics)
        depth = self.depth or (1 if topics <= FLAT else 2)
        top = round(PER_ROOT * math.sqrt(topics))
        if depth < 2 or not 2 <= top < topics:
            return ()
        between = np.geomspace(top, topics, depth)[:-1]
        return tuple(dict.fromkeys(int(number) for number in np.round(between)))


def grouped(
    fit: TopicFit, sample: Sample, ids: Sequence[str], numbers: Sequence[int]
) -> list[frozenset[str]]:
    """The groups of topics at all levels above them: each lies within another or apart from it, and has two or more.

    Args:
        ids: Of the directions of the fit; several may be of one topic.
        numbers: Groups at each level.

    Returns:
        The smallest first.
    """
    topics = list(dict.fromkeys(ids))
    if not numbers:
        return []
    from sklearn.cluster import AgglomerativeClustering

    documents = mapped_unit(sample.documents, fit.mean, fit.projection)
    nearest = np.argmax(documents @ fit.mapped.T, axis=1)
    # The direction itself counts like a document: no other may be nearest to it.
    means = fit.mapped + sum_by(documents, nearest, len(fit))
    of = np.array([topics.index(id_) for id_ in ids])
    middles = sum_by(means, of, len(topics))
    groups: set[frozenset[str]] = set()
    for number in numbers:
        joined = AgglomerativeClustering(number, metric="cosine", linkage="average").fit(middles).labels_
        members: dict[int, set[str]] = {}
        for id_, group in zip(topics, joined.tolist(), strict=True):
            members.setdefault(group, set()).add(id_)
        groups |= {frozenset(some) for some in members.values() if len(some) > 1}
    return sorted(groups, key=lambda group: (len(group), sorted(group)))
