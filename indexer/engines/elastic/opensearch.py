"""All that OpenSearch needs different from Elasticsearch: requests, index bodies, vector fields.

The client is that of Elasticsearch. `ServerTransport` notices OpenSearch by its answers, and from then on translates the
requests whose form differs; no request is added for a user of Elasticsearch. Vectors need the k-NN plugin, which every
full distribution of OpenSearch has.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from elastic_transport import HttpHeaders, TransportApiResponse

from indexer.engines import deadline
from indexer.engines.base import Filter, SearchAnswer, SearchRequest
from indexer.engines.elastic.credentials import RereadingTransport
from indexer.engines.elastic.vectors import CANDIDATES, VectorField, quantized
from indexer.errors import SettingsError
from indexer.records import Vector
from mappings import GRAPH

PRODUCT = "x-elastic-product"  # the header by which Elasticsearch, and nothing else, is known to its client
POINT_IN_TIME = "/_search/point_in_time"
DOT = "․"  # in names of fields: the servers make objects of real dots, but for the newest (`disable_objects`)
MAX_CLAUSES = 1_000  # of a query; servers take 1,024 unless `indices.query.bool.max_clause_count` is set
COMBINED_FIELDS = (3, 3)  # 2.19 lacks this query
MAX_FIELDS = (
    10_000  # of a collection; the server cannot leave out those beyond a limit, as Elasticsearch does
)


# -- requests ------------------------------------------------------------------------------------------------


class ServerTransport(RereadingTransport):
    """The client's transport to a server of either product.

    Attributes:
        opensearch: The server has answered, and it is OpenSearch.
        combined_fields: It knows this query.
    """

    opensearch = False
    combined_fields = False

    def perform_request(
        self,
        method: str,
        target: str,
        *,
        body: Any = None,
        headers: Any = MappingProxyType({}),
        **options: Any,
    ) -> TransportApiResponse:
        left = deadline.remaining()
        if left is not None:  # the server stops a search whose connection is closed
            options["request_timeout"] = min(left or 0.001, options.get("request_timeout") or left)
        if not self.opensearch:
            answer = super().perform_request(method, target, body=body, headers=headers, **options)
            if PRODUCT in answer.meta.headers or not self._is_opensearch(headers, options):
                return answer
            self.opensearch = True
            if answer.meta.status < 300:  # carried out: it had no body, whose media type would be refused
                return _accepted(answer)
        return _accepted(self._perform_translated(method, target, body, headers, options))

    def _is_opensearch(self, headers: Any, options: Mapping[str, Any]) -> bool:
        plain = _plain(headers)
        plain.pop("content-type", None)
        meta, body = super().perform_request("GET", "/", headers=plain, **options)
        version = body.get("version") if meta.status == 200 and isinstance(body, Mapping) else None
        if not isinstance(version, Mapping) or version.get("distribution") != "opensearch":
            return False
        self.combined_fields = _numbers(version.get("number")) >= COMBINED_FIELDS
        return True

    def _perform_translated(
        self, method: str, target: str, body: Any, headers: Any, options: Mapping[str, Any]
    ) -> TransportApiResponse:
        path, mark, parameters = target.partition("?")
        if path.endswith("/_search"):
            body = _search_body(body, combined=self.combined_fields)
        elif path.endswith("/_msearch"):
            body = [_search_body(part, combined=self.combined_fields) for part in body]
        elif path.endswith("/_pit"):
            target = path.removesuffix("/_pit") + POINT_IN_TIME + mark + parameters
            body = {"pit_id": [body["id"]]} if method == "DELETE" else body
        answer = super().perform_request(method, target, body=body, headers=_plain(headers), **options)
        if path.endswith("/_pit") and isinstance(answer.body, Mapping) and "pit_id" in answer.body:
            return TransportApiResponse(answer.meta, {"id": answer.body["pit_id"]})
        return answer


def _numbers(version: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in str(version).split("-")[0].split(".") if part.isdecimal())


def _accepted(answer: TransportApiResponse) -> TransportApiResponse:
    """Add the header without which the client refuses an answer: it cannot know that this program knows the server."""
    answer.meta.headers = HttpHeaders({**answer.meta.headers, PRODUCT: "Elasticsearch"})
    return answer


def _plain(headers: Any) -> HttpHeaders:
    """Return headers whose media types every server knows."""
    plain = HttpHeaders(headers or {})
    for name in ("accept", "content-type"):
        if name in plain:
            subtype = "x-ndjson" if "ndjson" in plain[name] else "json"
            plain[name] = f"application/{subtype}"
    return plain


def _search_body(body: Any, *, combined: bool) -> Any:
    """Translate the body of a search, or the line before it in a request of several."""
    if not isinstance(body, Mapping):
        return body
    translated = dict(body)
    if "fields" in body:
        # The server refuses to return vectors by field name, and has them in ``_source`` anyway.
        translated["fields"] = [f for f in body["fields"] if f not in ("vector", {"field": "vector"})]
    if "highlight" in body:
        # Its default highlighter marks each word of a phrase, and cuts white space off the beginning of a text.
        highlight = {key: value for key, value in body["highlight"].items() if key != "max_analyzed_offset"}
        translated["highlight"] = highlight | {"type": "fvh"}
    if "query" in body:
        query = body["query"] if combined else _without_combined_fields(body["query"])
        translated["query"] = _within_limit(query)
    return translated


def _without_combined_fields(query: Any) -> Any:
    """Replace BM25F by the sum of the BM25 of each field."""
    if isinstance(query, list):
        return [_without_combined_fields(part) for part in query]
    if not isinstance(query, dict):
        return query
    if "combined_fields" in query:
        return {"multi_match": query["combined_fields"] | {"type": "most_fields"}}
    return {name: _without_combined_fields(part) for name, part in query.items()}


def _within_limit(query: Any) -> Any:
    """Limit the words that prefixes match, so that the query has at most `MAX_CLAUSES` clauses."""
    matches = list(_matches(query))
    prefixes = [match for match in matches if "max_expansions" in match]
    if not prefixes:
        return query
    others = sum(len(match["fields"]) for match in matches if match not in prefixes)
    most = (MAX_CLAUSES - others) // sum(len(match["fields"]) for match in prefixes)
    return _with_expansions(query, max(1, most))


def _matches(query: Any) -> Iterator[dict[str, Any]]:
    if isinstance(query, list):
        for part in query:
            yield from _matches(part)
    elif isinstance(query, dict):
        for name, part in query.items():
            if name in ("multi_match", "combined_fields"):
                yield part
            else:
                yield from _matches(part)


def _with_expansions(query: Any, most: int) -> Any:
    if isinstance(query, list):
        return [_with_expansions(part, most) for part in query]
    if not isinstance(query, dict):
        return query
    if "max_expansions" in query:
        return query | {"max_expansions": min(most, query["max_expansions"])}
    return {name: _with_expansions(part, most) for name, part in query.items()}


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
    mappings["date_detection"] = False  # or templates of keywords do not see texts that look like dates
    for field in mappings["properties"].values():
        field.pop("subobjects", None)
        if field.get("index_options") == "offsets":
            del field["index_options"]
            field["term_vector"] = "with_positions_offsets"  # for the highlighter; see `_search_body`
    if "vector" in mappings["properties"]:
        field = _knn_vector(mappings["properties"]["vector"], mappings["_meta"]["vector_index"])
        settings["index.knn"] = "method" in field
        mappings["properties"]["vector"] = field
    if "centroid" in mappings["properties"]:
        mappings["properties"]["centroid"] = {"type": "float", "index": False, "doc_values": False}
    return translated


def _knn_vector(field: Mapping[str, Any], vector_index: str) -> dict[str, Any]:
    """Return a field of bytes: without a graph for `int8_flat`, else with one, for `auto` too.

    An index cannot get a graph later. `lucene` is the only engine of all versions that has cosines of bytes.
    """
    if field["element_type"] != "byte":
        raise SettingsError(
            f"OpenSearch has no vector index like {field['index_options']['type']}.",
            hint="Set INDEXER_VECTOR_INDEX=int8_hnsw.",
        )
    bytes_ = {"type": "knn_vector", "dimension": field["dims"], "data_type": "byte"}
    if vector_index == "int8_flat":
        return bytes_
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil", "parameters": GRAPH}
    return {**bytes_, "method": method}


@dataclass(frozen=True)
class FieldNames:
    """Names of the user's own fields, and of the fields of the index that hold them.

    Attributes:
        dot: What represents a dot in the index.
    """

    dot: str = "."

    def stored(self, name: str) -> str:
        return name.replace(".", self.dot)

    def original(self, name: str) -> str:
        return name.replace(self.dot, ".")

    def filters(self, filters: Sequence[Filter]) -> tuple[Filter, ...]:
        return tuple(replace(condition, field=self.stored(condition.field)) for condition in filters)

    def request(self, request: SearchRequest) -> SearchRequest:
        facets = tuple(map(self.stored, request.facets))
        return replace(request, filters=self.filters(request.filters), facets=facets)

    def answer(self, answer: SearchAnswer) -> SearchAnswer:
        counts = {self.original(name): counted for name, counted in answer.facets.items()}
        return replace(answer, facets=counts)


PLAIN_NAMES = FieldNames()


# -- vectors -------------------------------------------------------------------------------------------------


class KnnVectorField(VectorField):
    """The vector field of an index in OpenSearch: bytes that are sent as numbers."""

    def stored(self, vector: Vector) -> list[int]:
        numbers: list[int] = quantized(vector).tolist()
        return numbers

    def search(self, vector: Vector, limit: int, most: int, conditions: Sequence[Any]) -> dict[str, Any]:
        if self.index == "flat":
            return {"query": self._exact(vector, conditions)}
        return {"query": self._in_graph(vector, limit, most, conditions)}

    def _in_graph(self, vector: Vector, limit: int, most: int, conditions: Sequence[Any]) -> dict[str, Any]:
        knn: dict[str, Any] = {
            "vector": self.stored(vector),
            "k": limit,
            "method_parameters": {"ef_search": min(most, max(2 * limit, CANDIDATES))},
        }
        if conditions:
            knn["filter"] = {"bool": {"filter": list(conditions)}}
        return {"knn": {"vector": knn}}

    def _exact(self, vector: Vector, conditions: Sequence[Any]) -> dict[str, Any]:
        """Compare with every row. The script's score is 1 + cosine; that of a graph is half of it."""
        script = {
            "lang": "knn",
            "source": "knn_score",
            "params": {"field": "vector", "query_value": self.stored(vector), "space_type": "cosinesimil"},
        }
        rows = {"bool": {"filter": [*conditions, {"exists": {"field": "vector"}}]}}
        return {"script_score": {"query": rows, "script": script, "boost": 0.5}}


def vector_field(mapping: Mapping[str, Any]) -> VectorField:
    """Return the vector field of an index of either product, from its mapping."""
    field = mapping["properties"].get("vector", {})
    if field.get("type") == "knn_vector":
        return KnnVectorField("byte", "hnsw" if "method" in field else "flat")
    return VectorField.of_mapping(mapping)
