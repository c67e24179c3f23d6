"""The limits of the gate and of drift, with their defaults; docs/settings.md has the reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GateLimits:
    """The most that a new encoder may lose, each in the unit of its figure, and the least that it must gain.

    Attributes:
        gain: In one figure at least; less is not worth another space.
        context, siblings, ground_truth: How much lower it may be.
        silhouette, npmi: The same, means of several fits; they still waver by .02 from start to start.
        without_topic, similarity: How much higher.
        found: How much lower nDCG@10 of searches for documents of the probe may be, by meaning and by both.
        neighbours, search: Share of the nearest ten that must stay: below it, saved searches return other results.
        churn: Share of the documents that may change their topic.
        speed: Times the old one.
    """

    gain: float = 0.005
    context: float = 0.01
    siblings: float = 0.01
    ground_truth: float = 0.01
    found: float = 0.005
    silhouette: float = 0.03
    npmi: float = 0.05
    without_topic: float = 0.05
    similarity: float = 0.2
    neighbours: float = 0.3
    search: float = 0.3
    churn: float = 0.4
    speed: float = 0.8


@dataclass(frozen=True)
class DriftLimits:
    """Limits from which a retrain is worth it.

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
