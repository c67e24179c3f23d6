"""Names for topics: phrases that are typical of a topic, readable, and unlike those of the others."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from indexer.common import Floats
from indexer.text import stemmed

LEADING = 10  # phrases listed with a topic
KEPT = 300  # candidates kept per topic while counting, so that memory does not grow with the vocabulary
UNSEEN = 2  # pseudo-count of sentences: a phrase seen twice in a topic is weak evidence
NEARNESS = 0.4  # what a standard deviation nearer to the centroid is worth, as an exponent
SUPPORT = 0.7  # how much the company of its words counts for a phrase
WORDS_BONUS = {1: 0.4, 2: 1.0, 3: 0.9, 4: 0.6}  # two words say most in a list; single ones are often vague


@dataclass(frozen=True)
class PhraseCount:
    """One phrase of the collection, as the labels need it."""

    phrase: str  # normal form
    surfaces: Mapping[str, int]  # surface ► sentences
    topics: Mapping[str, int]  # topic id ► different sentences in which the phrase has this topic
    vector: Floats


class LabelCandidate(NamedTuple):
    """A phrase that may become the label of a topic."""

    score: float
    phrase: str
    surface: str
    near: float  # cosine to the centroid


@dataclass
class LabelMaker:
    """Collects phrases one by one (any number of them), then names all topics together."""

    centroids: Mapping[str, Floats]  # topic id ► float32 [dims], unit length
    sizes: Mapping[str, int]  # topic id ► documents
    _best: dict[str, list[LabelCandidate]] = field(default_factory=dict)  # heaps

    def add(self, count: PhraseCount) -> None:
        """Take a phrase into account."""
        total = sum(count.topics.values())
        surface = best_surface(count.surfaces)
        for topic, sentences in count.topics.items():
            if topic not in self.centroids or (sentences < 2 and self.sizes.get(topic, 0) >= 20):
                continue
            near = float(np.dot(count.vector, self.centroids[topic]))
            entry = LabelCandidate(self._score(topic, sentences, total, surface), count.phrase, surface, near)
            heap = self._best.setdefault(topic, [])
            (heapq.heappush if len(heap) < KEPT else heapq.heappushpop)(heap, entry)

    def _score(self, topic: str, sentences: int, total: int, surface: str) -> float:
        """Frequent here, rare elsewhere (class-based tf-idf), of a good length."""
        share = sentences / (total + UNSEEN)  # of all of the phrase
        prior = self.sizes.get(topic, 1) / max(1, sum(self.sizes.values()))
        # The unseen sentences have this topic as often as any: few topics must not make all phrases worth nothing.
        expected = max(prior, 1e-9)
        above = (sentences / expected + UNSEEN) / (total + UNSEEN)
        lift = max(0.0, math.log(above)) if len(self.sizes) > 1 else 1.0
        words = WORDS_BONUS.get(len(surface.split()), 0.4)  # "high-risk" is one word
        return math.log1p(sentences) * share * lift * words

    def leading(self) -> dict[str, tuple[str, ...]]:
        """Topic id ► its leading phrases, best first; the first one is unlike the first ones of all other topics."""
        ranked = {topic: _distinct(_supported(_near(self._best.get(topic, [])))) for topic in self.centroids}
        return _without_clashes(ranked, self.sizes)


def _near(found: Sequence[LabelCandidate]) -> list[LabelCandidate]:
    """The same phrases, scored higher the nearer they are to the centroid.

    Near is what is near for this topic and this encoder: one encoder's cosines spread twice as wide as another's.
    """
    nearness = np.array([candidate.near for candidate in found])
    spread = float(nearness.std()) if len(found) else 0.0
    if not spread:
        return list(found)
    factors = np.exp(NEARNESS * (nearness - nearness.mean()) / spread)
    return [
        candidate._replace(score=candidate.score * factor)
        for candidate, factor in zip(found, factors.tolist(), strict=True)
    ]


def _supported(found: Sequence[LabelCandidate]) -> list[str]:
    """Surfaces, best first, those ahead whose words occur in many other good phrases of the topic.

    That tells "climate models" from "wind speed", when both are frequent: climate is in the other phrases too.
    """
    words = {surface: set(stemmed(surface).split()) for _, _, surface, _ in found}
    weight: Counter[str] = Counter()
    for score, _, surface, _ in sorted(found):
        weight.update(dict.fromkeys(words[surface], score))
    most = max(weight.values(), default=0.0) or 1.0

    def order(candidate: LabelCandidate) -> tuple[float, str]:
        score, phrase, surface, _ = candidate
        support = sum(math.sqrt(weight[w] / most) for w in words[surface]) / max(1, len(words[surface]))
        return -score * (1 - SUPPORT + SUPPORT * support), phrase

    return [candidate.surface for candidate in sorted(found, key=order)]


def best_surface(surfaces: Mapping[str, int]) -> str:
    """The most readable surface: the most frequent one; among equals the one with the fewest capitals."""
    counted = Counter(surfaces)
    best = min(counted, key=lambda s: (-counted[s], sum(c.isupper() for c in s), s))
    return " ".join(best.split())


def label_of(phrases: Sequence[str]) -> str:
    """A heading made of the leading phrase (``no phrases`` when there is none)."""
    if not phrases:
        return "no phrases"
    first = phrases[0]
    return first[0].upper() + first[1:] if first.split()[0].islower() else first  # "mRNA levels" stays


def _distinct(surfaces: Sequence[str]) -> list[str]:
    """Surfaces without near-duplicates: none whose stems are a part of an earlier one's, or the reverse."""
    kept: list[tuple[frozenset[str], str]] = []
    for surface in surfaces:
        words = frozenset(stemmed(surface).split())
        if words and not any(words <= other or other <= words for other, _ in kept):
            kept.append((words, surface))
        if len(kept) == 3 * LEADING:
            break
    return [surface for _, surface in kept]


def _without_clashes(ranked: Mapping[str, list[str]], sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Larger topics choose first; a heading that another topic has already is moved back in the list."""
    taken: list[frozenset[str]] = []
    leading: dict[str, tuple[str, ...]] = {}
    for topic in sorted(ranked, key=lambda t: (-sizes.get(t, 0), t)):
        phrases = ranked[topic]
        for at, phrase in enumerate(phrases):
            words = frozenset(stemmed(phrase).split())
            if not any(words <= other or other <= words for other in taken):
                phrases = [phrase, *phrases[:at], *phrases[at + 1 :]]
                taken.append(words)
                break
        leading[topic] = tuple(phrases[:LEADING])
    return leading
