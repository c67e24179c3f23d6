"""Topics as circles in a picture: near in meaning, near each other.

The two directions in which the centroids differ most are the axes. When the topics change, the new picture is turned
and mirrored so that topics which were there before stay where they were as well as they can: ids are permanent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexer.common import centred, remember, remembered
from indexer.records import Topic

WIDE, HIGH = 1000.0, 640.0  # the picture
NARROW, TALL = 420.0, 1000.0  # the one for phones
ROOMY = 25  # topics that it has room for, with their names; for more it is higher
MARGIN = 40.0
MAX_SIZE, SMALLEST = 46.0, 9.0  # radius
GAP = 4.0  # between two circles
PUSHES = 300  # steps in which circles that overlap leave each other
GROUPS = 8  # at most: more colours cannot be told apart
PER_GROUP = 4  # topics to a group, about

Points = NDArray[np.float64]  # [topics, 2]


@dataclass(frozen=True)
class Spot:
    """One topic in the picture."""

    topic: Topic
    x: float
    y: float
    radius: float  # its area grows with the documents
    group: int  # from 1; similar topics, or those below one at the top of the tree

    @property
    def colour(self) -> int:
        """From 1 to `GROUPS`."""
        return (self.group - 1) % GROUPS + 1


@dataclass(frozen=True)
class TopicMap:
    """All topics, largest first, in a picture of this size."""

    spots: tuple[Spot, ...]
    width: float = WIDE
    height: float = HIGH


def topic_map(
    topics: Sequence[Topic], memory: Path, *, tall: bool = False, groups: Mapping[str, str] | None = None
) -> TopicMap:
    """Place topics.

    Args:
        memory: File with the places of the last fit; written when the topics have changed.
        tall: The same turned by a quarter, for who holds a phone.
        groups: Topic ► what it belongs to; None: similar ones are grouped.
    """
    if not topics:
        return TopicMap(())
    centroids = np.stack([topic.centroid for topic in topics]).astype(np.float64)
    state = hashlib.sha256(centroids.tobytes() + repr([t.id for t in topics]).encode()).hexdigest()
    known, before = _remembered(memory)
    if known == state:
        points = np.array([before[topic.id] for topic in topics])
    else:
        points = aligned([t.id for t in topics], axes(centroids), before)
        places = {t.id: [round(x, 6), round(y, 6)] for t, (x, y) in zip(topics, points.tolist(), strict=True)}
        remember(memory, {"state": state, "places": places})
    radii = _radii([topic.size for topic in topics])
    width, height = (NARROW, TALL) if tall else (WIDE, HIGH)
    picture = np.array([width, round(height * max(1.0, np.sqrt(len(topics) / ROOMY)))])
    points = points[:, ::-1] if tall else points
    spread = _apart(_scaled(points, radii, picture), radii, picture)
    numbers = _numbered(topics, [groups[t.id] for t in topics] if groups else _similar(topics, centroids))
    spots = zip(topics, spread.tolist(), radii.tolist(), numbers, strict=True)
    return TopicMap(
        tuple(Spot(topic, round(x, 1), round(y, 1), round(r, 1), g) for topic, (x, y), r, g in spots),
        *picture.tolist(),
    )


def axes(centroids: Points) -> Points:
    """The two principal components; of the two signs that each may have, the one whose farthest topic is positive."""
    apart = centroids - centroids.mean(axis=0)
    left, strength, _ = np.linalg.svd(apart, full_matrices=False)
    points = np.zeros((len(centroids), 2))
    shown = min(2, len(strength))
    points[:, :shown] = left[:, :shown] * strength[:shown]
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    turned: Points = points * np.where(farthest < 0, -1.0, 1.0)
    return turned


def aligned(ids: Sequence[str], points: Points, before: Mapping[str, Sequence[float]]) -> Points:
    """Points turned and mirrored onto the places of those that were there before (orthogonal Procrustes).

    Source: Schönemann, A generalized solution of the orthogonal Procrustes problem, Psychometrika 31, 1966.
    """
    shared = [at for at, id_ in enumerate(ids) if id_ in before]
    if len(shared) < 2:
        return points
    old = np.array([before[ids[at]] for at in shared])
    new = points[shared]
    left, _, right = np.linalg.svd((new - new.mean(axis=0)).T @ (old - old.mean(axis=0)))
    turned: Points = points @ (left @ right)
    return turned


def _radii(sizes: Sequence[int]) -> Points:
    """So that areas are as the numbers of documents are."""
    share = np.sqrt(np.array(sizes, np.float64) / max(1, *sizes))
    crowd = min(1.0, np.sqrt(24 / len(sizes)))  # many topics are drawn smaller
    radii: Points = np.maximum(SMALLEST * max(crowd, 0.5), MAX_SIZE * crowd * share)
    return radii


def _scaled(points: Points, radii: Points, picture: Points) -> Points:
    """Into the picture, each axis by itself: what matters is who is beside whom."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    centre = np.where(high > low, (points - low) / span, 0.5)
    edge = MARGIN + radii.max()
    scaled: Points = edge + centre * (picture - 2 * edge)
    return scaled


def _apart(points: Points, radii: Points, picture: Points) -> Points:
    """Move circles that overlap away from each other, by as little as will do."""
    points = points.copy()
    wanted = radii[:, None] + radii[None, :] + GAP
    np.fill_diagonal(wanted, 0.0)
    for _ in range(PUSHES):
        between = points[:, None, :] - points[None, :, :]
        distance = np.linalg.norm(between, axis=2)
        overlap = np.clip(wanted - distance, 0, None)
        if not overlap.any():
            break
        # Circles on the very same place leave each other sideways, by their order.
        order = np.sign(np.arange(len(points))[:, None] - np.arange(len(points))[None, :])
        there = distance > 1e-9
        direction = np.where(
            there[..., None], between / np.where(there, distance, 1.0)[..., None],
            np.stack([order, np.zeros_like(order)], axis=2),
        )  # fmt: skip
        points += 0.5 * (direction * overlap[..., None]).sum(axis=1) / 2
        low = MARGIN / 2 + radii[:, None]
        points = np.clip(points, low, picture - low)
    return points


def _similar(topics: Sequence[Topic], centroids: Points) -> list[int]:
    """Groups of similar topics, by average linkage."""
    if len(topics) == 1:
        return [1]
    from scipy.cluster.hierarchy import fcluster, linkage

    wanted = min(GROUPS, -(-len(topics) // PER_GROUP))
    found: list[int] = fcluster(linkage(centred(centroids), "average"), wanted, "maxclust").tolist()
    return found


def _numbered(topics: Sequence[Topic], groups: Sequence[Hashable]) -> list[int]:
    """Groups from 1, by the oldest topic in them, so that colours stay."""
    oldest: dict[Hashable, str] = {}
    for topic, group in zip(topics, groups, strict=True):
        oldest[group] = min(topic.id, oldest.get(group, topic.id))
    numbers = {group: number for number, group in enumerate(sorted(oldest, key=oldest.__getitem__), 1)}
    return [numbers[group] for group in groups]


def _remembered(memory: Path) -> tuple[str, dict[str, list[float]]]:
    """Which topics these were, and where each was; empty if it was not stored."""
    with suppress(KeyError, TypeError, ValueError):
        found = remembered(memory)
        return str(found["state"]), dict(found["places"])
    return "", {}
