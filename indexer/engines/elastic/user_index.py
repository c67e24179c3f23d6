"""A user's index: checks whether it can be enriched, and the object field that is added to it.

All checks run before the first document is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elasticsearch import NotFoundError

from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.health import FOUND, UNBLOCK, WRITE, blocks, lacking
from indexer.errors import (
    EngineForbidden,
    EngineIncompatible,
    EngineUnavailable,
    MappingMismatch,
    NotFound,
    QueryError,
    SearchError,
)
from indexer.readers.source import SCHEME
from mappings import KINDS, VectorIndex, enrichment

TEXT_TYPES = ("text", "match_only_text", "keyword", "wildcard")
NOT_IN_0_1_0 = ("topic_path", "topic_path_ids", "terms", "duplicate_of")  # of our object; they are added
MIN_DIMS = 64  # any: only the names and types of fields are compared
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

Json = Mapping[str, Any]


@dataclass(frozen=True)
class EnrichOptions:
    """The fields of a user's index that are read, and the object that is written."""

    text_field: str = ""  # several as "a,b"; not needed to undo
    title_field: str = ""
    fields: tuple[str, ...] = ()  # that searches of the collection may filter by
    into: str = "indexer"  # name of the object that is added
    vector: bool = True  # with the document's vector
    throttle: float | None = None  # documents written a second, at most

    @property
    def text_fields(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.text_field.split(",") if name.strip())

    @property
    def read(self) -> tuple[str, ...]:
        """All fields that are read."""
        return (*self.text_fields, *filter(None, [self.title_field]), *self.fields)


@dataclass(frozen=True)
class UserIndex:
    """A user's index that can be enriched."""

    cluster: Cluster
    name: str  # of the index itself, not of an alias
    shards: int
    field: str  # our object

    @classmethod
    def open(cls, cluster: Cluster, name: str, options: EnrichOptions) -> UserIndex:
        """Check whether an index can be enriched; writes nothing.

        Raises:
            NotFound: There is no such index, or no such field in it.
            MappingMismatch: It is not one index, lacks the whole `_source`, or has another field of that name.
            EngineUnavailable: It is closed or blocked.
            EngineForbidden: A privilege is missing.
            EngineIncompatible: The server is OpenSearch.
            QueryError: The name of the object is unusable.
        """
        if not NAME.fullmatch(options.into):
            raise QueryError(f"The object cannot be called '{options.into}'; use letters, digits, - and _.")
        index, about = _one_index(cluster, name)
        if cluster.opensearch:
            raise EngineIncompatible(
                f"'{name}' is an index of OpenSearch, which cannot be enriched.",
                hint="Export its documents, and index them: indexer index FILE",
            )
        settings = about["settings"]["index"]
        _check_open(name, settings)
        _check_source(name, about["mappings"], settings)
        added = about["mappings"].get("properties", {}).get(options.into)
        complete = added and added.get("properties", {}).keys() >= enrichment(MIN_DIMS)["properties"].keys()
        _check_privileges(cluster, index, WRITE if complete else FOUND)
        for field in options.read:
            _check_field(cluster, index, field, text=field not in options.fields)
        if added:
            _check_ours(name, options.into, added)
        return cls(cluster, index, int(settings.get("number_of_shards", 1)), options.into)

    def add_field(self, dims: int, vector_index: VectorIndex) -> None:
        """Add our object to the mapping, or to one of an earlier version what it lacks; an existing one must fit.

        Raises:
            MappingMismatch: It has vectors of another length.
        """
        found = self.cluster.ask(self.cluster.client.indices.get_mapping, index=self.name)
        ours = found[self.name]["mappings"].get("properties", {}).get(self.field)
        wanted = enrichment(dims, vector_index)
        if ours is None:
            self._put_mapping(wanted)
            return
        if (there := ours["properties"]["vector"]["dims"]) != dims:
            raise MappingMismatch(
                f"'{self.field}' of '{self.name}' has vectors of {there} numbers, the encoder makes {dims}.",
                hint="A mapping cannot be changed back. Use the bundle from before, or another name: --into NAME",
            )
        if lacks := {k: v for k, v in wanted["properties"].items() if k not in ours["properties"]}:
            self._put_mapping({"properties": lacks})

    def _put_mapping(self, of_field: Json) -> None:
        properties = {self.field: of_field}
        self.cluster.ask(self.cluster.client.indices.put_mapping, index=self.name, properties=properties)

    @property
    def source(self) -> str:
        """Return the prefix of the sources of its documents."""
        return f"{SCHEME}{self.name}"


