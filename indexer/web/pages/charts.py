"""Pictures as numbers: where bars and labels stand. Templates draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from indexer.browsing import Timeline
from indexer.topic_map import Spot

LETTER = 7.2  # width of a letter of a label, about
LINE = 17.0
LABELS = 60  # at most


Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Bar:
    """One stretch of time."""

    name: str
    x: float
    width: float
    height: float
    documents: int
    share: float  # of all documents of that time; 1 where nothing else is told
    first: str  # what a person would type for it: from and to
    last: str


def bars(timeline: Timeline, *, width: float, height: float, of: Timeline | None = None) -> list[Bar]:
    """Bars for documents over time; with `of`, for their share of these, over all the time of these."""
    own = {period.start: period.documents for period in timeline.periods}
    values = [
        (period, own.get(period.start, 0) / max(1, period.documents) if of else float(period.documents))
        for period in (of or timeline).periods
    ]
    highest = max((value for _, value in values), default=0) or 1
    step = width / max(1, len(values))
    return [
        Bar(
            name=period.name,
            x=round(at * step, 2),
            width=round(max(step - min(2.0, step / 5), 0.5), 2),
            height=round(height * value / highest, 2),
            documents=own.get(period.start, 0),
            share=value if of else 1.0,
            first=period.start,
            last=_last(period.start, period.end, timeline.unit),
        )
        for at, (period, value) in enumerate(values)
    ]


def _last(start: str, end: str, unit: str) -> str:
    """The last year of a decade or century; otherwise the stretch itself."""
    return str(int(end) - 1) if unit in ("decade", "century") else start


@dataclass(frozen=True)
class Label:
    """A name in the map."""

    text: str
    x: float
    y: float


def labels(spots: Sequence[Spot], width: float) -> dict[str, Label]:
    """Names of topics where there is room for them: below, above or beside their circles, or in them."""
    boxes: list[Box] = []
    circles = [(s.x - s.radius, s.y - s.radius, s.x + s.radius, s.y + s.radius) for s in spots]
    found: dict[str, Label] = {}
    for at, spot in enumerate(spots[:LABELS]):
        text = shortened(spot.topic.label)
        half = len(text) * LETTER / 2
        beside = spot.radius + half + 5
        below, above = spot.y + spot.radius + LINE * 0.85, spot.y - spot.radius - LINE * 0.35
        level = spot.y + LINE * 0.3
        tried = [
            (spot.x, below),
            (spot.x, above),
            (spot.x + beside, level),
            (spot.x - beside, level),
            (spot.x, level),
        ]
        for x, y in tried:
            box = (x - half, y - LINE * 0.8, x + half, y + LINE * 0.2)
            others = [*boxes, *(circle for i, circle in enumerate(circles) if i != at)]
            if box[0] >= 0 and box[2] <= width and not any(_overlap(box, other) for other in others):
                boxes.append(box)
                found[spot.topic.id] = Label(text, round(x, 1), round(y, 1))
                break
    return found


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def shortened(text: str, most: int = 30) -> str:
    """Cut at a word, with a sign for it."""
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0] or text[: most - 1]}…"
