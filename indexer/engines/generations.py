"""Generations: complete sets of rows of one collection, of which searches see one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from indexer.engines.base import Engine
from indexer.errors import NotFound, SearchError

State = Literal["live", "kept", "unfinished"]  # kept: it was live before, and can be live again


@dataclass(frozen=True)
class Generation:
    """One complete set of rows, made with one bundle. Searches see the live one."""

    number: int  # from 1; later ones have higher numbers
    state: State
    bundle: str  # empty when it was not recorded
    dims: int  # of the vectors
    documents: int
    bytes: int
    created: datetime


class Generations(Protocol):
    """The generations of one collection.

    A new generation is built while the live one serves searches, and is activated in one atomic step. A process that
    dies before that step leaves an unfinished generation, and the live one unchanged. Callers that change them hold
    the lock of the collection. Unknown numbers raise `NotFound`.
    """

    def all(self) -> list[Generation]:
        """Return all generations, by number."""
        ...

    def live(self) -> int:
        """Return the number of the live generation; 0 when there is no collection."""
        ...

    def make(self, dims: int, *, bundle: str) -> Engine:
        """Create the next generation and return an engine that writes to it; the caller closes it.

        Raises:
            SearchError: There is an unfinished generation.
        """
        ...

    def open(self, number: int) -> Engine:
        """Return an engine for a generation, read-only unless it is live or unfinished; the caller closes it."""
        ...

    def amend(self, number: int) -> Engine:
        """Return an engine that writes to a kept generation before it is activated again; the caller closes it."""
        ...

    def switch(self, number: int) -> None:
        """Activate a generation; the previous one is kept. Idempotent.

        Engines that were opened before report it by `Engine.superseded`; `Collection` reopens them.

        Raises:
            MappingMismatch: The generation is not complete.
        """
        ...

    def remove(self, number: int) -> None:
        """Delete a generation with all its rows.

        Raises:
            SearchError: It is the live generation.
        """
        ...

    def close(self) -> None: ...


def unfinished(name: str, number: int) -> SearchError:
    """Return the error for a second unfinished generation."""
    return SearchError(
        f"Generation {number} of '{name}' is unfinished: it is being built, or its run was interrupted.",
        hint=f"When no run is under way, remove it: indexer generations remove {number}",
    )


def no_generation(name: str, number: int, known: list[int]) -> NotFound:
    """Return the error for an unknown number."""
    existing = ", ".join(map(str, known)) or "none"
    return NotFound(
        f"There is no generation {number} of '{name}'.", hint=f"Existing generations: {existing}."
    )


def is_live(name: str, number: int) -> SearchError:
    """Return the error for removing the live generation."""
    return SearchError(
        f"Generation {number} of '{name}' is live, and cannot be removed.",
        hint="Activate another one first: indexer rollback --to NUMBER",
    )