def _one_index(cluster: Cluster, name: str) -> tuple[str, Json]:
    try:
        found = cluster.ask(cluster.client.indices.get, index=name, expand_wildcards="all")
    except SearchError as error:
        if isinstance(error.__cause__, NotFoundError):
            raise NotFound(
                f"There is no index '{name}' at {cluster.where}.",
                hint="Check the spelling; GET _cat/indices lists them.",
            ) from error
        raise
    if not found:
        raise NotFound(f"No index matches '{name}' at {cluster.where}.")
    if len(found) > 1:
        raise MappingMismatch(
            f"'{name}' means {len(found)} indices; one at a time can be enriched.",
            hint=f"Name one of them: {', '.join(sorted(found)[:10])}",
        )
    ((index, about),) = found.items()
    if "data_stream" in about:
        raise MappingMismatch(
            f"'{name}' is a part of the data stream '{about['data_stream']}', whose documents are not to be changed.",
            hint="Export its documents, and index them: indexer index FILE",
        )
    if about["mappings"].get("_meta", {}).get("kind") in KINDS:
        raise MappingMismatch(
            f"'{name}' is an index of this program.", hint="Its documents are enriched already."
        )
    return index, about


def _check_open(name: str, settings: dict[str, Any]) -> None:
    if settings.get("verified_before_close") in ("true", True):
        raise EngineUnavailable(
            f"The index '{name}' is closed.", hint=f"Open it: POST /{name}/_open", blocked=True
        )
    for block in blocks(settings):
        raise EngineUnavailable(
            f"The index '{name}' takes no writes: index.blocks.{block} is set.", hint=UNBLOCK, blocked=True
        )


def _check_source(name: str, mappings: Json, settings: Json) -> None:
    """A partial update rewrites the whole document from its `_source`: fields outside of it would be lost."""
    source = mappings.get("_source", {})
    synthetic = "synthetic" in (source.get("mode"), settings.get("mapping", {}).get("source", {}).get("mode"))
    whole = source.get("enabled") not in (False, "false") and not (
        source.get("includes") or source.get("excludes")
    )
    if not whole or synthetic:
        raise MappingMismatch(
            f"The index '{name}' does not keep the whole _source of its documents: an update would lose the rest.",
            hint="Copy it into an index that does, or export its documents and index them: indexer index FILE",
        )
    if mappings.get("subobjects") in (False, "false"):
        raise MappingMismatch(f"The index '{name}' has subobjects: false, so no object can be added.")


def _check_field(cluster: Cluster, index: str, field: str, *, text: bool) -> None:
    known = cluster.ask(cluster.client.field_caps, index=index, fields="*")["fields"]
    types = set(known.get(field, {}))
    if not types:
        texts = sorted(name for name, kinds in known.items() if "text" in kinds and not name.startswith("_"))
        raise NotFound(
            f"The index '{index}' has no field '{field}'.",
            hint=f"Its text fields: {', '.join(texts[:20]) or 'none'}.",
        )
    if text and not types & set(TEXT_TYPES):
        raise MappingMismatch(
            f"The field '{field}' of '{index}' is of type {', '.join(sorted(types))}, not text.",
            hint=f"It must be one of {', '.join(TEXT_TYPES)}.",
        )


def _check_ours(name: str, field: str, found: Json) -> None:
    requested = {key: value["type"] for key, value in enrichment(MIN_DIMS)["properties"].items()}
    types = {key: value.get("type") for key, value in found.get("properties", {}).items()}
    if types != requested and types != {k: v for k, v in requested.items() if k not in NOT_IN_0_1_0}:
        raise MappingMismatch(
            f"The index '{name}' has a field '{field}' that is not of this program.",
            hint="Choose another name for the object that is added: --into NAME",
        )


def _check_privileges(cluster: Cluster, index: str, privileges: Sequence[str]) -> None:
    missing = lacking(cluster, index, privileges)
    if missing:
        raise EngineForbidden(
            f"This user lacks privileges on the index '{index}': {', '.join(missing)}.",
            hint="docs/elasticsearch.md has the role for enriching.",
        )
