"""Generations: five indices each, and aliases that move from one to the next in a single request.

    indexer-main-documents-000001     alias indexer-main-documents: live
    indexer-main-documents-000002     alias indexer-main.next-documents: being built
                                      no alias: kept
                                      alias indexer-main.1-documents: kept, and brought up to date

An index is created together with its alias: a process that dies at any moment leaves an unfinished generation and
unchanged live aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from elasticsearch import NotFoundError

from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.engine import ElasticEngine
from indexer.engines.elastic.indices import Names, create_index
from indexer.engines.generations import Generation, State, is_live, no_generation, unfinished
from indexer.errors import MappingMismatch, SearchError
from mappings import KINDS, VectorIndex, load_mapping

Kinds = dict[str, dict[str, Any]]  # kind ► aliases, mappings and settings of the index
Found = dict[int, Kinds]  # by number


@dataclass(frozen=True)
class ElasticGenerations:
    """The generations of one collection in one cluster.

    Args:
        connect: Creates a connection: one for this object, one for each engine that it opens.
        vector_index, language: Of generations that are made.
        cache: See `ElasticEngine`.
    """

    connect: Callable[[], Cluster]
    prefix: str
    collection: str
    vector_index: VectorIndex = "auto"
    language: str = "english"
    cache: Path | None = None

    @cached_property
    def cluster(self) -> Cluster:
        return self.connect()

    @property
    def names(self) -> Names:
        return Names.of(self.prefix, self.collection)

    def all(self) -> list[Generation]:
        return [self._described(number, kinds) for number, kinds in sorted(self._found().items())]

    def live(self) -> int:
        return next((n for n, kinds in self._found().items() if self._state(kinds) == "live"), 0)

    def make(self, dims: int, *, bundle: str) -> ElasticEngine:
        found = self._found()
        for number, kinds in found.items():
            if self._state(kinds) == "unfinished":
                raise unfinished(self.names.stem, number)
        number = max(found, default=0) + 1
        for kind in KINDS:
            body = load_mapping(
                kind, dims, bundle=bundle, vector_index=self.vector_index, language=self.language
            )
            if not create_index(self.cluster, self.names.next(), kind, number, body):
                raise unfinished(self.names.stem, number)  # another process created it
        return self._engine(self.names.next(), dims, self.language)

    def open(self, number: int) -> ElasticEngine:
        kinds = self._of(number)
        state = self._state(kinds)
        names = {"live": self.names, "unfinished": self.names.next(), "kept": self.names.at(number)}[state]
        meta = _meta(kinds)
        return self._engine(names, int(meta.get("dims", 0)), str(meta.get("language", "english")))

    def amend(self, number: int) -> ElasticEngine:
        meta = _meta(self._of(number))
        names = self.names.amended(number)
        actions = [
            {"add": {"index": names.generation(kind, number), "alias": names.alias(kind)}} for kind in KINDS
        ]
        self.cluster.ask(self.cluster.client.indices.update_aliases, actions=actions)
        return self._engine(names, int(meta.get("dims", 0)), str(meta.get("language", "english")))

    def switch(self, number: int) -> None:
        found = self._found()
        kinds = self._of(number, found)
        if self._state(kinds) == "live":
            return
        missing = [kind for kind in KINDS if kind not in kinds]
        if missing:
            raise MappingMismatch(
                f"Generation {number} of '{self.names.stem}' has no index for {', '.join(missing)}.",
                hint=f"It is unfinished. Remove it: indexer generations remove {number}",
            )
        client = self.cluster.client.indices
        self.cluster.ask(client.refresh, index=[self.names.generation(kind, number) for kind in KINDS])
        try:
            self.cluster.ask(client.update_aliases, actions=self._swap(number, found))
        except SearchError as error:
            if isinstance(error.__cause__, NotFoundError):
                raise SearchError(
                    f"Another process has changed the generations of '{self.names.stem}' at this moment.",
                    hint="List them again: indexer generations",
                ) from error
            raise

    def _swap(self, number: int, found: Found) -> list[dict[str, Any]]:
        """Return actions that move all aliases in one request, which fails as a whole if another process moved one."""
        actions: list[dict[str, Any]] = []
        for kind in KINDS:
            live = self.names.alias(kind)
            coming = {self.names.next().alias(kind), self.names.amended(number).alias(kind)}
            for other, kinds in found.items():
                index = self.names.generation(kind, other)
                held = kinds.get(kind, {}).get("aliases", {})
                leaving = {live, *coming} if other == number else {live}
                actions += [
                    {"remove": {"index": index, "alias": alias, "must_exist": True}}
                    for alias in sorted(leaving & held.keys())
                ]
            actions.append({"add": {"index": self.names.generation(kind, number), "alias": live}})
        return actions

    def remove(self, number: int) -> None:
        kinds = self._of(number)
        if any(self.names.alias(kind) in kinds[kind]["aliases"] for kind in kinds):
            raise is_live(self.names.stem, number)
        indices = [self.names.generation(kind, number) for kind in kinds]
        self.cluster.ask(self.cluster.client.indices.delete, index=indices)

    def close(self) -> None:
        self.cluster.close()

    # -- state ---------------------------------------------------------------------------------------

    def _found(self) -> Found:
        pattern = re.compile(rf"{re.escape(self.names.stem)}-({'|'.join(KINDS)})-(\d{{6,}})")
        answer = self.cluster.ask(self.cluster.client.indices.get, index=f"{self.names.stem}-*")
        found: Found = {}
        for index, entry in answer.items():
            if match := pattern.fullmatch(index):
                found.setdefault(int(match[2]), {})[match[1]] = entry
        return found

    def _of(self, number: int, found: Found | None = None) -> Kinds:
        found = self._found() if found is None else found
        if number not in found:
            raise no_generation(self.names.stem, number, sorted(found))
        return found[number]

    def _state(self, kinds: Kinds) -> State:
        if all(self.names.alias(kind) in kinds.get(kind, {}).get("aliases", {}) for kind in KINDS):
            return "live"
        making = any(self.names.next().alias(kind) in kinds[kind]["aliases"] for kind in kinds)
        return "unfinished" if making or len(kinds) < len(KINDS) else "kept"

    def _described(self, number: int, kinds: Kinds) -> Generation:
        indices = [self.names.generation(kind, number) for kind in kinds]
        stats = self.cluster.ask(self.cluster.client.indices.stats, index=indices, metric="store")
        documents = 0
        if "documents" in kinds:
            index = self.names.generation("documents", number)
            documents = int(self.cluster.ask(self.cluster.client.count, index=index)["count"])
        first = kinds.get("documents") or next(iter(kinds.values()))
        meta = _meta(kinds)
        return Generation(
            number=number,
            state=self._state(kinds),
            bundle=str(meta.get("bundle", "")),
            dims=int(meta.get("dims", 0)),
            documents=documents,
            bytes=int(stats["_all"]["total"]["store"]["size_in_bytes"]),
            created=datetime.fromtimestamp(int(first["settings"]["index"]["creation_date"]) / 1000, UTC),
        )

    def _engine(self, names: Names, dims: int, language: str) -> ElasticEngine:
        cluster = self.connect()
        try:
            return ElasticEngine(
                cluster, self.prefix, self.collection, dims,
                language=language, create=False, names=names, cache=self.cache,
            )  # fmt: skip
        except BaseException:
            cluster.close()
            raise


def _meta(kinds: Kinds) -> dict[str, Any]:
    first = kinds.get("documents") or next(iter(kinds.values()))
    found: dict[str, Any] = first["mappings"].get("_meta", {})
    return found
