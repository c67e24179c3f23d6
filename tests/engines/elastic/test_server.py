"""What only a real server does: keep users apart, refuse requests that are too large, block an index."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import pytest
from contract_rows import DIMS, axis, document, mention, mined, phrase, topic
from services import certificates
from services import elastic as services
from services.asking import asked_for, needs
from services.distribution import VERSIONS, unpacked

from indexer.cli.doctor.places import server
from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.engines.elastic import ElasticEngine
from indexer.engines.elastic.cluster import Cluster, connect
from indexer.engines.elastic.user_documents import UserDocuments
from indexer.engines.elastic.user_index import EnrichOptions, UserIndex
from indexer.engines.registry import open_generations
from indexer.errors import EngineForbidden, EngineUnavailable, MappingMismatch, NotFound
from indexer.settings import Settings, load_settings

pytestmark = needs("elasticsearch-secured")

PASSWORD = "a password of tests"
DOCS = Path(__file__).parents[3] / "docs" / "elasticsearch.md"
ROLE = re.compile(
    r"^indexer_(\w+):\n  indices:\n    - names: \[(.+)\]\n      privileges: \[(.+)\]", re.MULTILINE
)
SETTINGS = {
    "xpack.security.enabled": "true",
    "xpack.security.autoconfiguration.enabled": "false",
    "xpack.security.http.ssl.enabled": "true",
    "xpack.security.http.ssl.keystore.path": "http.p12",
    "http.max_content_length": "100kb",
    "thread_pool.write.queue_size": 1,
}


def role(name: str, indices: str, privileges: list[str]) -> str:
    """A role as roles.yml has it."""
    return f"{name}:\n  indices:\n    - names: [{indices}]\n      privileges: {json.dumps(privileges)}\n"


def documented_roles() -> dict[str, str]:
    """The roles of the documentation as they are, and each without one of its privileges: name ► roles.yml."""
    roles = {"nobody": "nobody:\n  indices: []\n"}
    for name, indices, listed in ROLE.findall(DOCS.read_text(encoding="utf-8")):
        privileges = json.loads(f"[{listed}]")
        roles[name] = role(name, indices, privileges)
        for left_out in privileges:
            lesser = f"{name}_without_{left_out}"
            roles[lesser] = role(lesser, indices, [p for p in privileges if p != left_out])
    return roles


ROLES = documented_roles()
LESSER = [role for role in ROLES if "_without_" in role]


@dataclass(frozen=True)
class Guarded:
    """A server that speaks TLS and asks who is there."""

    url: str
    authority: Path
    stranger: Path  # another authority

    def settings(self, user: str, password: str = PASSWORD, **others: str) -> Settings:
        known = {"engine": self.url, "certificates": str(self.authority), "credentials": f"{user}:{password}"}
        return load_settings(**{**known, **others})


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with security and TLS on, a user for each role, that takes 100 KB at once and has a short queue."""
    if not asked_for(request.config):
        pytest.skip("Needs Elasticsearch: run with -m live.")
    distribution = unpacked(VERSIONS["9.2"])
    folder = tmp_path_factory.mktemp("certificates")
    ours, stranger = (
        certificates.authority(folder, distribution.java, name) for name in ("ours", "stranger")
    )
    store = certificates.server_store(folder, distribution.java, "ours")

    def setup(config: Path, run: services.Run) -> None:
        (config / "roles.yml").write_text("".join(ROLES.values()), encoding="utf-8")
        shutil.copy(store, config / "http.p12")
        run("elasticsearch-keystore", ["create"])
        run("elasticsearch-keystore", ["add", "-x", "bootstrap.password"], PASSWORD)
        secret = "xpack.security.http.ssl.keystore.secure_password"
        run("elasticsearch-keystore", ["add", "-x", secret], certificates.PASSWORD)
        run("elasticsearch-users", ["useradd", "nobody", "-p", PASSWORD, "-r", "nobody"])
        # All have one password: starting the program once for each would take a minute.
        hashed = (config / "users").read_text(encoding="utf-8").strip().partition(":")[2]
        (config / "users").write_text("".join(f"{role}:{hashed}\n" for role in ROLES), encoding="utf-8")
        (config / "users_roles").write_text("".join(f"{role}:{role}\n" for role in ROLES), encoding="utf-8")

    with services.started(distribution, SETTINGS, setup=setup, certificates=ours) as server:
        yield Guarded(server.url, ours, stranger)


