"""Which topics grow: their share of the newest documents, beside their share of those before.

The newest are the last fifth of the documents that have a date, in whole years, months or days. Shares are compared, and
not numbers: a collection of which most is new, or whose last year is not over, makes no topic grow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from indexer.engines.base import Engine, Filter
from indexer.records import Topic
from indexer.search.timeline import Timeline, timeline

NEWEST = 0.2  # share of the dated documents
MIN_DOCUMENTS = (
    5.0  # documents that both parts must lead one to expect: Cochran's rule for the chi-squared test
)
CLEAR = 1.96  # standard deviations that shares must be apart, so that one in twenty is so by chance

Order = Literal["documents", "growth", "name"]


@dataclass(frozen=True)
class Trend:
    """How one topic grows."""

    documents: tuple[int, ...]  # in each stretch of time
    lately: float  # share of the newest documents that have the topic
    before: float  # share of all others
    growth: float | None  # lately / before - 1; None where there are too few documents, or none before
    clear: bool  # it is more than chance makes of a share that stays the same

    @property
    def is_new(self) -> bool:
        """Among the newest there is more than chance makes, and before there was none."""
        return self.clear and self.before == 0

    @property
    def order(self) -> float:
        """By which topics are sorted: those that nothing is known of stand where nothing has changed."""
        if self.growth is not None:
            return self.growth
        return math.inf if self.is_new else 0.0


@dataclass(frozen=True)
class Trends:
    """How all topics grow."""

    whole: Timeline  # all documents
    since: str  # the first stretch of time that counts as new, as people name it
    by_topic: Mapping[str, Trend]

    @property
    def sizes(self) -> tuple[int, ...]:
        """All documents in each stretch of time."""
        return tuple(period.documents for period in self.whole.periods)


def ordered(
    topics: Sequence[Topic], trends: Trends | None, by: Order, ascending: bool | None = None
) -> list[Topic]:
    """Topics by size, growth or name.

    Args:
        ascending: None is what people expect: names go up, numbers go down.
    """
    known = trends.by_topic if trends else {}

    def key(topic: Topic) -> float | str:
        if by == "name":
            return topic.label.casefold()
        if by == "growth":
            return known[topic.id].order if topic.id in known else 0.0
        return topic.size

    down = not (by == "name" if ascending is None else ascending)
    return sorted(topics, key=key, reverse=down)


def topic_trends(engine: Engine, field: str) -> Trends | None:
    """How topics grow by the dates in a field; None where there are no dates, or all are in one stretch of time."""
    whole = timeline(engine, "", mode="words", filters=[], field=field, absent=0.0)
    if whole is None or len(whole.periods) < 2:
        return None
    counted = engine.count_topics(
        [(Filter(field, ">=", period.start), Filter(field, "<", period.end)) for period in whole.periods]
    )
    sizes = [part.documents for part in counted]
    first = newest(sizes)
    if first == 0:
        return None
    ids = sorted({id_ for part in counted for id_ in part.values})
    return Trends(
        whole,
        whole.periods[first].name,
        {id_: trend([part.values.get(id_, 0) for part in counted], sizes, first) for id_ in ids},
    )


def newest(sizes: list[int]) -> int:
    """The stretch of time that the newest fifth begins with: the shortest row at the end that has so many documents."""
    wanted, got = NEWEST * sum(sizes), 0
    for at in reversed(range(len(sizes))):
        got += sizes[at]
        if got >= wanted:
            return at
    return 0


def trend(own: list[int], sizes: list[int], first: int) -> Trend:
    """How a topic grows.

    Args:
        own: Its documents in each stretch of time.
        sizes: All documents there.
        first: Of the newest stretches.
    """
    late, early = sum(sizes[first:]), sum(sizes[:first])
    own_late, own_early = sum(own[first:]), sum(own[:first])
    lately, before = own_late / max(1, late), own_early / max(1, early)
    overall = (own_late + own_early) / max(1, late + early)
    enough = min(late, early) * overall >= MIN_DOCUMENTS
    spread = math.sqrt(overall * (1 - overall) * (1 / late + 1 / early)) if enough else 0.0
    return Trend(
        tuple(own),
        lately,
        before,
        lately / before - 1 if enough and before else None,
        spread > 0 and abs(lately - before) > CLEAR * spread,
    )
