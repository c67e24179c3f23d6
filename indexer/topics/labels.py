"""Names for topics: phrases that cover a topic and little else, and are readable.

A phrase covers what is near to it: "medicine" covers "patient", "doctor" and "side effects", and "allergic reaction" only
a part of them, though it is as typical. So general phrases come before special ones.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from indexer.common import Floats
from indexer.text import stemmed

LEADING = 10  # phrases listed with a topic
JOINT = " · "  # between the parts of a name
LASTING = 4  # phrases, among which a name stays in further fits
ROOM = 48  # characters of a name with several parts
COVERS = (
    0.16  # of the typical phrases of a topic, which one phrase must cover to be its name; else others join it
)
PARTS = 3  # of a name, at most
KEPT = 300  # candidates kept per topic while counting, so that memory does not grow with the vocabulary
COVERED = 100  # of these, the most typical ones, are what a name should cover
UNSEEN = 2  # pseudo-count of sentences: a phrase seen twice in a topic is weak evidence
FAR = 0.9  # share of the pairs of phrases that are farther than near
NEAREST = 0.9  # cosine from which on phrases are near in any case
NEARNESS = 0.3  # what a standard deviation nearer to the centroid is worth, as an exponent
# How much each thing counts in the product that ranks candidates, as exponents.
COVERAGE, DISTINCTNESS, FREQUENCY = 2.0, 1.5, 0.5
WORDS_BONUS = {1: 0.85, 2: 1.0, 3: 0.85, 4: 0.6}  # two words say most in a list


@dataclass(frozen=True)
class PhraseCount:
    """One phrase of the collection, as the labels need it."""

    phrase: str  # normal form
    surfaces: Mapping[str, int]  # surface ► sentences
    topics: Mapping[str, int]  # topic id ► different sentences in which the phrase has this topic
    vector: Floats


class LabelCandidate(NamedTuple):
    """A phrase that may become the label of a topic."""

    typical: float  # sentences in the topic, times their share of all of the phrase
    phrase: str
    surface: str
    sentences: int
    lift: float  # logarithm of how much more frequent it is here than anywhere
    vector: Floats


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
            typical = sentences * sentences / (total + UNSEEN)
            lift = self._lift(topic, sentences, total)
            entry = LabelCandidate(typical, count.phrase, surface, sentences, lift, count.vector)
            heap = self._best.setdefault(topic, [])
            (heapq.heappush if len(heap) < KEPT else heapq.heappushpop)(heap, entry)

    def _lift(self, topic: str, sentences: int, total: int) -> float:
        """How much more frequent a phrase is in a topic than in all (class-based tf-idf)."""
        if len(self.sizes) < 2:
            return 1.0
        prior = self.sizes.get(topic, 1) / max(1, sum(self.sizes.values()))
        # The unseen sentences have this topic as often as any: few topics must not make all phrases worth nothing.
        above = (sentences / max(prior, 1e-9) + UNSEEN) / (total + UNSEEN)
        return max(0.0, float(np.log(above)))

    def labels(self, leading: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Topic id ► a heading: the first of its leading phrases, and others where that covers too little of the topic.

        0.16 parts names that half of the documents of a topic are near to from others (20 Newsgroups, arXiv).
        """
        found = {topic: sorted(self._best.get(topic, []), reverse=True) for topic in leading}
        near = _nearness([_stacked(some) for some in found.values() if some])
        return {topic: _joined(phrases, found[topic], near) for topic, phrases in leading.items()}

    def leading(self, named: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
        """Topic id ► its leading phrases, best first; the first one is unlike the first ones of all other topics.

        Args:
            named: Topics that have a name already, which no other gets.
        """
        found = {topic: sorted(self._best.get(topic, []), reverse=True) for topic in self.centroids}
        coverage = _coverage(found)
        ranked = {
            topic: _distinct(_ranked(some, self.centroids[topic], topic, coverage))
            for topic, some in found.items()
        }
        return _without_clashes(ranked, self.sizes, named or {})


def _coverage(found: Mapping[str, Sequence[LabelCandidate]]) -> dict[str, NDArray[np.float64]]:
    """How much of each topic its candidates and those of all others cover: topic id ► float [topics, candidates].

    Near is what is near for this encoder: one encoder's cosines spread twice as wide as another's.
    """
    vectors = {topic: _stacked(some) for topic, some in found.items() if some}
    near = _nearness(list(vectors.values()))
    return {
        topic: np.array([_within(own, found[other], near).sum(axis=1) for other in vectors])
        for topic, own in vectors.items()
    }


def _within(vectors: Floats, topic: Sequence[LabelCandidate], near: float) -> NDArray[np.float64]:
    """How much of each typical phrase of a topic some phrases cover, as a share of all: float [phrases, typical]."""
    covered = topic[:COVERED]
    weights = np.sqrt([candidate.sentences for candidate in covered])
    found = np.clip((vectors @ _stacked(covered).T - near) / (1 - near), 0, 1)
    shares: NDArray[np.float64] = found * weights / weights.sum()
    return shares


def _joined(phrases: Sequence[str], found: Sequence[LabelCandidate], near: float) -> str:
    """The first phrase, and those that together with it cover most of the topic, until that is enough."""
    at = {candidate.surface: place for place, candidate in enumerate(found)}
    known = [phrase for phrase in phrases[:LASTING] if phrase in at]  # later ones cover more, and say less
    if not known:
        return label_of(phrases)
    within = _within(np.stack([found[at[phrase]].vector for phrase in known]), found, near)
    parts, covered = [0], within[0]
    while covered.sum() < COVERS and len(parts) < PARTS:
        room = ROOM - len(JOINT.join(known[part] for part in parts)) - len(JOINT)
        used = {word for part in parts for word in stemmed(known[part]).split()}
        others = [
            k
            for k, phrase in enumerate(known)
            if len(phrase) <= room and used.isdisjoint(stemmed(phrase).split())
        ]
        if not others:
            break
        parts.append(max(others, key=lambda k: (float(np.maximum(covered, within[k]).sum()), -k)))
        covered = np.maximum(covered, within[parts[-1]])
    return JOINT.join([label_of(known), *(known[part] for part in parts[1:])])


def _stacked(found: Sequence[LabelCandidate]) -> Floats:
    vectors: Floats = np.stack([candidate.vector for candidate in found])
    return vectors


def _nearness(vectors: Sequence[Floats]) -> float:
    """The cosine that one in ten pairs of typical phrases has or exceeds."""
    if not vectors:
        return 0.0
    some = np.concatenate([one[: max(1, 1_000 // len(vectors))] for one in vectors])
    pairs = (some @ some.T)[np.triu_indices(len(some), 1)]
    return min(NEAREST, float(np.quantile(pairs, FAR))) if len(pairs) else 0.0


def _ranked(
    found: Sequence[LabelCandidate], centroid: Floats, topic: str, coverage: Mapping[str, NDArray[np.float64]]
) -> list[str]:
    """Surfaces, best first: those that cover much of the topic and little of any other, occur often and are near it."""
    if not found:
        return []
    shares = coverage[topic]
    at = list(coverage).index(topic)
    own, others = shares[at], np.delete(shares, at, axis=0)
    most = others.max(axis=0) if len(others) else np.zeros(len(found))
    distinct = own / np.maximum(own + most, 1e-9)
    sentences = np.array([candidate.sentences for candidate in found])
    frequency = np.log1p(sentences) / np.log1p(sentences.max())
    share = np.array([candidate.typical for candidate in found]) / sentences
    lift = np.array([candidate.lift for candidate in found])
    words = np.array([WORDS_BONUS.get(len(candidate.surface.split()), 0.4) for candidate in found])
    cosines = _stacked(found) @ centroid
    near = np.exp(NEARNESS * (cosines - cosines.mean()) / max(float(cosines.std()), 1e-6))
    scores = own**COVERAGE * distinct**DISTINCTNESS * frequency**FREQUENCY * share * lift * words * near
    order = sorted(range(len(found)), key=lambda i: (-scores[i], found[i].phrase))
    return [found[i].surface for i in order]


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


def mined_label(mined: str, phrases: Sequence[str]) -> str:
    """A name that was mined, if all its parts are still leading phrases; else the first of these."""
    found = {label_of([phrase]) for phrase in phrases} | set(phrases)
    return mined if mined and found.issuperset(mined.split(JOINT)) else label_of(phrases)


def lasting(phrases: Sequence[str], label: str, before: str) -> tuple[tuple[str, ...], str]:
    """The leading phrases and the name of a topic after a fit: the name stays while its phrase is one of the best.

    One phrase that covers too little by now is joined by others.

    Args:
        label: Mined now.
        before: The name until now.
    """
    first = before.split(JOINT)[0]
    best = next((at for at, phrase in enumerate(phrases[:LASTING]) if label_of([phrase]) == first), None)
    gone = best is None or (before != first and mined_label(before, phrases) != before)
    if best is None or gone or label.split(JOINT)[0] == before:
        return tuple(phrases), label
    return (*phrases[best : best + 1], *phrases[:best], *phrases[best + 1 :]), before


def parent_label(heads: Sequence[str], taken: Container[str] = ()) -> str:
    """A heading for a parent, made of a name for each of its subtopics, the largest first; none of those taken.

    A phrase of the collection seldom covers them all: three topics of physics had "energetic particles". So the names of
    the largest two are joined, and of the third where there is room.
    """
    two, three = JOINT.join(heads[:2]), JOINT.join(heads[:3])
    first = three if len(three) <= ROOM else two
    others = (JOINT.join(heads[:number]) for number in range(2, len(heads) + 1))
    return next((label for label in (first, *others) if label.casefold() not in taken), first)


def interleaved(phrases: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The leading phrases of a parent: the first one of each subtopic, then their second ones, and so on."""
    found = (phrase for some in zip_longest(*phrases) for phrase in some if phrase)
    return tuple(islice(dict.fromkeys(found), LEADING))


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


def _without_clashes(
    ranked: Mapping[str, list[str]], sizes: Mapping[str, int], named: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Larger topics choose first; a heading that another topic has already is moved back in the list."""
    taken = [frozenset(stemmed(name).split()) for name in named.values()]
    leading: dict[str, tuple[str, ...]] = {}
    for topic in sorted(ranked, key=lambda t: (-sizes.get(t, 0), t)):
        phrases = ranked[topic]
        for at, phrase in enumerate(phrases if topic not in named else ()):
            words = frozenset(stemmed(phrase).split())
            if not any(words <= other or other <= words for other in taken):
                phrases = [phrase, *phrases[:at], *phrases[at + 1 :]]
                taken.append(words)
                break
        leading[topic] = tuple(phrases[:LEADING])
    return leading
