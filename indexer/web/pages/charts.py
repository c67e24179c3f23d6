"""Bars as numbers; templates draw them. And texts that are too long for a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from indexer.search.timeline import Timeline

FEW = 10  # documents of a stretch of time; shares of fewer say little, and are drawn faint
SPARK_WIDTH, SPARK_HEIGHT = 64.0, 18.0


@dataclass(frozen=True)
class Bar:
    """One stretch of time."""

    name: str
    x: float
    width: float
    height: float
    documents: int
    share: float  # of all documents of that time; 1 unless given
    first: str  # what a person would type for it: from and to
    last: str
    few: bool = False  # too few documents in all for a share


def bars(timeline: Timeline, *, width: float, height: float) -> list[Bar]:
    """Bars for documents over time."""
    numbers = [float(period.documents) for period in timeline.periods]
    return _drawn(timeline, timeline, numbers, max(numbers, default=0) or 1, width, height)


def shares(timeline: Timeline, of: Timeline, *, width: float, height: float) -> tuple[list[Bar], float]:
    """Bars for the share of documents in these, over all the time of these; and the share that the height represents.

    Stretches of time with few documents do not count for the height: one of one would be all there is.
    """
    own = {period.start: period.documents for period in timeline.periods}
    values = [own.get(period.start, 0) / max(1, period.documents) for period in of.periods]
    telling = [value for value, period in zip(values, of.periods, strict=True) if period.documents >= FEW]
    top = rounded_up(max(telling or values, default=0))
    return _drawn(timeline, of, values, top, width, height, shares=True), top


def _drawn(
    own: Timeline,
    of: Timeline,
    values: Sequence[float],
    top: float,
    width: float,
    height: float,
    *,
    shares: bool = False,
) -> list[Bar]:
    counted = {period.start: period.documents for period in own.periods}
    step = width / max(1, len(values))
    return [
        Bar(
            name=period.name,
            x=round(at * step, 2),
            width=round(max(step - min(2.0, step / 5), 0.5), 2),
            height=round(height * min(1.0, value / top), 2),
            documents=counted.get(period.start, 0),
            share=value if shares else 1.0,
            first=period.start,
            last=_last(period.start, period.end, own.unit),
            few=shares and period.documents < FEW,
        )
        for at, (period, value) in enumerate(zip(of.periods, values, strict=True))
    ]


def rounded_up(share: float) -> float:
    """The next share that is easily read: 1, 2 or 5 at some place behind the point; 1 at most."""
    if share <= 0:
        return 1.0
    place = 10.0 ** math.floor(math.log10(share))
    return next((m * place for m in (1, 2, 5) if m * place >= share * (1 - 1e-9)), min(1.0, 10 * place))


def spark(own: Sequence[int], of: Sequence[int]) -> str:
    """A small picture of shares over time, as one path; stretches of time with few documents are left out."""
    some = min(FEW, max(of, default=0))
    values = [a / b if b and b >= some else 0.0 for a, b in zip(own, of, strict=True)]
    top = max(values, default=0.0)
    if not top:
        return ""
    step = SPARK_WIDTH / len(values)
    wide = step - min(1.0, step / 5)
    return "".join(
        f"M{at * step:.1f} {SPARK_HEIGHT:.0f}v-{SPARK_HEIGHT * value / top:.1f}h{wide:.1f}V{SPARK_HEIGHT:.0f}z"
        for at, value in enumerate(values)
        if value
    )


def _last(start: str, end: str, unit: str) -> str:
    """The last year of a decade or century; otherwise the stretch itself."""
    return str(int(end) - 1) if unit in ("decade", "century") else start


def shortened(text: str, most: int = 30) -> str:
    """Cut at a word, with a sign for it."""
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0] or text[: most - 1]}…"
