"""Topics of a collection: who joins them, when they are found anew, names and what they become."""

from __future__ import annotations

import pytest
from hash_encoder import HashEncoder
from small_reports import OTHERS, SUBJECTS, made, opened, write

from indexer.catalog.entries import LineageEntry, TopicEntry
from indexer.engines.base import Filter
from indexer.engines.local import LocalEngine
from indexer.errors import CatalogError, NotFound, QueryError
from indexer.export.formatting import describe_event


def test_new_documents_join_the_topics_there_are(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        before = {t.id: t.size for t in collection.topics()}
        record = {"id": "x", "text": SUBJECTS["law"]}
        collection.index([write(tmp_path / "b.jsonl", [record])])
        after = {t.id: t.size for t in collection.topics()}
        (topic,) = collection.document("x").topics
        assert after == before | {topic.topic_id: before[topic.topic_id] + 1}
        assert "law" in {s.document.meta.get("kind") for s in collection.topic(topic.topic_id).documents}


def with_other_texts(records):
    """As when another field is read than before."""
    return [record | {"title": "", "text": OTHERS[i % 3]} for i, record in enumerate(records)]


@pytest.mark.slow
def test_topics_are_found_anew_when_nearly_all_texts_are_others(tmp_path):
    source = write(tmp_path / "a.jsonl", made(60))
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        before = {topic.id for topic in collection.topics()}
        report = collection.index([write(source, with_other_texts(made(60)))])
        assert (report.changed, report.new_fit, report.without_topic) == (60, True, 0)
        assert report.notes == ["Nearly all texts were replaced, so topics are fitted again."]
        sizes = {topic.id: topic.size for topic in collection.topics()}
        assert sorted(sizes.values()) == [20, 20, 20]  # as many as were asked for, of 20 documents each
        assert not before & set(sizes)


def test_a_run_says_when_the_collection_has_doubled_since_its_topics_were_found(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(9))], topics=3)
        more = made(60)[9:]
        assert collection.index([write(tmp_path / "b.jsonl", more[:8])]).notes == []
        (note,) = collection.index([write(tmp_path / "c.jsonl", more[8:10])]).notes
        assert note.startswith("Topics were found in 9 documents, and there are 19 now.")
        assert collection.index([], refit=True).notes == []
        assert collection.index([write(tmp_path / "d.jsonl", more[10:20])]).notes == []


def test_topics_are_found_again_by_themselves_where_the_setting_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("INDEXER_BIRTHS", "make")
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(9))], topics=3)
        before = {topic.id for topic in collection.topics()}
        report = collection.index([write(tmp_path / "b.jsonl", made(60)[9:])])
        assert report.notes == [
            "Topics were found in 9 documents, and there are 60 now. They were found again, with ids kept."
        ]
        assert (report.new_fit, {topic.id for topic in collection.topics()}) == (True, before)
        assert collection.index([], refit=True).notes == []


def broken_off(*_):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_topics_are_found_anew_also_when_the_run_was_killed_after_reading(tmp_path, monkeypatch):
    source = write(tmp_path / "a.jsonl", made(60))
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        write(source, with_other_texts(made(60)))
        with monkeypatch.context() as patch:
            patch.setattr(LocalEngine, "write_mined", broken_off)
            with pytest.raises(KeyboardInterrupt):
                collection.index([source])
        report = collection.index([source])
        assert (report.unchanged, report.new_fit) == (60, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record | {"year": 1900},
        lambda record: record | {"text": f"{record['text']} Corrected."},
        lambda record: with_other_texts([record])[0] if record["id"] < "d53" else record,  # 53 of 60: 88 %
    ],
)
def test_topics_stay_when_other_fields_or_a_few_words_or_not_all_texts_change(tmp_path, edit):
    source = write(tmp_path / "a.jsonl", made(60))
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        report = collection.index([write(source, map(edit, made(60)))])
        assert report.changed >= 53
        assert not report.new_fit


@pytest.mark.slow
def test_a_run_counts_the_documents_that_no_topic_reaches(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], topics=3)
        strangers = [{"id": f"x{i}", "text": OTHERS[i % 3]} for i in range(6)]
        report = collection.index([write(tmp_path / "b.jsonl", strangers)])
        without = [id_ for id_ in (f"x{i}" for i in range(6)) if not collection.document(id_).topics]
        assert report.without_topic == len(without) > 0


