"""Positions of the labels on the map: next to their circles, without overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from indexer.collection import Collection
from indexer.topics.map import Spot, TopicMap
from indexer.web.pages.charts import shortened

FONT, SMALL = 13.5, 11.0  # sizes of letters, in the units of the map
CROWD = 30  # with more topics, letters are small
LETTER = 0.55  # width of one, in sizes, about
TALL = 1.2  # height of a row of them, in sizes
BASE = 0.85  # from its top to the line that it stands on
ROOM = 3.0  # around a name, and more to other names
BESIDE = 4.0  # from a circle to its name
FAR = (14.0, 26.0, 42.0, 62.0, 86.0, 115.0, 150.0)  # the same where a line has to lead to it
DIRECTIONS = np.radians([90, -90, 0, 180, 45, 135, -45, -135])  # the best first: below, above, right, left
BETWEEN = np.radians(np.arange(22.5, 360, 45))
DOTS = 8  # places of a line that are looked at

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Line = tuple[float, float, float, float]  # from x, y to x, y


@dataclass(frozen=True)
class Label:
    """A name in the map."""

    rows: tuple[str, ...]
    x: float  # its middle
    y: tuple[float, ...]  # where each row stands
    small: bool = False
    late: bool = False  # no room: displayed while the pointer is over the topic
    line: Line | None = None  # from the circle, where the name is not beside it
    number: int = 0  # displayed in the circle when the label does not fit; the label is listed below the map
    circle: tuple[float, float] = (0.0, 0.0)  # where the number stands
    name: str = ""


@dataclass(frozen=True)
class Picture:
    """A map with its names, as it is drawn."""

    shape: Literal["wide", "tall"]  # for screens, and for phones
    map: TopicMap
    labels: dict[str, Label]


def pictures(collection: Collection) -> list[Picture]:
    """The same map in both shapes."""
    wide, tall = collection.topic_map(), collection.topic_map(tall=True)
    return [Picture("wide", wide, labels(wide)), Picture("tall", tall, labels(tall))]


def labels(map: TopicMap) -> dict[str, Label]:
    """Names of topics, by id. Those of large topics are placed first; then those that need two rows, or a line."""
    small = len(map.spots) > CROWD
    font = SMALL if small else FONT
    paper = _Paper(map, font)
    found: dict[str, Label] = {}
    for halved, far in ((False, False), (True, False), (False, True), (True, True)):
        for spot in map.spots:
            rows = _rows(spot, halved)
            if spot.topic.id in found or (halved and len(rows) == 1):
                continue
            boxes, lines = _places(spot, paper.size(rows), far)
            for at in paper.free(boxes):
                line = lines[at] if far else None
                if paper.take(spot.topic.id, boxes[at], line):
                    found[spot.topic.id] = _label(rows, boxes[at], paper.font, small, line)
                    break
    number = 0
    for spot in map.spots:
        if spot.topic.id not in found:
            above = _tenth(spot.y - spot.radius - BESIDE)
            number += 1
            found[spot.topic.id] = Label(
                _rows(spot, False), spot.x, (above,), small, late=True,
                number=number, circle=(spot.x, _tenth(spot.y + font / 3)), name=spot.topic.label,
            )  # fmt: skip
    return found


def _rows(spot: Spot, halved: bool) -> tuple[str, ...]:
    """A name, in two rows if it should be and has a space."""
    text = shortened(spot.topic.label)
    spaces = [at for at, sign in enumerate(text) if sign == " "]
    if not halved or not spaces:
        return (text,)
    middle = min(spaces, key=lambda at: abs(at - len(text) / 2))
    return text[:middle], text[middle + 1 :]


def _label(rows: tuple[str, ...], box: Floats, font: float, small: bool, line: Floats | None) -> Label:
    y = tuple(_tenth(box[1] + (BASE + TALL * row) * font) for row in range(len(rows)))
    return Label(rows, _tenth((box[0] + box[2]) / 2), y, small, line=_drawn(line))


def _tenth(number: float) -> float:
    return round(float(number), 1)


def _drawn(line: Floats | None) -> Line | None:
    if line is None:
        return None
    a, b, c, d = (_tenth(number) for number in line)
    return a, b, c, d


def _places(spot: Spot, size: Floats, far: bool) -> tuple[Floats, Floats]:
    """Candidate boxes of a label, the best first, with the lines that lead to them."""
    distances = np.array(FAR if far else (BESIDE,))
    angles = np.concatenate([DIRECTIONS, BETWEEN]) if far else DIRECTIONS
    out = np.tile(np.stack([np.cos(angles), np.sin(angles)], axis=1), (len(distances), 1))
    edge = np.array([spot.x, spot.y]) + out * spot.radius
    # The nearest side or corner of the box lies in that direction.
    middle = edge + out * distances.repeat(len(angles))[:, None] + np.clip(out * np.sqrt(2), -1, 1) * size / 2
    boxes = np.hstack([middle - size / 2, middle + size / 2])
    return boxes, np.hstack([edge, np.clip(edge, boxes[:, :2], boxes[:, 2:])])


class _Paper:
    """What is drawn already."""

    def __init__(self, map: TopicMap, font: float) -> None:
        self.font = font
        self._size = np.array([map.width, map.height])
        self._ids = np.array([spot.topic.id for spot in map.spots])
        self._circles = np.array([(spot.x, spot.y, spot.radius) for spot in map.spots]).reshape(-1, 3)
        self._names = np.empty((0, 4))  # and their lines, dot by dot

    def size(self, rows: tuple[str, ...]) -> Floats:
        """Width and height of a name."""
        return np.array([max(map(len, rows)) * LETTER, len(rows) * TALL]) * self.font

    def free(self, boxes: Floats) -> list[int]:
        """Which of these places for a name nothing is in."""
        inside = (boxes[:, :2] >= ROOM).all(axis=1) & (boxes[:, 2:] <= self._size - ROOM).all(axis=1)
        room = boxes + np.array([-2, -1.5, 2, 1.5]) * ROOM
        free = inside & ~_touch(boxes, self._circles) & ~_overlap(room, self._names)
        return [int(at) for at in np.flatnonzero(free)]

    def take(self, id_: str, box: Floats, line: Floats | None) -> bool:
        """Put a name into a free place, unless its line would be in the way."""
        drawn = box[None]
        if line is not None:
            dots = line[:2] + (np.arange(DOTS)[:, None] + 0.5) / DOTS * (line[2:] - line[:2])
            dots = np.hstack([dots - 1, dots + 1])
            others = self._circles[self._ids != id_]
            if (_touch(dots, others) | _overlap(dots, self._names)).any():
                return False
            drawn = np.vstack([drawn, dots])
        self._names = np.vstack([self._names, drawn])
        return True


def _touch(boxes: Floats, circles: Floats) -> Flags:
    """Which boxes are on a circle."""
    nearest = np.clip(circles[:, :2], boxes[:, None, :2], boxes[:, None, 2:])
    gap = np.linalg.norm(nearest - circles[:, :2], axis=2) - circles[:, 2]
    touching: Flags = np.any(gap < ROOM, axis=1)
    return touching


def _overlap(boxes: Floats, others: Floats) -> Flags:
    """Which boxes are on another one."""
    before, behind = boxes[:, None, :2] < others[:, 2:], boxes[:, None, 2:] > others[:, :2]
    overlapping: Flags = np.any(np.all(before & behind, axis=2), axis=1)
    return overlapping
