"""All that OpenSearch needs different from Elasticsearch: requests, index bodies, vector fields.

The client is that of Elasticsearch. `ServerTransport` notices OpenSearch by its answers, and from then on translates the
requests whose form differs; no request is added for a user of Elasticsearch. Vectors need the k-NN plugin, which every
full distribution of OpenSearch has.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from elastic_transport import HttpHeaders, TransportApiResponse

from indexer.engines.elastic.credentials import RereadingTransport
from indexer.engines.elastic.vectors import CANDIDATES, VectorField, quantized
from indexer.errors import SettingsError
from indexer.records import Vector
from mappings import GRAPH

PRODUCT = "x-elastic-product"  # the header by which Elasticsearch, and nothing else, is known to its client
POINT_IN_TIME = "/_search/point_in_time"
# `disable_objects`, which keeps dots in names of fields, is only in the newest versions; this is no dot of theirs.
DOT = "․"
MAX_FIELDS = (
    10_000  # of a collection; the server cannot leave out those beyond a limit, as Elasticsearch does
)


# -- requests ------------------------------------------------------------------------------------------------


class ServerTransport(RereadingTransport):
    """The client's transport to a server of either product.

    Attributes:
        opensearch: The server has answered, and it is OpenSearch.
    """

    opensearch = False

    def perform_request(
        self, method: str, target: str, *, body: Any = None, headers: Any = None, **options: Any
    ) -> TransportApiResponse:
        if not self.opensearch:
            answer = super().perform_request(method, target, body=body, headers=headers, **options)
            if PRODUCT in answer.meta.headers or not self._is_opensearch(headers, options):
                return answer
            self.opensearch = True
        return self._perform_translated(method, target, body, headers, options)

    def _is_opensearch(self, headers: Any, options: Mapping[str, Any]) -> bool:
        meta, body = super().perform_request("GET", "/", headers=_plain(headers), **options)
        version = body.get("version") if meta.status == 200 and isinstance(body, Mapping) else None
        return isinstance(version, Mapping) and version.get("distribution") == "opensearch"

    def _perform_translated(
        self, method: str, target: str, body: Any, headers: Any, options: Mapping[str, Any]
    ) -> TransportApiResponse:
        path, _, query = target.partition("?")
        opening = path.endswith("/_pit") and method == "POST"
        if path.endswith("/_pit"):
            target = path.removesuffix("/_pit") + POINT_IN_TIME + (f"?{query}" if query else "")
            body = body if opening else {"pit_id": [body["id"]]}
        elif path.endswith("/_search"):
            body = _search_body(body)
        elif path.endswith("/_msearch"):
            body = [_search_body(part) for part in body]
        answer = super().perform_request(method, target, body=body, headers=_plain(headers), **options)
        found = answer.body
        if opening and answer.meta.status == 200:
            found = {**found, "id": found["pit_id"]}
        # The client refuses an answer without this header: it cannot know that this program knows the server.
        answer.meta.headers = HttpHeaders({**answer.meta.headers, PRODUCT: "Elasticsearch"})
        return TransportApiResponse(answer.meta, found)


def _plain(headers: Any) -> HttpHeaders:
    """Return headers whose media types every server knows."""
    plain = HttpHeaders(headers or {})
    for name in ("accept", "content-type"):
        if name in plain:
            subtype = "x-ndjson" if "ndjson" in plain[name] else "json"
            plain[name] = f"application/{subtype}"
    return plain


def _search_body(body: Any) -> Any:
    """Translate the body of a search, or the line before it in a request of several."""
    if not isinstance(body, Mapping):
        return body
    translated = dict(body)
    if "fields" in body:
        # The server refuses to return vectors by field name, and has them in ``_source`` anyway.
        translated["fields"] = [f for f in body["fields"] if f not in ("vector", {"field": "vector"})]
    if "highlight" in body:
        highlight = dict(body["highlight"])
        highlight["max_analyzer_offset"] = highlight.pop("max_analyzed_offset")
        translated["highlight"] = highlight
    return translated


# -- indices -------------------------------------------------------------------------------------------------


def index_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the body that creates an index; see `mappings.load_mapping`.

    Raises:
        SettingsError: The server has no vector index of this type.
    """
    translated = copy.deepcopy(dict(body))
    settings, mappings = translated["settings"], translated["mappings"]
    if settings.pop("index.mapping.total_fields.ignore_dynamic_beyond_limit", False):
        settings["index.mapping.total_fields.limit"] = MAX_FIELDS
    mappings["date_detection"] = (
        False  # otherwise templates of keywords do not see texts that look like dates
    )
    for field in mappings["properties"].values():
        field.pop("subobjects", None)
    if "vector" in mappings["properties"]:
        settings["index.knn"] = True
        mappings["properties"]["vector"] = _knn_vector(mappings["properties"]["vector"])
    if "centroid" in mappings["properties"]:
        mappings["properties"]["centroid"] = {"type": "float", "index": False, "doc_values": False}
    return translated


def _knn_vector(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field of bytes in a graph: `lucene` is the only engine of all versions that has them."""
    if field["element_type"] != "byte":
        raise SettingsError(
            f"OpenSearch has no vector index like {field['index_options']['type']}.",
            hint="Set INDEXER_VECTOR_INDEX=int8_hnsw.",
        )
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil", "parameters": GRAPH}
    return {"type": "knn_vector", "dimension": field["dims"], "data_type": "byte", "method": method}


# -- vectors -------------------------------------------------------------------------------------------------


class KnnVectorField(VectorField):
    """The vector field of an index in OpenSearch: bytes that are sent as numbers."""

    def stored(self, vector: Vector) -> list[int]:
        numbers: list[int] = quantized(vector).tolist()
        return numbers

    def search(self, vector: Vector, limit: int, most: int, conditions: Sequence[Any]) -> dict[str, Any]:
        knn: dict[str, Any] = {
            "vector": self.stored(vector),
            "k": limit,
            "method_parameters": {"ef_search": min(most, max(2 * limit, CANDIDATES))},
        }
        if conditions:
            knn["filter"] = {"bool": {"filter": list(conditions)}}
        return {"query": {"knn": {"vector": knn}}}


def vector_field(mapping: Mapping[str, Any]) -> VectorField:
    """Return the vector field of an index of either product, from its mapping."""
    if mapping["properties"].get("vector", {}).get("type") == "knn_vector":
        return KnnVectorField("byte", "hnsw")
    return VectorField.of_mapping(mapping)
