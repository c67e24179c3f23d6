"""Documents that a run has replaced though they came from another file: ids are the collection's, not the file's."""

from __future__ import annotations

from indexer.catalog.entries import LedgerEntry
from indexer.posted import Posted
from indexer.readers.source import place_of, plural
from indexer.records import Document

NAMED = 5  # ids in the note


class Replaced:
    """Collects them, to be told: a record may move on purpose, or two files may be numbered alike."""

    def __init__(self, posted: Posted) -> None:
        self._posted = posted
        self._first: dict[str, list[str]] = {}  # file as people call it ► ids
        self._number = 0

    def add(self, document: Document, known: LedgerEntry) -> None:
        """A document whose content changed, and what the ledger had under its id."""
        if self._posted.are_one_file(document.source, known.source):
            return
        self._number += 1
        if self._number <= NAMED:
            file = self._posted.called(place_of(known.source)[0])
            self._first.setdefault(file, []).append(document.id)

    def notes(self) -> list[str]:
        """One sentence where there were any."""
        if not self._number:
            return []
        named = ", ".join(f"{', '.join(ids)} ({file})" for file, ids in self._first.items())
        more = f" and {self._number - NAMED:,} more" if self._number > NAMED else ""
        return [f"{plural(self._number, 'document')} came from another file before: {named}{more}."]
