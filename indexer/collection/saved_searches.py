"""Methods for saved searches: add, list, remove, and check what is new."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.catalog import SavedSearch
from indexer.collection.queries import QueryMethods
from indexer.export import saved_searches
from indexer.export.saved_searches import Checked, Wanted
from indexer.search.results import SearchResults


class SavedSearchMethods(QueryMethods):
    """A collection with searches that are repeated after each run."""

    def add_saved_search(self, name: str, wanted: Wanted) -> SearchResults:
        """Save a search, and return what it finds now, which is not new to it: the first hit, and how many there are.

        Raises:
            QueryError: The name is taken or no name, or the search cannot be read.
        """
        return saved_searches.add(self, name, wanted)

    def saved_searches(self) -> list[SavedSearch]:
        """All saved searches, by name."""
        return self.catalog.saved_searches(self.name)

    def remove_saved_search(self, name: str) -> None:
        """Remove one.

        Raises:
            NotFound: There is none of that name.
        """
        self.catalog.remove_saved_search(self.name, name)

    def check_saved_searches(self, names: Sequence[str] | None = None) -> Checked:
        """Search for what was read since the last check, and deliver new hits; see `indexer.export.saved_searches`."""
        return saved_searches.check(self, names)