def test_why_names_the_phrases_that_voted(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        why = collection.why("d01")
        assert why.topics[0][0].id == collection.document("d01").topics[0].topic_id
        assert sum(v.weight for v in why.votes) == pytest.approx(1.0, abs=1e-4)
        assert all(v.topic is None or v.similarity >= why.threshold for v in why.votes)
        (own,) = [v for v in why.votes if v.phrase == "(the whole text)"]
        assert own.weight == pytest.approx(0.5)  # as much as all phrases together
        assert own.topic == why.topics[0][0].id
        assert why.bundle == HashEncoder.bundle
        with pytest.raises(NotFound, match="no document 'nobody'"):
            collection.why("nobody")


def test_a_name_given_by_hand_survives_later_runs_and_refits(tmp_path):
    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        law = collection.document("d01").topics[0].topic_id
        collection.rename_topic(law, "All about taxes")
        ids = {t.id for t in collection.topics()}
        report = collection.index([source], refit=True, topics=3)
        assert report.new_fit
        assert {t.id for t in collection.topics()} == ids
        assert next(t for t in collection.topics() if t.id == law).label == "All about taxes"
        with pytest.raises(QueryError, match="Another topic"):
            collection.rename_topic(next(iter(ids - {law})), "all about TAXES")
        with (
            collection.catalog.lock("main", "indexer index"),
            pytest.raises(CatalogError, match="is being written by indexer index"),
        ):
            collection.rename_topic(law, "Put over topics that are being fitted")


def test_a_name_given_by_hand_is_taken_back(tmp_path):
    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        mined = collection.topics()
        collection.rename_topic(mined[0].id, "By hand")
        assert collection.unname_topic(mined[0].id).label == mined[0].label
        assert [(t.label, t.label_locked) for t in collection.topics()] == [(t.label, False) for t in mined]
        collection.rename_topic(mined[0].id, "By hand")
        collection.rename_topic(mined[1].id, mined[0].label)
        with pytest.raises(QueryError, match="Another topic") as raised:
            collection.unname_topic(mined[0].id)
        assert raised.value.facts["other"] == mined[1].id


@pytest.mark.parametrize("label", ["7", " 0012 ", "t-000005", "t-9"])
def test_a_topic_cannot_be_named_like_a_number_or_an_id(tmp_path, label):
    """Regression: such a name was given, and always led to another topic."""
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        before = collection.topics()
        with pytest.raises(QueryError, match=f"'{label.strip()}' is how topics are numbered"):
            collection.rename_topic(before[0].id, label)
        assert collection.topics() == before
        assert collection.rename_topic(before[0].id, "Agenda 21").label == "Agenda 21"


def test_history_is_told_in_words(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        whole, part, other = collection.topics()
        collection.rename_topic(whole.id, "By hand")
        collection.unname_topic(whole.id)
        collection.merge_topics(whole.id, [part.id])

        def history(topic):
            return [what for _, what in describe_event(collection.topic_history(topic.id))]

        first = "found for the first time"
        assert history(whole) == [
            first, "named 'By hand'", "name taken back", f"{part.label} ({part.id}) merged into it by a user",
        ]  # fmt: skip
        assert history(part) == [first, f"merged into {whole.id} '{whole.label}' by a user"]
        assert history(other) == [first]
        collection.rename_topic(whole.id, "Another")
        assert history(whole)[-1] == "named 'Another'"


def test_a_topic_that_nothing_continues_is_said_to_have_retired(tmp_path):
    with opened(tmp_path) as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        collection.catalog.save_topics("main", [TopicEntry(99, "Wind", state="retired")])
        with pytest.raises(
            NotFound, match="Topic t-000099 'Wind' has retired, and no topic continues it"
        ) as caught:
            collection.topic("99")
        assert caught.value.command == "Its history: indexer topics history t-000099"


@pytest.mark.slow
def test_a_retired_topic_stands_for_all_that_it_has_become(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made())], topics=3)
        wind, law = (collection.document(d).topics[0].topic_id for d in ("d00", "d01"))
        catalog, old = collection.catalog, TopicEntry(99, "Wind and law", state="retired")
        catalog.save_topics("main", [old])
        split = [
            LineageEntry("R9", old.id, wind, "split", 0.6),
            LineageEntry("R9", old.id, law, "split", 0.5),
        ]
        catalog.install_fit(
            "main", catalog.live_fit("main").run, topics=catalog.topics("main"), lineage=split
        )

        def found(*conditions):
            hits = collection.search("", mode="words", filters=conditions, limit=50).hits
            return {hit.stored.document.id for hit in hits}

        every = {document["id"] for document in made()}
        both = found(Filter("topic", "=", wind), Filter("topic", "=", law))
        assert set() < both < every
        assert found(Filter("topic", "=", old.id)) == found(Filter("topic", "=", ["99"])) == both
        assert found(Filter("topic", "!=", old.id)) == every - both
        details = collection.topic(old.id)
        assert (details.topic.id, [topic.id for topic in details.others]) == (wind, [law])
        assert collection.topic(law).others == ()


