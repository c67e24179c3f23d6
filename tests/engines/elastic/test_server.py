"""What only a real server does: keep users apart, refuse requests that are too large, block an index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from contract_rows import DIMS, axis, document, mention, mined, phrase, topic
from services import elastic as services
from services.asking import asked_for
from services.distribution import VERSIONS, unpacked

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.engines.elastic import ElasticEngine
from indexer.engines.elastic.cluster import Cluster, connect
from indexer.errors import EngineForbidden, EngineIncompatible, EngineUnavailable, MappingMismatch, NotFound

pytestmark = pytest.mark.live

PASSWORD = "a password of tests"
DOCS = Path(__file__).parents[3] / "docs" / "elasticsearch.md"
USERS = {
    "reader": "indexer_reader",
    "writer": "indexer_writer",
    "founder": "indexer_founder",
    "nobody": "monitoring_user",
}
SETTINGS = {
    "xpack.security.enabled": "true",
    "xpack.security.autoconfiguration.enabled": "false",
    "http.max_content_length": "100kb",
}


def _setup(config: Path, run: services.Run) -> None:
    """Roles as the documentation gives them, a user for each, and the first password."""
    roles = DOCS.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    (config / "roles.yml").write_text(roles, encoding="utf-8")
    run("elasticsearch-keystore", ["create"])
    run("elasticsearch-keystore", ["add", "-x", "bootstrap.password"], PASSWORD)
    for user, role in USERS.items():
        run("elasticsearch-users", ["useradd", user, "-p", PASSWORD, "-r", role])


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server with security on that takes 100 KB at once."""
    if not asked_for(request.config):
        pytest.skip("Needs Elasticsearch: run with -m live.")
    services.stop()
    with services.started(unpacked(VERSIONS["9.2"]), SETTINGS, setup=_setup) as server:
        yield server.url


@pytest.fixture
def cluster_of(guarded: str) -> Iterator:
    """Connects as a user."""
    made: list[Cluster] = []

    def connected(user: str, password: str = PASSWORD) -> Cluster:
        made.append(connect(guarded, credentials=f"{user}:{password}" if user else ""))
        return made[-1]

    yield connected
    for cluster in made:
        cluster.close()


@pytest.fixture
def collection(cluster_of) -> Iterator[str]:
    """The name of a collection that is there."""
    cluster = cluster_of("elastic")
    ElasticEngine(cluster, "indexer", "shared", DIMS)
    yield "shared"
    found = cluster.ask(cluster.client.indices.get, index="indexer-shared-*", features="aliases")
    cluster.ask(cluster.client.indices.delete, index=list(found))


def test_without_a_user_and_with_a_wrong_password_nobody_gets_in(cluster_of):
    for cluster in (cluster_of(""), cluster_of("writer", "wrong")):
        with pytest.raises(EngineForbidden, match="does not accept the user and password"):
            ElasticEngine(cluster, "indexer", "main", DIMS)


def test_the_roles_of_the_documentation_are_enough(cluster_of, collection):
    writer = ElasticEngine(cluster_of("writer"), "indexer", collection, DIMS, create=False)
    assert writer.store([document("a", "wind power", year=2020), document("b", "sun")]) == []
    row = mined("a", axis(1), topics=(("t-000001", 1.0),), mentions=(mention("a", "wind"),))
    assert writer.write_mined([row]) == []
    writer.write_phrases([phrase("wind")])
    writer.write_topics([topic("t-000001")])
    assert writer.delete(["b"]) == 1
    writer.compact()
    writer.close()  # others see at once what they would see in a few seconds
    reader = ElasticEngine(cluster_of("reader"), "indexer", collection, DIMS, create=False)
    words = WordQuery((Clause("wind"),))
    answer = reader.search(SearchRequest(words=words, vector=axis(1), facets=("topic",)))
    assert (answer.words.ids, answer.meaning.ids, answer.facets["topic"]) == (
        ("a",),
        ("a",),
        (("t-000001", 1),),
    )
    assert list(reader.highlights(words, ["a"])) == ["a"]
    assert len(reader.nearest_mentions(axis(0))) == len(reader.nearest_phrases(axis(0))) == 1
    assert list(reader.document_ids()) == ["a"]
    assert reader.info().documents == 1
    assert reader.fields() == ["year"]


