"""The indices of a collection: names, generations behind aliases, and whether they fit this program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from elasticsearch import BadRequestError

from indexer.engines.elastic.cluster import Cluster, translated
from indexer.errors import MappingMismatch, NotFound, SearchError, Superseded
from indexer.log import get_logger
from mappings import KINDS, PLAIN, SCHEMA, VectorIndex, load_mapping

FIRST = 1
MISSING = (
    "failed to find filter",
    "Unknown analyzer type",
    "Unknown char_filter type",
)  # what the server says
NEXT = ".next"  # in the aliases of a generation that is being made; no name of a collection has a dot


@dataclass(frozen=True)
class Names:
    """Aliases of one collection. The indices behind them carry the number of their generation: ``…-000001``.

    Attributes:
        slot: `NEXT` for the aliases of a generation that is being made, ``.NUMBER`` for one that is kept and written to.
        number: Of a generation that is kept. It has no aliases: its indices are named as they are, so it can be read,
            and no write reaches it.
    """

    stem: str
    slot: str = ""
    number: int = 0

    @classmethod
    def of(cls, prefix: str, collection: str) -> Names:
        """Index names are lower case: another spelling gets a hash, so that `Main` and `main` stay apart."""
        lower = collection.lower()
        if lower != collection:
            lower += f"-{sha256(collection.encode()).hexdigest()[:8]}"
        return cls(f"{prefix}-{lower}")

    def next(self) -> Names:
        """Of the generation that is being made."""
        return replace(self, slot=NEXT)

    def amended(self, number: int) -> Names:
        """Of a generation that is kept, and brought up to date before it takes over again."""
        return replace(self, slot=f".{number}")

    def at(self, number: int) -> Names:
        """Of a generation that is kept."""
        return replace(self, number=number)

    def alias(self, kind: str) -> str:
        return self.generation(kind, self.number) if self.number else f"{self.stem}{self.slot}-{kind}"

    def generation(self, kind: str, number: int) -> str:
        return f"{self.stem}-{kind}-{number:06d}"

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


@dataclass(frozen=True)
class IndexState:
    """What stood behind the aliases when the collection was opened.

    Attributes:
        vector_index: How the vectors are searched.
        indices: Alias ► index.
    """

    vector_index: str
    indices: Mapping[str, str]

    def same(self, alias: str, hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Hits of a search by vector, if they are of the index whose encoder made that vector.

        Raises:
            Superseded: The alias has moved on. All hits of one search are of one index.
        """
        if hits and hits[0]["_index"] != self.indices[alias]:
            raise Superseded(f"'{alias}' leads to another generation now.", hint="Open the collection again.")
        return hits


def prepare(
    cluster: Cluster,
    names: Names,
    dims: int,
    *,
    create: bool,
    bundle: str,
    vector_index: VectorIndex,
    language: str,
) -> IndexState:
    """Make the indices that are missing, and check all of them.

    Each index is made together with its alias, so a process that is killed here leaves nothing half made; two that
    do this at once make each index once.

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
            body = load_mapping(kind, dims, bundle=bundle, vector_index=vector_index, language=language)
            create_index(cluster, names, kind, FIRST, body)
        there = _mappings(cluster, names)
    for kind in KINDS:
        alias = names.alias(kind)
        if alias not in there:
            raise MappingMismatch(
                f"The collection '{names.stem}' at {cluster.where} has no index '{alias}'.",
                hint="Index again: indexer index SOURCE makes what is missing.",
            )
        _check(names, kind, there[alias][1], dims, language)
    searched = str(there[names.documents][1]["_meta"]["vector_index"])
    return IndexState(searched, {alias: index for alias, (index, _) in there.items()})


def index_state(cluster: Cluster, alias: str) -> str:
    """The index that an alias, or its own name, leads to; empty when there is none."""
    lenient = cluster.client.options(ignore_status=404)
    found = cluster.ask(lenient.indices.get_alias, index=alias)
    return next(
        (index for index, entry in found.items() if isinstance(entry, dict) and "aliases" in entry), ""
    )


def _mappings(cluster: Cluster, names: Names) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Alias ► the index that it points at, and its mapping."""
    if names.number:
        found = cluster.ask(cluster.client.indices.get_mapping, index=names.all)
        return {index: (index, entry["mappings"]) for index, entry in found.items()}
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
        alias: (index, mappings[index]["mappings"])
        for index, held in aliases.items()
        for alias in held
        if alias in names.all
    }


def create_index(cluster: Cluster, names: Names, kind: str, number: int, body: dict[str, Any]) -> bool:
    """Make an index with its alias. Returns False when it was there already.

    A server that lacks the analyzer makes do with a plain one: `_meta` says so.
    """
    index = names.generation(kind, number)
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
            return False
        if not any(part in str(error) for part in MISSING) or "analysis" not in body["settings"]:
            raise
        get_logger(__name__).warning("analyzer_reduced", index=index, reason=str(error))
        body["settings"]["analysis"] = PLAIN
        body["mappings"]["_meta"]["analyzer"] = "plain"
        return create_index(cluster, names, kind, number, body)
    return True


def _check(names: Names, kind: str, mapping: Mapping[str, Any], dims: int, language: str) -> None:
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
    if kind == "documents" and meta.get("language", "english") != language:
        found = meta.get("language", "english")
        raise MappingMismatch(
            f"The collection '{names.stem}' was made for texts in {found}, the setting language is {language}.",
            hint=f"Set INDEXER_LANGUAGE={found}, or index into a new collection.",
        )
    if mapping.get("dynamic") != "strict":
        raise MappingMismatch(
            f"The mapping of '{alias}' is not the one it was made with: unknown fields would be let in.",
            hint="An index template of the cluster may match its name; exclude it, or choose another prefix.",
        )
