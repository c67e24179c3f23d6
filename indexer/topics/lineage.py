"""Which new topic continues which old one: assignment over centroids and shared phrases; and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from indexer.common import Floats, unit
from indexer.text import stemmed

SAME = 0.5  # least similarity of a continued topic
RELATED = 0.35  # least similarity of related topics
PHRASE_SHARE = 0.5  # of the similarity; the rest is the cosine of the centroids, stretched to 0..1


@dataclass(frozen=True)
class TopicShape:
    """Centroid and phrases by which topics are compared."""

    centroid: Floats  # float32 [dims], unit length, in the same space for both sides
    phrases: tuple[str, ...]


@dataclass(frozen=True)
class ContinuedTopics:
    """Links between old and new topics. Numbers are positions in the given lists: (old, new, similarity)."""

    kept: tuple[tuple[int, int, float], ...]
    split: tuple[tuple[int, int, float], ...]  # the new one is a part of an old one that another continues
    merged: tuple[tuple[int, int, float], ...]  # the old one went into a new one that continues another
    new: tuple[int, ...]  # related to no old one
    retired: tuple[int, ...]  # related to no new one

    def of_owners(self, owners: Sequence[int], whole: Set[int]) -> tuple[ContinuedTopics, dict[int, int]]:
        """These links, of the topics that old shapes belong to, and the topic of each new one that is only a part of it.

        Args:
            owners: Of each old shape, its topic; several may be of one.
            whole: Topics that no part is split from, if they are continued.
        """
        ranked = sorted(self.kept, key=lambda link: -link[2])
        kept = {owners[shape]: (owners[shape], new, score) for shape, new, score in reversed(ranked)}
        first = {new for _, new, _ in kept.values()}
        parts = {
            new: owners[shape]
            for shape, new, _ in (*self.kept, *self.split)
            if new not in first and owners[shape] in whole & kept.keys()
        }
        split = tuple((owners[s], new, score) for s, new, score in self.split if new not in parts)
        merged = {
            owners[s]: (owners[s], new, score) for s, new, score in self.merged if owners[s] not in kept
        }
        retired = {owners[s] for s in self.retired} - kept.keys() - merged.keys()
        links = tuple(kept[owner] for owner in sorted(kept)), split, tuple(merged.values())
        return ContinuedTopics(*links, self.new, tuple(sorted(retired))), parts

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
    # Where one side has no phrases, the centroids decide alone.
    known = np.array([bool(o.phrases) for o in old])[:, None] & np.array([bool(n.phrases) for n in new])
    share = np.where(known, PHRASE_SHARE, 0.0)
    similarity: Floats = (share * shared + (1 - share) * cosine).astype(np.float32)
    return similarity


def trace(
    old: Sequence[TopicShape], new: Sequence[TopicShape], same: Iterable[tuple[int, int]] = ()
) -> ContinuedTopics:
    """Match topics by their shapes; see `matched`.

    Args:
        same: Positions of an old topic and the new one that was made of it, whatever its phrases are now.
    """
    similarity = shape_similarity(old, new)
    for o, n in same:
        similarity[o, n] = 1.0
    return matched(similarity)


def trace_parents(old: Sequence[Set[str]], new: Sequence[Set[str]]) -> ContinuedTopics:
    """Match parents by the ids of the topics below them: by twice the common ones as a share of both (Dice)."""
    shares = [[2 * len(o & n) / (len(o) + len(n)) for n in new] for o in old]
    return matched(np.array(shares, np.float32).reshape(len(old), len(new)))


def matched(similarity: Floats) -> ContinuedTopics:
    """Match each new topic with at most one old one so that the total similarity is greatest (Hungarian method).

    The others were split off, merged, born or retired, by their similarity to any topic of the other side.

    Args:
        similarity: float32 [old, new], 0 to 1.
    """
    from scipy.optimize import linear_sum_assignment

    old, new = map(range, similarity.shape)
    pairs = zip(*linear_sum_assignment(-similarity), strict=True) if old and new else ()
    kept = [(int(o), int(n), float(similarity[o, n])) for o, n in pairs if similarity[o, n] >= SAME]
    lost = sorted(set(old) - {o for o, _, _ in kept})
    fresh = sorted(set(new) - {n for _, n, _ in kept})
    split = [(int(similarity[:, n].argmax()), n, float(similarity[:, n].max())) for n in fresh if old]
    merged = [(o, int(similarity[o].argmax()), float(similarity[o].max())) for o in lost if new]
    split = [link for link in split if link[2] >= RELATED]
    merged = [link for link in merged if link[2] >= RELATED]
    return ContinuedTopics(
        kept=tuple(kept),
        split=tuple(split),
        merged=tuple(merged),
        new=tuple(n for n in fresh if n not in {link[1] for link in split}),
        retired=tuple(o for o in lost if o not in {link[0] for link in merged}),
    )


def relatives(links: Iterable[tuple[str, str, float]], topic: str, targets: Set[str]) -> dict[str, float]:
    """The nearest of the target topics that one topic came from or went into: fewest steps, along links in any direction.

    Args:
        links: Ids of an old and a new topic, and their similarity.

    Returns:
        Topic ► the least similarity on the way there. Empty when there is no way.
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
        if found := {id_: score for id_, score in following.items() if id_ in targets}:
            return found
        seen |= following.keys()
        reached = following
    return {}