@pytest.mark.slow
def test_topics_that_a_user_merged_stay_together_when_topics_are_fitted_again(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], topics=3)
        law, sea, other = (
            collection.document(id_).topics[0].topic_id for id_ in ("d00", "d01", "d02")
        )  # one of each subject
        collection.merge_topics(law, [sea])
        collection.rename_topic(law, "Law of the sea")
        for _ in range(2):
            collection.index([], refit=True, topics=3)
            sizes = {topic.id: (topic.label, topic.size) for topic in collection.topics()}
            assert sizes.keys() == {law, other}
            assert sizes[law] == ("Law of the sea", 40)


def test_merged_topics_keep_one_id_and_links_to_the_others_lead_to_it(tmp_path):
    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
        law, sea = (collection.document(d).topics[0].topic_id for d in ("d01", "d02"))
        topic, changed = collection.merge_topics(law, [sea])
        assert (topic.id, topic.size, changed) == (law, 20, 10)
        assert collection.topic_id(sea) == law
        assert len(collection.topics()) == 2
        collection.index([write(tmp_path / "b.jsonl", [{"id": "x", "text": SUBJECTS["sea"]}])])
        assert collection.document("x").topics[0].topic_id == law


@pytest.mark.slow
def test_a_title_that_many_documents_share_does_not_name_their_topic(tmp_path):
    records = made()
    for record in records:
        if record["kind"] == "space":
            record["title"] = "Amusing newsgroup thread"
            record["text"] = (
                f"The solar wind of day {record['year']} was measured, and so was the solar corona."
            )
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "docs.jsonl", records)], topics=3)
        labels = [topic.label for topic in collection.topics()]
        assert "Amusing newsgroup thread" not in labels
        assert any("olar" in label for label in labels), labels


def grouped(collection):
    """Parent ► the ids of its subtopics."""
    tree = collection.topic_tree()
    return {t.id: {b.id for b in tree.subtopics(t.id)} for t in tree.topics if tree.subtopics(t.id)}


def test_topics_are_grouped_as_requested_and_parents_keep_their_ids(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], levels="2,4")
        before = grouped(collection)
        assert sum(map(len, before.values())) in (3, 4)  # in two groups, of which one may be a topic
        assert len(collection.topics()) == 4
        collection.index([write(tmp_path / "b.jsonl", made(66)[60:])])
        assert grouped(collection) == before
        collection.index([], refit=True)  # as many levels as there are, without another request
        assert grouped(collection).keys() == before.keys()
        collection.index([], levels=1, refit=True)
        assert grouped(collection) == {}
        parent = next(iter(before))
        assert collection.topic_history(parent).entry.state == "retired"


