"""What a check of `indexer doctor` is: a function that yields what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

State = Literal["OK", "WARN", "FAIL"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    hint: str = ""


Found = Iterator[Check]


def guarded(name: str, hint: str = "") -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Turn our errors inside a check into FAIL: the other checks still run."""

    def wrap(check: Callable[..., Found]) -> Callable[..., Found]:
        def guarded(*args: object, **options: object) -> Found:
            from indexer.errors import IndexerError

            try:
                yield from check(*args, **options)
            except IndexerError as error:
                yield Check(name, "FAIL", str(error), error.hint or hint)

        return guarded

    return wrap
