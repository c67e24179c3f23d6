"""Lists of a given size from any iterable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, in order; the last one may be shorter."""
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some
