"""Pieces of a field around its marked words: the same for every engine, so that all of them show the same."""

from __future__ import annotations

import re

from indexer.engines.base import Fragment

FRAGMENT = 240  # characters of a fragment, about two sentences

_SPACE = re.compile(r"\s")


def marks_in(marked: str, opening: str, closing: str) -> list[tuple[int, int]]:
    """Ranges of what stands between two markers, in the text without them."""
    marks, length = [], 0
    for number, piece in enumerate(re.split(f"{re.escape(opening)}|{re.escape(closing)}", marked)):
        if number % 2:  # pieces alternate: outside, inside, outside
            marks.append((length, length + len(piece)))
        length += len(piece)
    return marks


def pieces(field: str, text: str, marks: list[tuple[int, int]]) -> list[Fragment]:
    """Cut around marks that stand close together, ends moved inwards to a space."""
    groups: list[list[tuple[int, int]]] = []
    for mark in marks:
        if groups and mark[1] - groups[-1][0][0] <= FRAGMENT:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    found, left = [], 0  # a piece does not reach back into the one before
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
    """Move both ends inwards so that no word is cut, but never into a mark."""
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


def worth(piece: Fragment) -> tuple[int, int, bool]:
    """Sorting key: more different words first, then more marks, then the title."""
    words = {piece.text[a:b].casefold() for a, b in piece.marks}
    return -len(words), -len(piece.marks), piece.field != "title"
