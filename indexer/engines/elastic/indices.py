"""The indices of a collection: names, generations behind aliases, and whether they fit this program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from elasticsearch import BadRequestError

from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.problems import translated
from indexer.errors import MappingMismatch, NotFound, SearchError
from indexer.log import get_logger
from mappings import KINDS, SCHEMA, VectorIndex, load_mapping

FIRST = 1
PLAIN_FILTERS = ["lowercase"]  # of the analyzer, where a server lacks the others


@dataclass(frozen=True)
class Names:
    """Aliases of one collection. The indices behind them carry the number of their generation: ``…-000001``."""

    stem: str

    @classmethod
    def of(cls, prefix: str, collection: str) -> Names:
        """Index names are lower case: another spelling gets a hash, so that `Main` and `main` stay apart."""
        lower = collection.lower()
        if lower != collection:
            lower += f"-{sha256(collection.encode()).hexdigest()[:8]}"
        return cls(f"{prefix}-{lower}")

    def alias(self, kind: str) -> str:
        return f"{self.stem}-{kind}"

    def generation(self, kind: str, number: int) -> str:
        return f"{self.alias(kind)}-{number:06d}"

    @property
    def documents(self) -> str:
        return self.alias("documents")

    @property
    def mentions(self) -> str:
        return self.alias("mentions")

    @property
    def phrases(self) -> str:
        return self.alias("phrases")

    @property
    def topics(self) -> str:
        return self.alias("topics")

    @property
    def changes(self) -> str:
        return self.alias("changes")

    @property
    def all(self) -> list[str]:
        return [self.alias(kind) for kind in KINDS]


def prepare(
    cluster: Cluster, names: Names, dims: int, *, create: bool, bundle: str, vector_index: VectorIndex
) -> str:
    """Make the indices that are missing, and check all of them.

    Each index is made together with its alias, so a process that is killed here leaves nothing half made; two that
    do this at once make each index once.

    Returns:
        How the vectors of the collection are searched.

    Raises:
        NotFound: There is no collection, and none is to be made.
        MappingMismatch: The indices are of another program, of a newer version, or for other vectors.
    """
    there = _mappings(cluster, names)
    if not there and not create:
        raise NotFound(
            f"There is no collection '{names.stem}' at {cluster.where}.",
            hint="Make one: indexer index SOURCE",
        )
    missing = [kind for kind in KINDS if names.alias(kind) not in there]
    if missing and create:
        for kind in missing:
            body = load_mapping(kind, dims, bundle=bundle, vector_index=vector_index)
            _create(cluster, names, kind, body)
        there = _mappings(cluster, names)
    for kind in KINDS:
        alias = names.alias(kind)
        if alias not in there:
            raise MappingMismatch(
                f"The collection '{names.stem}' at {cluster.where} has no index '{alias}'.",
                hint="Index again: indexer index SOURCE makes what is missing.",
            )
        _check(names, kind, there[alias], dims)
    return str(there[names.documents]["_meta"]["vector_index"])


def _mappings(cluster: Cluster, names: Names) -> dict[str, Mapping[str, Any]]:
    """Alias ► mapping of the index that it points at."""
    # Of several names, those that are missing make it a 404, with the others in the body all the same.
    lenient = cluster.client.options(ignore_status=404)
    answer = cluster.ask(lenient.indices.get_alias, name=names.all)
    aliases = {
        index: entry["aliases"]
        for index, entry in answer.items()
        if isinstance(entry, dict) and "aliases" in entry
    }
    if not aliases:
        return {}
    mappings = cluster.ask(cluster.client.indices.get_mapping, index=list(aliases))
    return {
        alias: mappings[index]["mappings"]
        for index, held in aliases.items()
        for alias in held
        if alias in names.all
    }


def _create(cluster: Cluster, names: Names, kind: str, body: dict[str, Any]) -> None:
    index = names.generation(kind, FIRST)
    try:
        with translated(cluster.where):
            cluster.client.indices.create(
                index=index,
                settings=body["settings"],
                mappings=body["mappings"],
                aliases={names.alias(kind): {}},
            )
    except SearchError as error:
        cause = error.__cause__
        if not isinstance(cause, BadRequestError):
            raise
        if cause.error == "resource_already_exists_exception":
            return  # another process was faster
        if "failed to find filter" not in str(error) or "analysis" not in body["settings"]:
            raise
        get_logger(__name__).warning("analyzer_reduced", index=index, reason=str(error))
        body["settings"]["analysis"]["analyzer"]["words"]["filter"] = PLAIN_FILTERS
        _create(cluster, names, kind, {**body, "settings": {**body["settings"]}})


def _check(names: Names, kind: str, mapping: Mapping[str, Any], dims: int) -> None:
    """Refuse an index that is not ours, newer than us, for other vectors, or changed by a template."""
    alias = names.alias(kind)
    meta = mapping.get("_meta") or {}
    if meta.get("kind") != kind or not isinstance(meta.get("schema"), int):
        raise MappingMismatch(
            f"The index behind '{alias}' was not made by this program.",
            hint="Choose another prefix (INDEXER_INDEX_PREFIX) or another collection.",
        )
    if meta["schema"] > SCHEMA:
        raise MappingMismatch(
            f"The index behind '{alias}' has schema {meta['schema']}; this version reads up to {SCHEMA}.",
            hint="Upgrade: pip install --upgrade indexer",
        )
    if meta.get("dims") != dims:
        raise MappingMismatch(
            f"The collection '{names.stem}' has vectors of {meta.get('dims')} numbers, the encoder makes {dims}.",
            hint="Use the bundle that it was indexed with, or index into a new collection.",
            stored=meta.get("dims"),
            expected=dims,
        )
    if mapping.get("dynamic") != "strict":
        raise MappingMismatch(
            f"The mapping of '{alias}' is not the one it was made with: unknown fields would be let in.",
            hint="An index template of the cluster may match its name; exclude it, or choose another prefix.",
        )
