"""Generations: complete sets of rows of one collection, of which searches see one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from indexer.engines.base import Engine
from indexer.errors import NotFound, SearchError

State = Literal["live", "kept", "unfinished"]  # kept: it was live, and can be again


@dataclass(frozen=True)
class Generation:
    """One complete set of rows, made with one bundle. Searches see the live one."""

    number: int  # from 1; later ones have higher numbers
    state: State
    bundle: str  # empty when nobody wrote it down
    dims: int  # of the vectors
    documents: int
    bytes: int
    created: datetime


class Generations(Protocol):
    """The generations of one collection.

    A new one is made beside the live one, filled at leisure, and takes over in one step that every search sees as a
    whole or not at all. A process that dies before that step leaves an unfinished generation behind and the live one as
    it was. Who changes anything here holds the lock of the collection. Numbers that are not there are `NotFound`.
    """

    def all(self) -> list[Generation]:
        """By number."""
        ...

    def live(self) -> int:
        """The number of the live one; 0 when there is no collection."""
        ...

    def make(self, dims: int, *, bundle: str) -> Engine:
        """Begin the next generation; returns what writes to it, and to nothing else. Close it.

        Raises:
            SearchError: There is an unfinished one.
        """
        ...

    def open(self, number: int) -> Engine:
        """What reads a generation, and writes to it when it is live or unfinished. Close it."""
        ...

    def amend(self, number: int) -> Engine:
        """What writes to a generation that is kept, before it takes over again. It stays kept. Close it."""
        ...

    def switch(self, number: int) -> None:
        """Make a generation the live one; the one before is kept. The same again changes nothing.

        Engines that were open before learn it from `Engine.superseded`; `Collection` opens them again.

        Raises:
            MappingMismatch: The generation is not complete.
        """
        ...

    def remove(self, number: int) -> None:
        """Delete a generation with all its rows.

        Raises:
            SearchError: It is the live one.
        """
        ...

    def close(self) -> None: ...


def unfinished(name: str, number: int) -> SearchError:
    """The error when there is one already."""
    return SearchError(
        f"Generation {number} of '{name}' is unfinished: it is being made, or was left behind.",
        hint=f"When no run is under way, remove it: indexer generations remove {number}",
    )


def no_generation(name: str, number: int, known: list[int]) -> NotFound:
    """The error for a number that is not there."""
    there = ", ".join(map(str, known)) or "none"
    return NotFound(f"There is no generation {number} of '{name}'.", hint=f"There are: {there}.")


def is_live(name: str, number: int) -> SearchError:
    """The error when the live one is to be removed."""
    return SearchError(
        f"Generation {number} of '{name}' is the live one, and cannot be removed.",
        hint="Make another one live first: indexer rollback --to NUMBER",
    )
