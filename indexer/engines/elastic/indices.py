"""The indices of a collection: names, aliases of generations, and checks of their mappings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from elasticsearch import BadRequestError

from indexer.engines.elastic import opensearch
from indexer.engines.elastic.cluster import Cluster, translated
from indexer.engines.elastic.opensearch import PLAIN_NAMES, FieldNames
from indexer.engines.elastic.vectors import VectorField
from indexer.errors import UPGRADE, MappingMismatch, NotFound, SearchError, Superseded
from indexer.log import get_logger
from mappings import KINDS, PLAIN, SCHEMA, VectorIndex, load_mapping, vector_field

FIRST = 1
# Added to the indices of earlier versions: a server adds fields to an index at any time.
ADDED_FIELDS = ("topic_path", "topic_path_ids", "terms", "term", "parent", "duplicate_of")
GRAPH_FROM = 500_000  # rows; comparing a vector with so many takes 60 to 90 ms (9.2, two cores)
WITHOUT_NESTED = 3  # schema from which on documents have `main_topics`
# Reasons of the server when a plugin of an analyzer is missing.
MISSING = ("failed to find filter", "Unknown analyzer type", "Unknown char_filter type")
NEXT = ".next"  # in the aliases of a generation that is being built; names of collections have no dots


@dataclass(frozen=True)
class Names:
    """Aliases of one collection. Their indices are numbered by generation: ``…-000001``.

    Attributes:
        slot: `NEXT` for the aliases of a generation that is being built, ``.NUMBER`` for a kept one that is written to.
        number: Of a kept generation. It has no aliases: it is read by index name, and writes cannot reach it.
    """

    stem: str
    slot: str = ""
    number: int = 0

    @classmethod
    def of(cls, prefix: str, collection: str) -> Names:
        """Index names are lower case: upper case adds a hash, so that `Main` and `main` differ."""
        lower = collection.lower()
        if lower != collection:
            lower += f"-{sha256(collection.encode()).hexdigest()[:8]}"
        return cls(f"{prefix}-{lower}")

    def next(self) -> Names:
        """Return the names of the generation that is being built."""
        return replace(self, slot=NEXT)

    def amended(self, number: int) -> Names:
        """Return the names of a kept generation that is updated before it is activated again."""
        return replace(self, slot=f".{number}")

    def at(self, number: int) -> Names:
        """Return the names of a kept generation."""
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
    """State of the aliases when the collection was opened.

    Attributes:
        indices: Alias ► index.
        vectors: Alias ► its vector field.
        nested: Documents have their topic weights as nested rows, as version 0.1.0 made them.
        complete: The indices have all `ADDED_FIELDS`; see `add_fields`.
        fields: Names of the user's own fields.
    """

    indices: Mapping[str, str]
    vectors: Mapping[str, VectorField]
    nested: bool
    complete: bool = True
    fields: FieldNames = PLAIN_NAMES

    def same(self, alias: str, hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the hits of a vector search if they are of the index that was opened.

        Raises:
            Superseded: The alias points to another index now. All hits of one search are of one index.
        """
        if hits and hits[0]["_index"] != self.indices[alias]:
            raise Superseded(
                f"'{alias}' points to another generation now.", hint="Open the collection again."
            )
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
    """Create missing indices, and check all of them.

    Each index is created together with its alias, so that a killed process leaves no partial index; two concurrent
    processes create each index once.

    Raises:
        NotFound: The collection does not exist, and `create` is False.
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
                hint="Index again: indexer index SOURCE creates missing indices.",
            )
        _check(names, kind, there[alias][1], dims, language)
    return IndexState(
        {alias: index for alias, (index, _) in there.items()},
        {alias: opensearch.vector_field(mapping) for alias, (_, mapping) in there.items()},
        there[names.documents][1]["_meta"]["schema"] < WITHOUT_NESTED,
        "duplicate_of" in there[names.documents][1]["properties"]  # the last ones that `add_fields` adds
        and "parent" in there[names.topics][1]["properties"],
        FieldNames(opensearch.DOT) if cluster.opensearch else PLAIN_NAMES,
    )


def add_fields(cluster: Cluster, names: Names) -> None:
    """Add `ADDED_FIELDS` to indices of an earlier version, which refuse unknown fields."""
    for kind in ("documents", "topics"):
        properties = load_mapping(kind, 1)["mappings"]["properties"]
        added = {name: properties[name] for name in ADDED_FIELDS if name in properties}
        cluster.ask(cluster.client.indices.put_mapping, index=names.alias(kind), properties=added)


def crowded(cluster: Cluster, state: IndexState) -> list[str]:
    """Return the aliases of indices with so many rows that comparing a vector with each takes too long."""
    growing = [alias for alias, field in state.vectors.items() if field.grows]
    if not growing:
        return []
    counting = {"size": 0, "track_total_hits": GRAPH_FROM + 1}
    answers = cluster.search_many([(alias, counting) for alias in growing])
    return [
        alias
        for alias, answer in zip(growing, answers, strict=True)
        if answer["hits"]["total"]["value"] > GRAPH_FROM
    ]


def grow_graph(cluster: Cluster, alias: str, dims: int) -> None:
    """Have the server build a graph in the segments that it writes from now on, by merging the others too."""
    field = {"type": "dense_vector", **vector_field("int8_hnsw", dims)}
    cluster.ask(cluster.client.indices.put_mapping, index=alias, properties={"vector": field})
    get_logger(__name__).info("vector_index_grows", index=alias, rows_from=GRAPH_FROM)


def index_state(cluster: Cluster, alias: str) -> str:
    """Return the index of an alias or index name; empty when there is none."""
    lenient = cluster.client.options(ignore_status=404)
    found = cluster.ask(lenient.indices.get_alias, index=alias)
    return next(
        (index for index, entry in found.items() if isinstance(entry, dict) and "aliases" in entry), ""
    )


def _mappings(cluster: Cluster, names: Names) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Map aliases to their index and its mapping."""
    if names.number:
        found = cluster.ask(cluster.client.indices.get_mapping, index=names.all)
        return {index: (index, entry["mappings"]) for index, entry in found.items()}
    # A missing name makes the status 404; the body has the others all the same.
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
    """Create an index with its alias. Returns False when it exists already.

    On a server without the analyzer, the index gets a plain one, which `_meta` records.
    """
    index = names.generation(kind, number)
    sent = opensearch.index_body(body) if cluster.opensearch else body
    try:
        with translated(cluster.where):
            cluster.client.indices.create(
                index=index,
                settings=sent["settings"],
                mappings=sent["mappings"],
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
    """Refuse an index of another program, of a newer version, for other vectors, or changed by a template."""
    alias = names.alias(kind)
    meta = mapping.get("_meta") or {}
    if meta.get("kind") != kind or not isinstance(meta.get("schema"), int):
        raise MappingMismatch(
            f"The index of '{alias}' was not created by this program.",
            hint="Choose another prefix (INDEXER_INDEX_PREFIX) or another collection.",
        )
    if meta["schema"] > SCHEMA:
        raise MappingMismatch(
            f"The index of '{alias}' has schema {meta['schema']}; this version reads up to {SCHEMA}.",
            hint=UPGRADE,
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
            f"The mapping of '{alias}' was changed: unknown fields would be accepted.",
            hint="An index template of the cluster may match its name; exclude it, or choose another prefix.",
        )
