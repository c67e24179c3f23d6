"""Bars as numbers; templates draw them. And texts that are too long for a picture."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.browsing import Timeline


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


def shortened(text: str, most: int = 30) -> str:
    """Cut at a word, with a sign for it."""
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0] or text[: most - 1]}…"
