"""What decides about a retrain: how far a collection may drift, and what a new encoder may cost. Settings set each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GateLimits:
    """How much a new encoder may cost, each in the unit of its figure, and what it must gain.

    Attributes:
        gain: In one of the figures that tell better from worse; less is not worth another space.
        context, siblings, gold: How much lower it may be.
        silhouette, npmi: The same, means of several fits; they still waver by .02 from start to start.
        without_topic, likeness: How much higher.
        neighbours, search: Share of the nearest ten that must stay: below it, saved searches answer something else.
        churn: Share of the documents that may change their topic.
        speed: Times the old one.
    """

    gain: float = 0.005
    context: float = 0.01
    siblings: float = 0.01
    gold: float = 0.01
    silhouette: float = 0.03
    npmi: float = 0.05
    without_topic: float = 0.05
    likeness: float = 0.2
    neighbours: float = 0.3
    search: float = 0.3
    churn: float = 0.4
    speed: float = 0.8


@dataclass(frozen=True)
class DriftLimits:
    """From where on a retrain is worth it.

    Attributes:
        beyond_topics, topic_shares, new_vocabulary: How much more of the sign new documents have than old ones.
        fewest: New documents by old ones: below it, not even a new subject would change much.
        growth: The same: above it there is enough more to learn from, even of the old subjects.
    """

    beyond_topics: float = 0.05
    topic_shares: float = 0.15
    new_vocabulary: float = 0.06
    fewest: float = 0.02
    growth: float = 1.0


GATE = GateLimits()
DRIFT = DriftLimits()
