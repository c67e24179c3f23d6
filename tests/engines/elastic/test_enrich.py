"""Enriching an index of somebody else's: what is added, what stays as it was, and what stands in the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from elasticsearch import Elasticsearch
from hash_encoder import HashEncoder
from services.asking import asked_for
from services.elastic import EVERY_ELASTICSEARCH, elasticsearch, no_indices

from indexer.catalog.vocabulary import Term
from indexer.collection import Collection
from indexer.engines.elastic.user_documents import UserDocuments
from indexer.engines.elastic.user_index import EnrichOptions
from indexer.errors import (
    EngineUnavailable,
    IndexerError,
    MappingMismatch,
    NotFound,
    QueryError,
    SettingsError,
)
from indexer.runs.enrich import Pace
from mappings import enrichment

NEWS = "test-user-news"
OPTIONS = EnrichOptions("article.body", "headline", ("year",))
SUBJECTS = (
    "The solar wind comes from the solar corona, and the magnetic field of the earth protects us.",
    "Tax law sets the income tax rate, and a tax court decides about every disputed tax bill.",
    "Deep sea fish live near hydrothermal vents, where the ocean floor feeds marine bacteria.",
)
MAPPING = {
    "dynamic": "strict",
    "properties": {
        "headline": {"type": "text"},
        "article": {"properties": {"body": {"type": "text"}, "words": {"type": "integer"}}},
        "year": {"type": "integer"},
        "price": {"type": "double"},
        "place": {"type": "dense_vector", "dims": 3},
    },
}


def test_a_pace_lets_so_many_a_second_go_by():
    waited: list[float] = []
    pace = Pace(10, waited.append)
    pace(5)
    pace(20)
    assert waited == pytest.approx([0.5, 2.5], abs=0.05)
    assert (pace.burst, Pace(None).burst, Pace(0.5).burst) == (10, 250, 1)
    assert (pace.page, Pace(None).page, Pace(0.5).page, Pace(0.001).page) == (250, 250, 30, 1)
    Pace(None, waited.append)(10_000)
    assert len(waited) == 2


@pytest.fixture(scope="module", params=EVERY_ELASTICSEARCH)
def version(request: pytest.FixtureRequest) -> str:
    if not asked_for(request.config):
        pytest.skip("Needs Elasticsearch: run with -m live.")
    return str(request.param)


@pytest.fixture
def url(version: str) -> Iterator[str]:
    url = elasticsearch(version)
    no_indices(url, "test-user-*")
    yield url
    no_indices(url, "test-user-*")
    no_indices(url, "test-enrich-*")


@pytest.fixture
def client(url: str) -> Iterator[Elasticsearch]:
    with closing(Elasticsearch(url)) as client:
        client.indices.create(
            index=NEWS, mappings=MAPPING, settings={"number_of_shards": 2, "refresh_interval": -1}
        )
        for number in range(12):
            client.index(index=NEWS, id=f"n{number:02}", document=article(number), routing=f"r{number % 5}")
        client.indices.refresh(index=NEWS)
        yield client


@pytest.fixture
def collection(url, client, tmp_path, monkeypatch) -> Iterator[Collection]:
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: HashEncoder())
    monkeypatch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
    monkeypatch.setattr("indexer.collection.TAGGERS", 0)
    with Collection.open(home=tmp_path / "home", engine=url, index_prefix="test-enrich") as collection:
        yield collection


def article(number: int, more: str = "") -> dict:
    return {
        "headline": f"Report {number}",
        "article": {"body": f"{SUBJECTS[number % 3]} Station {number} reports. {more}", "words": number},
        "year": 2000 + number,
        "price": number / 7,
        "place": [0.1, 0.25, 1.0 + number],
    }


def place(id_: str) -> dict:
    return {"index": NEWS, "id": id_, "routing": f"r{int(id_[1:]) % 5}"}


def sources(client: Elasticsearch) -> dict[str, dict]:
    """Everything that stands in the index, vectors included, whatever the version of the server."""
    client.indices.refresh(index=NEWS)
    hits = client.search(index=NEWS, size=100, fields=["place"])["hits"]["hits"]
    return {hit["_id"]: {**hit["_source"], "place": hit["fields"]["place"]} for hit in hits}


def ours(client: Elasticsearch, id_: str) -> dict:
    return dict(client.get(**place(id_))["_source"].get("indexer", {}))


def test_an_index_is_enriched_kept_up_to_date_and_given_back_as_it_was(client, collection):
    before = sources(client)
    report = collection.enrich(NEWS, OPTIONS)
    assert (report.new, report.mined, report.written, report.failed) == (12, 12, 12, 0)
    added = ours(client, "n00")
    assert {"solar wind", "solar corona"} <= set(added["keyphrases"])
    assert added["topics"] == [t.topic_id for t in collection.document("n00").topics]
    assert added["topic_labels"] == [t.label for t in collection.topics() if t.id in added["topics"]]
    near = {"field": "indexer.vector", "query_vector": HashEncoder().encode_texts(["solar"])[0].tolist()}
    found = client.search(index=NEWS, knn={**near, "k": 1, "num_candidates": 20}, source=False)
    assert found["hits"]["hits"][0]["_id"] in ("n00", "n03", "n06", "n09")
    after = sources(client)
    assert {id_: {k: v for k, v in row.items() if k != "indexer"} for id_, row in after.items()} == before
    assert collection.search("hydrothermal", mode="words").total == 4
    assert collection.phrases("solar wind", limit=1)[0][0].documents == 4
    assert collection.enrich(NEWS, OPTIONS).nothing_changed

    client.update(**place("n01"), doc={"article": {"body": "A volcano erupts."}})
    client.update(**place("n02"), doc={"price": 99.5})  # nothing that is mined
    client.delete(**place("n03"))
    client.index(**place("n04"), document=article(4))  # our object is gone with the old document
    topic = collection.rename_topic(collection.topics()[0].id, "A name by hand")
    report = collection.enrich(NEWS, OPTIONS)
    assert (report.changed, report.mined, report.deleted) == (1, 1, 1)
    assert "volcano" in ours(client, "n01")["keyphrases"][0]
    assert ours(client, "n04")["keyphrases"]
    assert client.get(**place("n02"))["_source"]["price"] == 99.5
    named = [id_ for id_, row in sources(client).items() if topic.id in row["indexer"]["topics"]]
    assert all("A name by hand" in ours(client, id_)["topic_labels"] for id_ in named)
    assert collection.status().documents["done"] == 11

    assert collection.undo_enrich(NEWS, EnrichOptions()) == 11
    expected = {id_: row for id_, row in before.items() if id_ != "n03"}
    expected["n01"]["article"]["body"], expected["n02"]["price"] = "A volcano erupts.", 99.5
    assert json.dumps(sources(client), sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert collection.topics() == []
    assert collection.enrich(NEWS, OPTIONS).written == 11


def test_the_tree_and_the_terms_are_written_also_into_an_object_of_an_earlier_version(client, collection):
    new = {"topic_path", "topic_path_ids", "terms", "duplicate_of"}
    earlier = enrichment(HashEncoder().dims)
    earlier["properties"] = {name: one for name, one in earlier["properties"].items() if name not in new}
    client.indices.put_mapping(index=NEWS, properties={"indexer": earlier})
    collection.enrich(NEWS, OPTIONS)
    flat = ours(client, "n00")
    assert (flat["topic_path"], flat["topic_path_ids"]) == (flat["topic_labels"], flat["topics"])
    assert (flat["terms"], flat["duplicate_of"]) == ([], None)
    space = Term("space", "Outer space", ("solar wind", "solar corona", "magnetic field"), broader="sky")
    collection.add_terms([Term("sky", "Sky"), space], strict=True)
    collection.enrich(NEWS, OPTIONS)
    nested = ours(client, "n00")
    assert (nested["terms"], nested["topic_path"]) == (["Outer space"], ["Sky", "Sky/Outer space"])
    assert nested["topic_path_ids"][1].split("/")[1] == nested["topics"][0]
    assert collection.enrich(NEWS, OPTIONS).nothing_changed


def test_what_somebody_writes_meanwhile_is_read_again_and_never_overwritten(client, collection, monkeypatch):
    write, rounds = UserDocuments.write, []

    def disturbed(self, wanted):
        if not rounds:
            client.update(**place("n00"), doc={"article": {"body": "A volcano erupts."}})
            client.update(**place("n01"), doc={"price": 99.5})
            client.delete(**place("n02"))
        rounds.append(len(wanted))
        return write(self, wanted)

    monkeypatch.setattr(UserDocuments, "write", disturbed)
    report = collection.enrich(NEWS, OPTIONS)
    assert (report.written, report.deleted, report.unsettled) == (11, 1, 0)
    found = sources(client)
    assert found["n00"]["article"]["body"] == "A volcano erupts."
    assert "volcano" in found["n00"]["indexer"]["keyphrases"][0]
    assert found["n01"]["price"] == 99.5
    assert found["n01"]["indexer"]["keyphrases"]
    assert "n02" not in found
    assert collection.status().documents["done"] == 11


def test_a_run_that_was_killed_is_gone_on_with(client, collection, monkeypatch):
    def killed(self, wanted):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(UserDocuments, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            collection.enrich(NEWS, OPTIONS)
    report = collection.enrich(NEWS, OPTIONS)
    assert (report.mined, report.written) == (0, 12)


def test_watching_keeps_up(client, collection):
    def one(pause: float) -> None:
        client.index(**place("n12"), document=article(12))
        client.update(**place("n05"), doc={"article": {"body": "A volcano erupts."}})

    def two(pause: float) -> None:
        client.delete(**place("n07"))

    def three(pause: float) -> None:
        client.update(**place("n08"), doc={"price": 1})  # nothing that is mined: no run
        client.indices.refresh(index=NEWS)

    def four(pause: float) -> None:
        client.update(**place("n09"), doc={"article": {"body": ""}})

    before = sources(client)["n09"]
    looks = [one, two, three, four]
    watched = collection.watch(NEWS, OPTIONS, every=0, pause=lambda pause: looks.pop(0)(pause))
    assert next(watched).written == 12
    report = next(watched)
    assert (report.mined, report.written, report.deleted) == (2, 2, 0)
    assert "volcano" in ours(client, "n05")["keyphrases"][0]
    assert next(watched).deleted == 1
    assert next(watched).written == 1  # its text has gone
    assert sources(client)["n09"] == {**before, "article": {"body": "", "words": 9}}
    watched.close()
    assert looks == []
    assert sorted(d.document.id for d in collection.documents())[-1] == "n12"
    assert collection.status().documents["done"] == 11


def test_documents_that_cannot_be_used_are_named_and_stop_nothing(client, collection):
    client.indices.put_mapping(index=NEWS, properties={"article": {"properties": {"n": {"type": "keyword"}}}})
    client.index(index=NEWS, id="odd", document={"article": {"n": 17, "body": "x"}})
    client.index(index=NEWS, id="none", document={"headline": "only a title"})
    report = collection.enrich(NEWS, EnrichOptions("article.n, article.body", "headline"))
    assert (report.failed, report.without_text, report.written) == (1, 1, 12)
    assert '"article.n" must be text, found a number' in report.problems[0]
    assert [letter.document_id for letter in collection.dead_letters()] == ["odd"]
    client.delete(index=NEWS, id="odd")
    collection.enrich(NEWS, EnrichOptions("article.n, article.body", "headline"))
    assert collection.dead_letters() == []


def test_what_stands_in_the_way_is_explained_before_anything_is_written(client, collection):
    def refused(index=NEWS, **options) -> IndexerError:
        with pytest.raises(IndexerError) as caught:
            collection.enrich(index, EnrichOptions(**{"text_field": "article.body", **options}))
        return caught.value

    def made(name: str, **parts) -> str:
        body = {"properties": {"body": {"type": "text"}}}
        client.indices.create(index=f"test-user-{name}", **{"mappings": body, **parts})
        return f"test-user-{name}"

    assert isinstance(refused("test-user-nothing"), NotFound)
    missing = refused(text_field="content")
    assert isinstance(missing, NotFound)
    assert missing.hint == "Its text fields: article.body, headline."
    assert "of type integer, not text" in str(refused(text_field="year"))
    client.indices.put_alias(index=f"{NEWS},{made('other')}", name="test-user-both")
    two = refused("test-user-both")
    assert isinstance(two, MappingMismatch)
    assert "test-user-news, test-user-other" in two.hint
    for part in ({"enabled": False}, {"excludes": ["x"]}):
        mapping = {"_source": part, "properties": {"body": {"type": "text"}}}
        name = made(f"source-{len(part)}-{'enabled' in part}".lower(), mappings=mapping)
        assert "does not keep the whole _source" in str(refused(name, text_field="body"))
    taken = {"properties": {"body": {"type": "text"}, "indexer": {"type": "keyword"}}}
    assert "--into NAME" in refused(made("taken", mappings=taken), text_field="body").hint
    assert isinstance(refused(into="a.b"), QueryError)
    blocked = refused(made("blocked", settings={"blocks.read_only_allow_delete": True}), text_field="body")
    assert isinstance(blocked, EngineUnavailable)
    assert "index.blocks.read_only_allow_delete is set" in str(blocked)
    client.indices.close(index="test-user-other")
    assert "is closed" in str(refused("test-user-other", text_field="body"))
    client.indices.open(index="test-user-other")
    assert client.count(index=NEWS)["count"] == 12
    assert "indexer" not in client.indices.get_mapping(index=NEWS)[NEWS]["mappings"]["properties"]
    collection.enrich(NEWS, OPTIONS)
    client.indices.put_settings(index="test-user-blocked", settings={"blocks.read_only_allow_delete": None})
    assert "12 documents from elsewhere" in str(refused("test-user-blocked", text_field="body"))


def test_the_embedded_engine_cannot_enrich(tmp_path):
    with (
        Collection.open(home=tmp_path / "home") as collection,
        pytest.raises(SettingsError, match="the engine is 'local'"),
    ):
        collection.enrich(NEWS, OPTIONS)