@pytest.fixture
def cluster_of(guarded: Guarded) -> Iterator:
    """Connects as a user."""
    made: list[Cluster] = []

    def connected(user: str, password: str = PASSWORD) -> Cluster:
        secret = f"{user}:{password}" if user else ""
        made.append(connect(guarded.url, credentials=secret, certificates=str(guarded.authority)))
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


def write(cluster: Cluster, collection: str) -> None:
    """All that a writer does."""
    writer = ElasticEngine(cluster, "indexer", collection, DIMS, create=False)
    assert writer.store([document("a", "wind power", year=2020), document("b", "sun")]) == []
    row = mined("a", axis(1), topics=(("t-000001", 1.0),), mentions=(mention("a", "wind"),))
    assert writer.write_mined([row]) == []
    list(writer.mentions_by_phrase())
    writer.write_phrases([phrase("wind")])
    writer.write_topics([topic("t-000001")])
    assert writer.delete(["b"]) == 1
    writer.compact()
    writer.info()


def read(cluster: Cluster, collection: str) -> None:
    """All that a reader does."""
    reader = ElasticEngine(cluster, "indexer", collection, DIMS, create=False)
    reader.search(SearchRequest(words=WordQuery((Clause("wind"),)), vector=axis(1), facets=("topic",)))
    list(reader.scan())
    reader.info()
    reader.fields()


def found(guarded: Guarded, user: str) -> None:
    """All that a founder does."""
    with closing(
        open_generations(guarded.settings(user, collection=f"of-{user.replace('_', '-')}"))
    ) as generations:
        for number in (1, 2):
            with closing(generations.make(DIMS, bundle="b")) as engine:
                engine.store([document("a")])
            generations.switch(number)
        generations.remove(1)


def enrich(cluster: Cluster, index: str) -> None:
    """All that is done to a user's index."""
    options = EnrichOptions("body")
    opened = UserIndex.open(cluster, index, options)
    opened.add_field(DIMS, "int8_hnsw")
    documents = UserDocuments(opened, options, 1_000)
    documents.marks()
    documents.refresh()
    (row,) = next(documents.scan())
    assert documents.write([(row, {"topics": ["t-000001"], "bundle": "b"})]) == []
    assert documents.take_back(lambda number: None) == 1


def work(guarded: Guarded, cluster_of, collection: str, user: str) -> None:
    """What a role is for."""
    kind = user.partition("_")[0]
    if kind == "founder":
        found(guarded, user)
    elif kind == "enricher":
        enrich(cluster_of(user), "news")
    else:
        {"writer": write, "reader": read}[kind](cluster_of(user), collection)


@pytest.fixture
def news(cluster_of) -> Iterator[str]:
    """An index of somebody else's."""
    client = cluster_of("elastic").client
    client.indices.create(index="news", mappings={"properties": {"body": {"type": "text"}}})
    client.index(index="news", id="a", document={"body": "wind"}, refresh=True)
    yield "news"
    client.indices.delete(index="news")


