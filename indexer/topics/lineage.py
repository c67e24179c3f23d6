"""Which new topic continues which old one: assignment over centroids and shared phrases; and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from indexer.common import Floats, unit
from indexer.text import stemmed

SAME = 0.5  # at least so alike, or the new topic is a new one
RELATED = 0.35  # at least so alike, or it has nothing to do with the other
PHRASE_SHARE = 0.5  # of the likeness; the rest is the cosine of the centroids, stretched to 0..1


@dataclass(frozen=True)
class TopicShape:
    """What a topic is compared by."""

    centroid: Floats  # float32 [dims], unit length, in the same space for both sides
    phrases: tuple[str, ...]


@dataclass(frozen=True)
class ContinuedTopics:
    """What became of old topics. Numbers are positions in the lists given: (old, new, likeness)."""

    kept: tuple[tuple[int, int, float], ...]
    split: tuple[tuple[int, int, float], ...]  # the new one is a part of an old one that goes on elsewhere
    merged: tuple[tuple[int, int, float], ...]  # the old one went into a new one that continues another
    new: tuple[int, ...]  # without any forebear
    retired: tuple[int, ...]  # without any heir

    @property
    def born(self) -> tuple[int, ...]:
        """All new topics that need a new id."""
        return tuple(sorted([*self.new, *(n for _, n, _ in self.split)]))


def shape_similarity(old: Sequence[TopicShape], new: Sequence[TopicShape]) -> Floats:
    """float32 [old, new], 0..1.

    Centroids of one collection all point roughly the same way, so their mean is taken away first.
    """
    if not old or not new:
        return np.zeros((len(old), len(new)), np.float32)
    a, b = np.stack([t.centroid for t in old]), np.stack([t.centroid for t in new])
    middle = np.concatenate([a, b]).mean(axis=0)
    a, b = unit(a - middle), unit(b - middle)
    cosine = np.clip(a @ b.T, 0, 1)
    words = [[frozenset(stemmed(p).split()) for p in topic.phrases] for topic in (*old, *new)]
    sets = [frozenset(" ".join(sorted(w)) for w in topic) for topic in words]
    shared = np.array(
        [[len(o & n) / max(1, min(len(o), len(n))) for n in sets[len(old) :]] for o in sets[: len(old)]]
    )
    alike: Floats = (PHRASE_SHARE * shared + (1 - PHRASE_SHARE) * cosine).astype(np.float32)
    return alike


def trace(old: Sequence[TopicShape], new: Sequence[TopicShape]) -> ContinuedTopics:
    """Match each new topic with at most one old one so that the likeness is greatest in total (Hungarian method).

    What is left over was split off, merged, born or retired, by whether it is like anything on the other side.
    """
    from scipy.optimize import linear_sum_assignment

    alike = shape_similarity(old, new)
    pairs = zip(*linear_sum_assignment(-alike), strict=True) if old and new else ()
    kept = [(int(o), int(n), float(alike[o, n])) for o, n in pairs if alike[o, n] >= SAME]
    lost = sorted(set(range(len(old))) - {o for o, _, _ in kept})
    fresh = sorted(set(range(len(new))) - {n for _, n, _ in kept})
    split = [(int(alike[:, n].argmax()), n, float(alike[:, n].max())) for n in fresh if old]
    merged = [(o, int(alike[o].argmax()), float(alike[o].max())) for o in lost if new]
    split = [link for link in split if link[2] >= RELATED]
    merged = [link for link in merged if link[2] >= RELATED]
    return ContinuedTopics(
        kept=tuple(kept),
        split=tuple(split),
        merged=tuple(merged),
        new=tuple(n for n in fresh if n not in {link[1] for link in split}),
        retired=tuple(o for o in lost if o not in {link[0] for link in merged}),
    )


def relatives(links: Iterable[tuple[str, str, float]], topic: str, wanted: Set[str]) -> dict[str, float]:
    """The nearest of the wanted topics that one topic came from or went into: fewest steps, along links in any direction.

    Args:
        links: Ids of an old and a new topic, and their likeness.

    Returns:
        Topic ► the least likeness on the way there. Empty when no way leads to one.
    """
    near: dict[str, dict[str, float]] = {}
    for old, new, score in links:
        near.setdefault(old, {})[new] = near.setdefault(new, {})[old] = score
    seen = {topic}
    reached = {topic: 1.0}
    while reached:
        following: dict[str, float] = {}
        for id_, so_far in reached.items():
            for other, score in near.get(id_, {}).items():
                if other not in seen:
                    following[other] = max(following.get(other, 0.0), min(so_far, score))
        if found := {id_: score for id_, score in following.items() if id_ in wanted}:
            return found
        seen |= following.keys()
        reached = following
    return {}
