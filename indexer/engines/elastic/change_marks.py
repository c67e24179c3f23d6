"""Phrases whose row is out of date: a mark for each, taken away by who has read all that the mark was for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from indexer.engines.elastic.bulk import Action, Guard, guard_of, require
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.indices import Names
from indexer.engines.elastic.reading import Freshness, stream, versions_by_id
from indexer.records import MentionRow

REMEMBERED = 100_000  # phrases that were read and not written yet; who only reads writes none


class ChangeMarks:
    """The marks of one collection.

    A phrase may be marked again after its mentions were read and before its row is written. That mark must stay, so
    `settle` takes away only the one that stood when the mentions were read.
    """

    def __init__(self, cluster: Cluster, names: Names, fresh: Freshness) -> None:
        self._cluster = cluster
        self._names = names
        self._fresh = fresh
        self._noted: dict[str, Guard | None] = {}  # phrase ► its mark before its mentions were read

    def note(self, phrases: Iterable[str]) -> None:
        """Remember the marks of phrases whose mentions are about to be read."""
        wanted = list(phrases)
        found = versions_by_id(self._cluster, self._names.changes, wanted, ["phrase_id"])
        self._remember({phrase: found[phrase].guard if phrase in found else None for phrase in wanted})

    def noted_before(self, groups: Iterable[list[MentionRow]]) -> Iterator[list[MentionRow]]:
        """Groups of mentions in order of phrase, drawn after the marks of all phrases were looked at."""
        everything: dict[str, Any] = {"match_all": {}}
        hits = stream(
            self._cluster, self._names.changes, everything, sort=["phrase_id"], fields=[], guards=True
        )
        with closing(hits):
            mark = next(hits, None)
            for group in groups:
                phrase = group[0].phrase_id
                while mark is not None and mark["_id"] < phrase:
                    mark = next(hits, None)
                self._remember({phrase: guard_of(mark) if mark and mark["_id"] == phrase else None})
                yield group

    def settle(self, phrases: Iterable[str]) -> None:
        """Take away the marks of phrases whose rows were written or removed.

        Of a phrase whose mentions were not read, the mark goes whenever it came.
        """
        actions = []
        for phrase in phrases:
            guard = self._noted.get(phrase)
            if guard or phrase not in self._noted:
                actions.append(Action("delete", self._names.changes, phrase, guard=guard))
            self._noted.pop(phrase, None)
        failures = self._fresh.send(actions)
        require([failure for failure in failures if not failure.conflict], self._cluster.where)

    def _remember(self, marks: Mapping[str, Guard | None]) -> None:
        self._noted |= marks
        for phrase in list(self._noted)[: max(0, len(self._noted) - REMEMBERED)]:
            del self._noted[phrase]
