"""Excerpts of a field around its marked words, shared by all engines so that they return the same."""

from __future__ import annotations

import re

from indexer.engines.base import Fragment

FRAGMENT = 240  # characters of a fragment, about two sentences

_SPACE = re.compile(r"\s")


def marked_ranges(marked: str, opening: str, closing: str) -> list[tuple[int, int]]:
    """Return the ranges between pairs of markers, as offsets in the text without markers."""
    marks, length = [], 0
    for number, part in enumerate(re.split(f"{re.escape(opening)}|{re.escape(closing)}", marked)):
        if number % 2:  # parts alternate: outside, inside, outside
            marks.append((length, length + len(part)))
        length += len(part)
    return marks


def fragments_around(field: str, text: str, marks: list[tuple[int, int]]) -> list[Fragment]:
    """Return one fragment per group of marks that are close together, with its ends at spaces."""
    groups: list[list[tuple[int, int]]] = []
    for mark in marks:
        if groups and mark[1] - groups[-1][0][0] <= FRAGMENT:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    found, left = [], 0  # fragments do not overlap
    for number, group in enumerate(groups):
        first, last = group[0][0], group[-1][1]
        right = groups[number + 1][0][0] if number + 1 < len(groups) else len(text)
        spare = max(0, FRAGMENT - (last - first))
        start = max(left, first - spare // 2)
        end = min(right, max(last, start + FRAGMENT))
        start = max(left, min(start, end - FRAGMENT)) if start > left else start
        start, end = _at_spaces(text, start, first, last, end)
        found.append(Fragment(field, text[start:end], tuple((a - start, b - start) for a, b in group)))
        left = end
    return found


def _at_spaces(text: str, start: int, first: int, last: int, end: int) -> tuple[int, int]:
    """Move both ends inwards to spaces, but never into a mark."""
    if start > 0 and not text[start - 1].isspace():
        space = _SPACE.search(text, start, first)
        start = space.end() if space else first
    if end < len(text) and not text[end].isspace():
        spaces = [space.start() for space in _SPACE.finditer(text, last, end)]
        end = spaces[-1] if spaces else last
    while start < first and text[start].isspace():
        start += 1
    while end > last and text[end - 1].isspace():
        end -= 1
    return start, end


def fragment_rank(fragment: Fragment) -> tuple[int, int, bool]:
    """Sort key: most distinct words first, then most marks, then the title."""
    words = {fragment.text[a:b].casefold() for a, b in fragment.marks}
    return -len(words), -len(fragment.marks), fragment.field != "title"