def test_who_may_only_read_cannot_write_and_learns_which_privilege_is_missing(cluster_of, collection):
    reader = ElasticEngine(cluster_of("reader"), "indexer", collection, DIMS, create=False)
    with pytest.raises(EngineForbidden, match=r"A privilege is missing .*indices:data/write"):
        reader.store([document("a")])
    with pytest.raises(EngineForbidden, match="privilege is missing"):
        ElasticEngine(cluster_of("reader"), "indexer", "another", DIMS)


def test_the_founder_makes_a_collection_and_a_stranger_sees_none(cluster_of, collection):
    with closing(ElasticEngine(cluster_of("founder"), "indexer", "shared", DIMS)) as engine:
        assert engine.store([document("a")]) == []
    cluster = cluster_of("elastic")
    ElasticEngine(cluster_of("founder"), "indexer", "shared-2", DIMS)
    assert cluster.ask(cluster.client.indices.exists, index="indexer-shared-2-documents-000001")
    with pytest.raises((EngineForbidden, NotFound)):
        ElasticEngine(cluster_of("nobody"), "indexer", collection, DIMS, create=False)


def test_a_request_that_is_too_large_for_the_server_is_split(cluster_of, collection):
    engine = ElasticEngine(cluster_of("elastic"), "indexer", collection, DIMS)
    documents = [
        document(f"d{number}", f"word{number} " + "x " * 15_000) for number in range(12)
    ]  # 30 KB each
    refused = engine.store([*documents, document("huge", "y " * 60_000)])
    assert [row.id for row in refused] == ["huge"]
    assert "more than the server takes in one request" in refused[0].reason
    assert engine.info().documents == 12
    assert engine.search(SearchRequest(words=WordQuery((Clause("word11"),)))).words.ids == ("d11",)


def test_a_blocked_index_is_explained(cluster_of, collection):
    cluster = cluster_of("elastic")
    engine = ElasticEngine(cluster, "indexer", collection, DIMS)
    cluster.ask(
        cluster.client.indices.put_settings,
        index=engine.names.documents,
        settings={"index.blocks.write": True},
    )
    with pytest.raises(EngineUnavailable, match=r"takes no writes: .*blocked by") as caught:
        engine.store([document("a")])
    assert "disk" in caught.value.hint


def test_an_index_that_disappears_does_not_come_back_without_its_mapping(cluster_of, collection):
    cluster = cluster_of("elastic")
    engine = ElasticEngine(cluster, "indexer", "gone", DIMS)
    engine.store([document("a")])
    found = cluster.ask(cluster.client.indices.get, index="indexer-gone-*", features="aliases")
    cluster.ask(cluster.client.indices.delete, index=list(found))
    with pytest.raises(MappingMismatch, match="missing"):
        engine.store([document("b")])
    with pytest.raises(MappingMismatch, match="missing"):
        engine.search(SearchRequest())
    assert not cluster.ask(
        cluster.client.options(ignore_status=404).indices.get_alias, name="indexer-gone-*"
    ).get("x")


def test_a_client_that_is_newer_than_the_server_is_explained(request):
    """What a client of version 9 sends to a server of version 8."""
    if not asked_for(request.config):
        pytest.skip("Needs Elasticsearch: run with -m live.")
    with closing(connect(services.elasticsearch("8.19"))) as cluster:
        newer = {"accept": "application/vnd.elasticsearch+json; compatible-with=9"}
        with pytest.raises(EngineIncompatible, match="do not understand each other") as caught:
            cluster.ask(cluster.client.perform_request, "GET", "/_cluster/health", headers=newer)
        assert "pip install" in caught.value.hint
