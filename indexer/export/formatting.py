"""Numbers, times and events as text for people, on the command line and on the page."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.engines.base import Clause, Fragment
    from indexer.search.results import Hit, SearchResults
    from indexer.search.trends import Trend
    from indexer.topics.history import TopicEvent, TopicHistory

LONGEST_PASSAGE = 300  # characters
SHORTEST_PIECE = 20  # characters of a sentence that two excerpts have in common
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def clean(text: str, *, keep_lines: bool = False) -> str:
    """Without control characters, which could move the cursor or turn the text around."""
    if text.isprintable():
        return text
    if keep_lines:
        return "\n".join(_UNPRINTABLE.sub(" ", line) for line in text.split("\n"))
    return _UNPRINTABLE.sub(" ", text)


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 topic``, ``1,200 topics``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def ellipses(piece: str, text: str) -> tuple[str, str]:
    """Marks before and after an excerpt: "…" where the text continues."""
    whole = text.strip()
    return "" if whole.startswith(piece) else "… ", "" if whole.endswith(piece) else " …"


def excerpts(hit: Hit, most: int) -> list[Fragment]:
    """What is shown of the text of a hit: the sentence nearest to the query, then what stands around its words."""
    texts = [one for one in hit.fragments if one.field == "text"]
    passage = " ".join(hit.passage.split())
    if not passage:
        return texts[:most]
    words = {one.text[start:end] for one in hit.fragments for start, end in one.marks}
    return [_marked(passage, words), *(one for one in texts if not _overlap(passage, one.text))][:most]


def _marked(passage: str, words: Collection[str]) -> Fragment:
    """A passage with these words marked; the beginning of a long one."""
    from indexer.engines.base import Fragment  # not before: the help must not wait for numpy

    shown = passage if len(passage) <= LONGEST_PASSAGE else passage[:LONGEST_PASSAGE].rpartition(" ")[0]
    known = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})\b")
    marks = tuple(found.span() for found in known.finditer(shown)) if words else ()
    return Fragment("text", shown, marks)


def _overlap(passage: str, fragment: str) -> bool:
    """Whether an excerpt shows a good part of the passage again."""
    pieces = [" ".join(piece.split()) for piece in re.split(r"(?<=[.?!])\s", fragment)]
    return any(piece in passage or passage in piece for piece in pieces if len(piece) >= SHORTEST_PIECE)


def size(number: float) -> str:
    """Bytes as people say them: ``12.3 MB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def duration(seconds: float) -> str:
    """``0.4 s``, ``41 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def growth(trend: Trend | None) -> str:
    """``+40 %``, ``×3.2``, ``-15 %``, ``new``; empty where it is unknown."""
    if trend is None:
        return ""
    if trend.growth is None:
        return "new" if trend.is_new else ""
    if trend.growth >= 1:
        return f"×{1 + trend.growth:.1f}"
    whole = round(100 * trend.growth)
    return f"{whole:+d} %" if whole else "0 %"


def moment(at: datetime | None) -> str:
    """``2026-03-01 09:35``, in local time."""
    if at is None:
        return ""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return f"{aware.astimezone():%Y-%m-%d %H:%M}"


def found(results: SearchResults, there: str = "under the filters") -> str:
    """What a search has found, by what, and in which order: the heading of its hits.

    Args:
        there: Where was looked, if there are filters: the nearest are those of what they let through, and not of all.
    """
    return _found(results, there) + ("; those that say something else come first" if results.diverse else "")


def _found(results: SearchResults, there: str) -> str:
    number = count(results.total, "document")
    wanted = [clause for clause in results.clauses if not clause.negated]
    if not wanted:
        without = f" without {_named(results.clauses)}" if results.clauses else ""
        close = "" if results.close else "nothing is close in meaning; "
        return f"{close}the nearest of {number}{without}" if results.by_meaning else number + without
    if results.total == 0:
        nothing = f"no document with {'any of the words' if len(wanted) > 1 else _named(wanted)}"
        close = "" if results.close else ", and none is close in meaning"
        nearest = f"; the {count(results.listed, 'document')} nearest in meaning" if results.listed else ""
        return nothing + close + nearest
    if results.relaxed:
        said = f"{number} with any of the words; none has all of them"
    else:
        several = f"{'any' if results.any_word else 'all'} of the words"
        said = f"{number} with {several if len(wanted) > 1 else _named(wanted)}"
    if results.by_meaning and results.listed != results.total:
        more = "" if results.listed is None else f"{results.listed - results.total:,} "
        if results.filtered:
            said += f"; of the others {there}, the {more}nearest in meaning"
        else:
            said += f"; {more}more near in meaning"
    return said


def corrections(results: SearchResults) -> Iterator[str]:
    """A sentence for each word that was not searched as it was typed, or not alone."""
    for typed, near in results.corrections.items():
        yield f"No document has '{typed}'; '{near}' was searched instead."
    for typed, searched in results.synonyms.items():
        others = ", ".join(f"'{term}'" for term in searched if term.lower() != typed.lower())
        stays = any(term.lower() == typed.lower() for term in searched)
        yield f"'{typed}' was searched {'with its synonyms' if stays else 'as'} {others}."


def _named(clauses: Sequence[Clause]) -> str:
    if len(clauses) > 1:
        return "the words"
    return {"word": "the word", "phrase": "the phrase", "prefix": "a word that begins so"}[clauses[0].kind]


MARKS = {
    "pinned": "pinned by a user",
    "hidden": "hidden by a user",
    "unmarked": "neither pinned nor hidden any more",
}


def describe_event(history: TopicHistory) -> Iterator[tuple[TopicEvent, str]]:
    """What happened to a topic, one sentence for each event; without those of merges that left it as it was."""
    topic_id = history.entry.id
    went_on = {event.entry.run for event in history.events if event.entry.kind == "kept"}
    last_named = next((event for event in reversed(history.events) if event.entry.kind == "renamed"), None)
    gone = False
    events = history.events
    for at, event in enumerate(events):
        entry = event.entry
        following = events[at + 1].entry if at + 1 < len(events) else None
        if (
            not gone
            and entry.kind == "kept"
            and event.by != "move"
            and following
            and following.kind == "kept"
        ):
            continue  # of several fits that kept it, the last one says so
        if entry.kind == "kept" and event.by == "merge":
            continue
        leaves = entry.old_id == topic_id != entry.new_id
        successor = f"{entry.new_id} '{entry.label}'"
        similarity = f" (similarity {entry.score:.2f})" if 0 < entry.score < 1 else ""
        if entry.kind == "renamed":
            what = f"named '{entry.label}'" if entry.label else "labelled by a user"
            if event is last_named and not history.entry.label_locked:
                what = "name taken back"
        elif entry.kind in MARKS:
            what = MARKS[entry.kind]
        elif entry.kind == "kept":
            what = "moved in the tree by a user" if event.by == "move" else "came back" if gone else "kept"
        elif entry.kind == "born":
            what = "found for the first time"
        elif entry.new_id is None:
            what = "retired"
        elif entry.kind == "hand":
            part = f"{event.old_label} ({entry.old_id})"
            what = f"merged into {successor} by a user" if leaves else f"{part} merged into it by a user"
        elif leaves:
            what = f"{'split into' if entry.kind == 'split' else 'merged into'} {successor}"
        else:
            what = f"{'split off from' if entry.kind == 'split' else 'took in'} {entry.old_id}"
        gone = leaves and entry.run not in went_on
        yield event, what + similarity
