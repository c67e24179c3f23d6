"""How a server is recognised as OpenSearch, and what is translated for it; the contract asks for the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import ClassVar

import pytest
from contract_rows import DIMS, axis
from elastic_transport import ApiResponseMeta, BaseNode, HttpHeaders
from elastic_transport._node import NodeApiResponse
from elasticsearch import Elasticsearch

from indexer.engines.base import Clause, Filter, SearchAnswer, SearchRequest, WordQuery
from indexer.engines.elastic import queries
from indexer.engines.elastic.cluster import Cluster
from indexer.engines.elastic.opensearch import (
    DOT,
    MAX_CLAUSES,
    FieldNames,
    KnnVectorField,
    ServerTransport,
    index_body,
    vector_field,
)
from indexer.engines.elastic.user_index import EnrichOptions, UserIndex
from indexer.engines.elastic.vectors import VectorField
from indexer.errors import EngineIncompatible, SettingsError
from mappings import load_mapping

ROOT = {"version": {"distribution": "opensearch", "number": "2.19.0"}}


class FakeNode(BaseNode):
    """OpenSearch at the wire: no header of the product, and media types of Elasticsearch are refused."""

    requests: ClassVar[list[tuple[str, str, str, bytes | None]]] = []
    root: ClassVar[object] = ROOT

    def perform_request(self, method, target, body=None, headers=None, request_timeout=None):
        media = headers.get("content-type", "")
        type(self).requests.append((method, target, media, body))
        status, answer = self._answer(target, media, method == "DELETE")
        head = HttpHeaders({"content-type": "application/json"})
        return NodeApiResponse(
            ApiResponseMeta(status, "1.1", head, 0.0, self.config), json.dumps(answer).encode()
        )

    def _answer(self, target, media, closes):
        if "elasticsearch" in media:
            return 406, {"error": f"Content-Type header [{media}] is not supported", "status": 406}
        if "_pit" in target:
            return 400, {"error": "no handler found for uri", "status": 400}
        if target == "/":
            return 200, self.root
        if "point_in_time" in target:
            return 200, {"pits": [{"pit_id": "opened", "successful": True}]} if closes else {
                "pit_id": "opened"
            }
        return 200, {"news": {"settings": {"index": {}}, "mappings": {}}}

    def close(self):
        pass


@pytest.fixture
def requests(monkeypatch) -> list[tuple[str, str, str, bytes | None]]:
    found: list[tuple[str, str, str, bytes | None]] = []
    monkeypatch.setattr(FakeNode, "requests", found)
    return found


@pytest.fixture
def cluster(requests) -> Iterator[Cluster]:
    client = Elasticsearch("http://fake:9200", node_class=FakeNode, transport_class=ServerTransport)
    with closing(Cluster(client, "http://fake:9200")) as cluster:
        yield cluster


def test_the_first_answer_tells_the_product_and_is_not_requested_twice(cluster, requests):
    assert cluster.product == "Elasticsearch"
    cluster.ask(cluster.client.indices.delete, index="a")
    cluster.ask(cluster.client.indices.delete, index="b")
    assert cluster.product == "OpenSearch"
    assert [row[:2] for row in requests] == [("DELETE", "/a"), ("GET", "/"), ("DELETE", "/b")]


@pytest.mark.parametrize("root", ["It works!", {}, {"version": "2.19.0"}, {"version": {"number": "2.19.0"}}])
def test_a_server_of_another_product_is_refused(cluster, monkeypatch, root):
    monkeypatch.setattr(FakeNode, "root", root)
    with pytest.raises(EngineIncompatible, match="neither Elasticsearch nor OpenSearch"):
        cluster.ask(cluster.client.indices.get, index="news")
    assert cluster.product == "Elasticsearch"


def test_a_refused_request_is_sent_again_in_a_form_that_the_server_knows(cluster, requests):
    cluster.ask(cluster.client.bulk, operations=[b'{"delete":{"_id":"a"}}'])
    assert [(row[1], row[2]) for row in requests] == [
        ("/_bulk", "application/vnd.elasticsearch+x-ndjson; compatible-with=8"),
        ("/", ""),
        ("/_bulk", "application/x-ndjson"),
    ]


def test_a_point_in_time_has_another_address_and_body(cluster, requests):
    opened = cluster.ask(cluster.client.open_point_in_time, index="a", keep_alive="5m")
    cluster.ask(cluster.client.close_point_in_time, id=opened["id"])
    assert requests[-2][1] == "/a/_search/point_in_time?keep_alive=5m"
    assert (requests[-1][1], json.loads(requests[-1][3])) == (
        "/_search/point_in_time",
        {"pit_id": ["opened"]},
    )


def test_a_search_asks_for_no_vector_by_field_name_and_marks_phrases_as_one(cluster, requests):
    cluster.search(fields=[{"field": "vector"}], highlight={"max_analyzed_offset": 9, "fields": {}})
    cluster.search(fields=[{"field": "centroid"}])
    first, second = (json.loads(row[3]) for row in requests[-2:])
    assert first == {"fields": [], "highlight": {"fields": {}, "type": "fvh"}}
    assert second == {"fields": [{"field": "centroid"}]}


@pytest.mark.parametrize(
    ("version", "combined"), [("2.19.0", False), ("3.3", True), ("3.3.2", True), ("4.0.0-rc1", True)]
)
def test_fields_are_ranked_as_one_where_the_server_can(cluster, requests, monkeypatch, version, combined):
    monkeypatch.setitem(ROOT["version"], "number", version)
    given = {"query": "wind", "fields": ["title^3", "text"]}
    cluster.search(query={"combined_fields": given})
    asked = json.loads(requests[-1][3])["query"]
    assert asked == (
        {"combined_fields": given} if combined else {"multi_match": given | {"type": "most_fields"}}
    )


def test_prefixes_match_so_many_words_that_the_query_keeps_the_servers_limit(cluster, requests):
    clauses = (Clause("one"), Clause("two", "prefix"), Clause("three", "prefix", negated=True))
    query, _ = queries.of_words(WordQuery(clauses))
    cluster.search(query=query)
    sent = json.loads(requests[-1][3])["query"]["bool"]
    expansions = [part["multi_match"].get("max_expansions") for part in (*sent["must"], *sent["must_not"])]
    assert expansions == [None, 249, 249]
    assert MAX_CLAUSES >= 2 + 4 * 249
    assert query["bool"]["must"][1]["multi_match"]["max_expansions"] == queries.MAX_EXPANSIONS


def test_an_index_of_a_user_is_not_enriched(cluster):
    with pytest.raises(EngineIncompatible, match="'news' is an index of OpenSearch"):
        UserIndex.open(cluster, "news", EnrichOptions(text_field="body"))


def test_the_body_of_an_index_is_translated_and_stays_as_it_is():
    body = load_mapping("documents", DIMS)
    translated = index_body(body)
    assert body == load_mapping("documents", DIMS)
    properties = translated["mappings"]["properties"]
    assert properties["meta"] == {"type": "object", "dynamic": True}
    assert properties["text"]["term_vector"] == "with_positions_offsets"
    assert properties["vector"]["type"] == "knn_vector"
    assert translated["settings"]["index.knn"] is True
    assert "ignore_dynamic_beyond_limit" not in str(translated)
    assert index_body(load_mapping("topics", DIMS))["mappings"]["properties"]["centroid"]["type"] == "float"
    with pytest.raises(SettingsError, match="no vector index like bbq_hnsw"):
        index_body(load_mapping("phrases", 64, vector_index="bbq_hnsw"))


def test_a_vector_is_sent_as_numbers():
    mapping = index_body(load_mapping("phrases", DIMS))["mappings"]
    field = vector_field(mapping)
    assert isinstance(field, KnnVectorField)
    assert not field.grows
    assert field.stored(-axis(1)) == [0, -127, 0, 0, 0, 0, 0, 0]
    allowed = {"exists": {"field": "vector"}}
    assert field.search(axis(0), 300, 500, [allowed]) == {"query": {"knn": {"vector": {
        "vector": [127, 0, 0, 0, 0, 0, 0, 0], "k": 300, "method_parameters": {"ef_search": 500},
        "filter": {"bool": {"filter": [allowed]}},
    }}}}  # fmt: skip
    assert type(vector_field(load_mapping("phrases", DIMS)["mappings"])) is VectorField


def test_a_flat_index_has_no_graph_and_is_searched_by_a_script():
    body = index_body(load_mapping("phrases", DIMS, vector_index="int8_flat"))
    assert body["settings"]["index.knn"] is False
    assert body["mappings"]["properties"]["vector"] == {
        "type": "knn_vector", "dimension": DIMS, "data_type": "byte"
    }  # fmt: skip
    query = vector_field(body["mappings"]).search(axis(0), 3, 500, [{"term": {"topics": "t"}}])["query"]
    allowed = [{"term": {"topics": "t"}}, {"exists": {"field": "vector"}}]
    assert query["script_score"]["query"] == {"bool": {"filter": allowed}}
    assert query["script_score"]["boost"] == 0.5


def test_a_dot_in_the_name_of_a_field_comes_back():
    names = FieldNames(DOT)
    request = SearchRequest(filters=(Filter("a.b", "=", 1),), facets=("a.b", "topic"))
    stored = names.request(request)
    assert (stored.filters[0].field, stored.facets) == (f"a{DOT}b", (f"a{DOT}b", "topic"))
    counts = {name: ((name, 1),) for name in stored.facets}
    assert list(names.answer(SearchAnswer(None, None, counts)).facets) == ["a.b", "topic"]
    assert FieldNames().request(request) == request
