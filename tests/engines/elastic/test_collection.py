"""The whole way through a collection in Elasticsearch: the same answers as from the embedded engine."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from hash_encoder import HashEncoder
from schema_2 import make_schema_2
from services.elastic import elasticsearch, no_indices

from indexer.catalog.vocabulary import Term
from indexer.collection import Collection
from indexer.engines.base import Damage
from indexer.engines.elastic.cluster import connect
from indexer.engines.elastic.indices import Names
from indexer.errors import NotFound
from indexer.runs.repair import compare
from indexer.search.query import parse_filter

SUBJECTS = {
    "space": "The solar wind comes from the solar corona, and the magnetic field of the earth protects us.",
    "law": "Tax law sets the income tax rate, and a tax court decides about every disputed tax bill.",
    "sea": "Deep sea fish live near hydrothermal vents, where the ocean floor feeds marine bacteria.",
}


@pytest.fixture
def url(version: str) -> str:
    return elasticsearch(version)


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: HashEncoder())
    monkeypatch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
    monkeypatch.setattr(
        "indexer.collection.TAGGERS", 0
    )  # tagging in this process: starting one takes a second


@pytest.fixture
def both(url, tmp_path):
    """The same documents in both engines."""
    names = list(SUBJECTS)
    records = [
        {
            "id": f"d{i:02}",
            "title": f"Report {i} about {names[i % 3]}",
            "text": f"{SUBJECTS[names[i % 3]]} Station {i} reports new measurements.",
            "kind": names[i % 3],
            "year": 2000 + i,
        }
        for i in range(30)
    ]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    local = Collection.open(home=tmp_path / "local")
    elastic = Collection.open(home=tmp_path / "elastic", engine=url, index_prefix="test-collection")
    with local, elastic:
        for collection in (local, elastic):
            report = collection.index([source])
            assert (report.new, report.mined, report.failed) == (30, 30, 0)
        yield local, elastic, source
        no_indices(url, "test-collection-*")


def documents(collection):
    return {
        d.document.id: (d.document.title, d.document.text, dict(d.document.meta), d.keyphrases, d.topics)
        for d in collection.documents()
    }


def test_deleted_documents_leave_nothing_behind(both):
    local, elastic, _ = both
    gone = [f"d{i:02}" for i in range(0, 30, 3)]
    for collection in (local, elastic):
        assert collection.delete(gone).deleted == 10
        assert collection.engine.info().documents == 20
        assert collection.mentions(gone[0]) == []
        assert collection.catalog.ledger("main", gone) == {}
        assert list(collection.engine.changed_phrases()) == []
        sizes = {topic.id: topic.size for topic in collection.topics()}
        assert sizes == {topic.id: topic.size for topic in collection.catalog.topics("main")}
        for id_, size in sizes.items():
            assert sum(any(t.topic_id == id_ for t in d.topics) for d in collection.documents()) == size
    assert local.engine.info().phrases == elastic.engine.info().phrases


def test_every_command_answers_as_on_the_embedded_engine(both):
    local, elastic, source = both
    assert documents(elastic) == documents(local)
    assert [(t.label, t.phrases, t.size) for t in elastic.topics()] == [
        (t.label, t.phrases, t.size) for t in local.topics()
    ]
    for query in ("solar wind", "tax*", '"ocean floor" -station', "measurement", ""):
        for filters in (
            (),
            (parse_filter("year>=2010"),),
            (parse_filter("kind=law"), parse_filter("year<2020")),
        ):
            found = [
                collection.search(
                    query, mode="words", filters=filters, facets=("topic", "keyphrase", "kind"), limit=30
                )
                for collection in both[:2]
            ]
            assert {hit.stored.document.id for hit in found[0].hits} == {
                hit.stored.document.id for hit in found[1].hits
            }
            assert (found[0].total, found[0].facets) == (found[1].total, found[1].facets)
            marked = [
                {
                    hit.stored.document.id: [(f.field, f.text, f.marks) for f in hit.fragments]
                    for hit in results.hits
                }
                for results in found
            ]
            assert marked[0] == marked[1]
    for collection in both[:2]:
        (first, *_) = collection.search("solar corona", mode="both", limit=3).hits
        assert first.stored.document.meta["kind"] == "space"
    near = [c.phrases("solar wind", limit=1)[0] for c in both[:2]]
    assert [(row.phrase, row.documents, round(score, 3)) for row, score in near] == [
        ("solar wind", 10, 1.0)
    ] * 2
    inside = [c.phrases_in("the [[solar wind]] is strong", limit=3)[0][0].phrase for c in both[:2]]
    assert inside == ["solar wind", "solar wind"]
    status = [c.status() for c in both[:2]]
    assert status[0].documents == status[1].documents
    assert elastic.index([source]).nothing_changed


@pytest.mark.usefixtures("only_elasticsearch")
def test_a_collection_of_0_1_0_is_reindexed(both, url, tmp_path):
    local, _, source = both
    places = {"home": tmp_path / "old", "engine": url, "index_prefix": "test-collection", "collection": "old"}
    with closing(connect(url)) as cluster:
        make_schema_2(cluster, Names.of("test-collection", "old"), HashEncoder.dims)
    with Collection.open(**places, create=False) as old:
        old.index([source])
        before, rows = documents(old), sentences(old)
        assert old.engine._state.nested
        assert (old.reindex().generation, documents(old)) == (
            2,
            before,
        )  # what is open follows, at its next look
    with Collection.open(**places, create=False) as new:
        assert not new.engine._state.nested
        assert (documents(new), sentences(new)) == (before, rows)
        assert [(t.id, t.label, t.size) for t in new.topics()] == [
            (t.id, t.label, t.size) for t in local.topics()
        ]
        assert new.engine.info().phrases == local.engine.info().phrases
        assert new.index([source]).nothing_changed
        first = new.topics()[0]
        assert new.engine.topic_documents(first.id, first.centroid).total == first.size


def sentences(collection):
    rows = collection.engine.mentions(sorted(documents(collection)))
    return [(row.document_id, row.phrase, row.sentence, row.topic, row.keyphrase) for row in rows]


def test_names_of_topics_stand_on_documents_and_follow_a_rename(both):
    _, elastic, _ = both
    topic = elastic.topics()[0]
    renamed = elastic.rename_topic(topic.id, "Something readable")
    engine = elastic.engine
    ids = engine.topic_documents(renamed.id, renamed.centroid, limit=100).ids
    rows = engine._cluster.ask(engine._cluster.client.mget, index=engine.names.documents, ids=list(ids))[
        "docs"
    ]
    assert len(rows) == topic.size
    assert all("Something readable" in row["_source"]["topic_labels"] for row in rows)


def test_what_users_make_of_topics_is_the_same(both, tmp_path):
    """Corrections, a split, a new subject that is added, what is undone and hidden, and terms of a field."""
    text = "In bakery {} a sourdough starter needs rye flour, and the oven spring depends on the dough hydration."
    bread = tmp_path / "bread.jsonl"
    bread.write_text("".join(json.dumps({"id": f"b{i}", "text": text.format(i)}) + "\n" for i in range(18)))
    found = []
    for collection in both[:2]:
        law, sea = (collection.document(id_).topics[0].topic_id for id_ in ("d01", "d02"))
        collection.merge_topics(sea, [law])
        parts = collection.split_topic(sea)
        law = collection.document("d01").topics[0].topic_id
        collection.correct_topic(law, ["d00"])
        collection.index([bread])
        (rising,) = collection.rising()
        (born,) = collection.add_rising()
        before = topics_of_documents(collection)
        collection.merge_topics(law, [born.id])
        collection.retire_topics([parts[0].id])
        assert born.id not in {topic.id for topic in collection.topics()}
        assert [collection.undo_topics()[0].kind for _ in range(2)] == ["retire", "merge"]
        assert topics_of_documents(collection) == before
        collection.mark_topic(born.id, "hidden")
        (facet,) = collection.search("", facets=("topic",)).facets
        assert {value for value, _, _ in facet.values} == {t.id for t in collection.topics()} - {born.id}
        collection.index([], refit=True)
        assert collection.topic_tree().by_id[born.id].mark == "hidden"
        topics = {topic.id: topic.label for topic in collection.topics()}
        assert {law, born.id, *(part.id for part in parts)} <= topics.keys()
        assert [weight.topic_id for weight in collection.document("d00").topics] == [law]
        assert {w.topic_id for i in range(18) for w in collection.document(f"b{i}").topics} == {born.id}
        collection.add_terms(collection.terms_of_field("kind"), strict=True)
        terms = {t.id: t.label for t in collection.topics()}
        assert {terms[collection.document(id_).topics[0].topic_id] for id_ in ("d03", "d04", "d05")} == {
            *SUBJECTS
        }
        assert (
            12 <= len(rising.documents) <= 18
        )  # a few are at the edge, and vectors are stored in other ways
        found.append((topics, terms, topics_of_documents(collection)))
    assert found[0] == found[1]


def topics_of_documents(collection):
    return {d.document.id: d.topics for d in collection.documents()}


def test_the_tree_and_the_vocabulary_are_the_same_and_stand_on_documents(both, url):
    local, elastic, _ = both
    law = Term("law", "Taxes", ("tax law", "income tax", "tax court"))

    def on_documents():
        """Path ► documents, of labels and of ids, and label ► documents of the terms."""
        with closing(connect(url)) as cluster:
            found = cluster.search(
                index="test-collection-main-documents",
                size=0,
                aggs={
                    name: {"terms": {"field": name, "size": 100}}
                    for name in ("topic_path", "topic_path_ids", "terms")
                },
            )["aggregations"]
        return {
            name: {bucket["key"]: bucket["doc_count"] for bucket in part["buckets"]}
            for name, part in found.items()
        }

    def same():
        trees = [collection.topic_tree() for collection in both[:2]]
        assert [[(d, t.id, t.label, t.size, t.term) for d, t in tree.walk()] for tree in trees[:1]] == [
            [(d, t.id, t.label, t.size, t.term) for d, t in tree.walk()] for tree in trees[1:]
        ]
        facets = [
            collection.search("", facets=("topic_path",), facet_size=100).facets for collection in both[:2]
        ]
        assert facets[0] == facets[1]
        paths = {value: (label, number) for value, label, number in facets[1][0].values}
        stored = on_documents()
        assert stored["topic_path_ids"] == {value: number for value, (_, number) in paths.items()}
        assert stored["topic_path"] == dict(paths.values())
        return trees[0], stored

    for collection in (local, elastic):
        collection.index([], levels="2,3", refit=True)
    tree, stored = same()
    assert stored["terms"] == {}
    parent = tree.parents[0]
    for collection in (local, elastic):
        collection.rename_topic(parent.id, "Everything else")
    assert "Everything else" in same()[1]["topic_path"]
    for collection in (local, elastic):
        collection.move_topic(tree.subtopics(parent.id)[0].id)
    same()
    for collection in (local, elastic):
        collection.add_terms([law])
    assert set(same()[1]["terms"]) == {"Taxes"}


def test_a_collection_that_is_not_there_leaves_nothing_behind(url, tmp_path):
    with pytest.raises(NotFound, match="There is no collection 'test-collection-other'"):
        Collection.open(
            home=tmp_path / "home",
            engine=url,
            index_prefix="test-collection",
            collection="other",
            create=False,
        )
    assert not (tmp_path / "home").exists()


def test_what_is_missing_is_found_and_repaired(both, url):
    local, elastic, source = both
    before = documents(elastic)
    assert elastic.engine.damage(deep=True) == Damage()
    assert not compare(elastic.engine, elastic.catalog, elastic.name).found
    names = Names("test-collection-main")
    with closing(connect(url)) as cluster:
        lost = {"terms": {"document_id": ["d01", "d02"]}}
        found = cluster.client.search(index=names.mentions, query=lost, size=100)
        for hit in found["hits"]["hits"]:
            cluster.client.delete(index=names.mentions, id=hit["_id"], refresh=True)
        cluster.client.delete(index=names.documents, id="d05", refresh=True)
    assert elastic.engine.damage(deep=True).documents == ("d01", "d02")
    repaired = elastic.repair()
    assert (repaired.mined, repaired.sources) == (2, [str(source)])
    assert elastic.engine.damage(deep=True) == Damage()
    assert not compare(elastic.engine, elastic.catalog, elastic.name).found
    assert elastic.index([source]).new == 1
    assert documents(elastic) == before == documents(local)