def test_the_roles_of_the_documentation_are_enough(guarded, cluster_of, collection, news):
    for user in ("founder", "writer", "enricher", "reader"):
        work(guarded, cluster_of, collection, user)
    reader = ElasticEngine(cluster_of("reader"), "indexer", collection, DIMS, create=False)
    words = WordQuery((Clause("wind"),))
    answer = reader.search(SearchRequest(words=words, vector=axis(1), facets=("topic",)))
    assert (answer.words.ids, answer.meaning.ids, answer.facets["topic"]) == (
        ("a",),
        ("a",),
        (("t-000001", 1),),
    )
    assert list(reader.hits(words, ["a"])[1]) == ["a"]
    assert len(reader.nearest_mentions(axis(0))) == len(reader.nearest_phrases(axis(0))) == 1
    assert list(reader.document_ids()) == ["a"]
    assert reader.info().documents == 1
    assert reader.fields() == ["year"]


def test_each_privilege_of_the_roles_is_needed_and_named_when_it_is_missing(
    guarded, cluster_of, collection, news
):
    said: dict[str, str] = {}
    for user in LESSER:
        try:
            work(guarded, cluster_of, collection, user)
        except EngineForbidden as error:
            said[user] = f"{error} {error.hint}"
    assert [user for user in LESSER if user not in said] == []
    assert all("rivilege" in text and "docs/elasticsearch.md" in text for text in said.values())


def test_doctor_finds_what_is_wrong_before_work_starts(guarded, cluster_of, collection):
    def said(settings: Settings) -> tuple[str, str]:
        (check,) = server(settings)
        return check.state, f"{check.found} {check.hint}"

    assert said(guarded.settings("founder"))[0] == "OK"
    state, text = said(guarded.settings("reader"))
    assert (state, "lacks" in text, "write" in text) == ("WARN", True, True)
    assert said(guarded.settings("nobody"))[0] == "FAIL"
    wrong = [
        (guarded.settings("writer", "wrong"), "does not accept the user and password"),
        (
            guarded.settings("", credentials="bm90OmEga2V5"),
            "does not accept the user and password, or the API key",
        ),
        (guarded.settings("writer", certificates=str(guarded.stranger)), "cannot be trusted"),
        (guarded.settings("writer", certificates=""), "cannot be trusted"),
        (
            guarded.settings("writer", engine=guarded.url.replace("https", "http")),
            "nothing would be encrypted",
        ),
        (guarded.settings("writer", engine="https://127.0.0.1:1"), "There is no answer"),
    ]
    for settings, sentence in wrong:
        state, text = said(settings)
        assert state == "FAIL"
        assert sentence in text
        assert PASSWORD not in text
        assert PASSWORD not in repr(settings)
    cluster = cluster_of("elastic")
    engine = ElasticEngine(cluster, "indexer", collection, DIMS)
    assert engine.problems(full=True) == engine.problems() == []
    block = {"index.blocks.read_only_allow_delete": True}
    cluster.ask(cluster.client.indices.put_settings, index=engine.names.mentions, settings=block)
    problem, *_ = engine.problems()  # the server's report on disks may name the block, too
    assert engine.problems(full=True) == [problem]
    assert problem.fatal
    assert "mentions-000001 takes no writes" in problem.found
    (problem,) = list(
        ElasticEngine(cluster_of("reader"), "indexer", collection, DIMS, create=False).problems(full=True)
    )[1:]
    assert "may only read: it lacks maintenance, write" in problem.found


def test_a_short_queue_loses_nothing(guarded, cluster_of, collection):
    """The server puts off what it has no room for (429), and gets it again."""
    pauses: list[float] = []
    cluster = cluster_of("elastic")
    patient = Cluster(
        cluster.client, cluster.where, pause=lambda seconds: (pauses.append(seconds), sleep(seconds / 10))
    )
    engine = ElasticEngine(patient, "indexer", collection, DIMS)
    wanted = 0
    while not pauses and wanted < 4_000:
        parts = [[document(f"d{wanted + n:05}", "wind " * 200) for n in range(k, 400, 16)] for k in range(16)]
        with ThreadPoolExecutor(16) as pool:
            assert all(refused == [] for refused in pool.map(engine.store, parts))
        wanted += 400
    assert pauses
    assert engine.info().documents == wanted


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
