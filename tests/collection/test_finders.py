"""Topics of one collection, found in one way and then in another."""

import pytest
from small_reports import made, opened, state, write

from indexer.topics.fits import live_fit
from indexer.topics.labels import label_of


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "a.jsonl", made())


def kinds_of(collection):
    """What the documents of each topic are about."""
    return [
        {s.document.meta["kind"] for s in collection.topic(topic.id, documents=30).documents}
        for topic in collection.topics()
    ]


def finder(collection):
    return live_fit(collection.catalog, collection.name).model


@pytest.mark.slow
def test_pntm_gives_topics_labels_and_reasons_as_the_clusters_do(tmp_path, source):
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics="pntm:3")
        assert sorted(map(len, kinds_of(collection))) == [1, 1, 1]
        assert all(topic.label == label_of(topic.phrases) != "" for topic in collection.topics())
        why = collection.why("d01")
        assert why.topics[0][0].id == collection.document("d01").topics[0].topic_id
        assert {vote.topic for vote in why.votes} & {why.topics[0][0].id}
        assert finder(collection) == "pntm"


@pytest.mark.slow
def test_the_same_texts_have_the_same_topics(tmp_path, source):
    found = []
    for home in ("one", "two"):
        with opened(tmp_path / home) as collection:
            collection.index([source], topics="pntm:3")
            found.append(state(collection))
    assert found[0] == found[1]


@pytest.mark.slow
def test_another_finder_keeps_ids_and_names(tmp_path, source):
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        law = collection.document("d01").topics[0].topic_id
        collection.rename_topic(law, "All about taxes")
        ids = {topic.id for topic in collection.topics()}
        assert collection.index([source], topics="pntm:3").new_fit
        assert {topic.id for topic in collection.topics()} == ids
        assert collection.document("d04").topics[0].topic_id == law
        assert next(t for t in collection.topics() if t.id == law).label == "All about taxes"
        assert collection.index([source], topics="clusters:3").new_fit
        assert (finder(collection), {topic.id for topic in collection.topics()}) == ("clusters", ids)


@pytest.mark.slow
def test_the_finder_stays_until_another_is_asked_for(tmp_path, source):
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics="pntm:3")
        assert collection.index([source], topics="pntm").nothing_changed
        assert collection.index([source], topics=3).nothing_changed
        assert collection.index([source], refit=True).new_fit
        assert finder(collection) == "pntm"


@pytest.mark.slow
def test_new_documents_join_the_topics_of_pntm(tmp_path, source):
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics="pntm:3")
        sea = collection.document("d02").topics[0].topic_id
        more = write(tmp_path / "b.jsonl", [{**made()[2], "id": "new"}])
        assert not collection.index([more]).new_fit
        assert collection.document("new").topics[0].topic_id == sea