def test_a_parent_is_searched_counted_and_named_like_a_topic(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], levels="2,4")
        tree = collection.topic_tree()
        parent = next(topic for topic in tree.roots if tree.subtopics(topic.id))
        below = [topic.id for topic in tree.subtopics(parent.id)]

        def ids(*filters):
            found = collection.search("", filters=filters, limit=100)
            return {hit.stored.document.id for hit in found.hits}

        assert ids(Filter("topic", "=", parent.id)) == ids(Filter("topic", "=", below))
        assert len(ids(Filter("topic", "=", parent.label))) == parent.size
        assert not ids(Filter("topic", "!=", parent.id)) & ids(Filter("topic", "=", parent.id))
        path = f"{parent.label}/{tree.by_id[below[0]].label}"
        assert ids(Filter("topic_path", "=", path)) == ids(Filter("topic", "=", below[0]))
        assert ids(Filter("topic_path", "=", f"{parent.id}/{below[0]}")) == ids(
            Filter("topic", "=", below[0])
        )

        (facet,) = collection.search("", facets=("topic_path",)).facets
        counts = {value: (label, number) for value, label, number in facet.values}
        assert counts[parent.id] == (parent.label, parent.size)
        assert counts[f"{parent.id}/{below[0]}"] == (path, tree.by_id[below[0]].size)
        narrowed = [Filter("topic", "=", below[0])]
        (facet,) = collection.open_facets("", filters=narrowed, fields=("topic_path",))
        assert {value: (label, number) for value, label, number in facet.values} == counts

        details = collection.topic(parent.id)
        assert [topic.id for topic in details.subtopics] == below
        assert len(details.documents) == 5
        assert {w.topic_id for stored in details.documents for w in stored.topics} & set(below)
        collection.rename_topic(parent.id, "Everything")
        assert collection.topic_tree().path(below[0])[0].label == "Everything"
        collection.index([], refit=True)
        assert collection.topic_tree().by_id[parent.id].label == "Everything"


def test_a_parent_whose_topics_were_merged_leads_to_the_merged_one(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], levels="2,4")
        for parent, below in grouped(collection).items():
            into, *others = sorted(below)
            collection.merge_topics(into, others)
            assert collection.topic_id(parent) == into
        assert grouped(collection) == {}


@pytest.fixture
def nested(tmp_path):
    """Five topics: two that share the space, three that share the sea."""
    pairs = [("space", 0), ("space", 1), ("sea", 0), ("sea", 1), ("sea", 2)]
    records = [
        {"id": f"n{i:02}", "text": " ".join([SUBJECTS[pairs[i % 5][0]]] * 2 + [OTHERS[pairs[i % 5][1]]])}
        for i in range(100)
    ]
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", records)], levels="2,5")
        yield collection


def test_a_topic_is_moved_and_stays_there_when_topics_are_fitted_again(nested):
    groups = grouped(nested)
    source = max(groups, key=lambda id_: (len(groups[id_]), id_))
    moved = min(groups[source])
    before = nested.topic_tree().by_id[source].label
    nested.move_topic(moved)
    assert nested.topic_tree().by_id[moved].parent is None
    assert nested.topic_history(moved).entry.state == "live"
    left = groups[source] - {moved}
    if len(left) < 2:  # the parent is no more, and leads to the one that is left
        assert nested.topic_id(source) in left
    else:
        assert nested.topic_tree().by_id[source].label != before  # it is named after what it has
        nested.index([], refit=True)
        assert nested.topic_tree().by_id[moved].parent is None
        nested.move_topic(moved, source)
        assert grouped(nested) == groups
    assert "moved in the tree by a user" in [text for _, text in describe_event(nested.topic_history(moved))]


def test_merged_parents_share_their_subtopics_and_lead_to_one(nested):
    groups = grouped(nested)
    assert sorted(map(len, groups.values())) == [2, 3]
    before = nested.topic_tree()
    into, other = sorted(groups)[:2]
    topic, changed = nested.merge_topics(into, [other])
    assert {t.id for t in nested.topic_tree().subtopics(into)} == groups[into] | groups[other]
    assert nested.topic_id(other) == into
    assert topic.size == len(nested.search("", filters=[Filter("topic", "=", into)], limit=100).hits)
    assert changed == before.by_id[other].size
    nested.index([], refit=True)
    kept = grouped(nested).get(into, set())
    assert (groups[into] | groups[other]) & {t.id for t in nested.topics()} <= kept


def test_what_cannot_be_moved_or_merged_is_refused(nested):
    tree = nested.topic_tree()
    parent = next(topic for topic in tree.roots if tree.subtopics(topic.id))
    child = tree.subtopics(parent.id)[0]
    with pytest.raises(QueryError, match="has no subtopics"):
        nested.move_topic(parent.id, child.id)
    with pytest.raises(QueryError, match="below itself"):
        nested.move_topic(parent.id, parent.id)
    with pytest.raises(QueryError, match="with subtopics and one without"):
        nested.merge_topics(parent.id, [child.id])
    assert nested.move_topic(child.id, parent.id).parent == parent.id  # it is there
    assert grouped(nested) == {
        t.id: {b.id for b in tree.subtopics(t.id)} for t in tree.topics if tree.subtopics(t.id)
    }
