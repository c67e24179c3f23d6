"""Topics that a user splits."""

from __future__ import annotations

import pytest
from small_reports import SUBJECTS, made, opened, write

from indexer.engines.base import Filter
from indexer.errors import QueryError


@pytest.fixture
def reports(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(54))], topics=3)
        yield collection


def kinds(collection, topic):
    hits = collection.search("", filters=[Filter("topic", "=", topic)], limit=100).hits
    return {hit.stored.document.meta["kind"] for hit in hits}


def test_a_split_undoes_a_merge_and_refits_keep_the_parts(reports):
    one, other, third = (topic.id for topic in reports.topics())
    subjects = {id_: kinds(reports, id_) for id_ in (one, other, third)}
    reports.rename_topic(third, "Third")
    reports.merge_topics(one, [other])
    parts = reports.split_topic(one)
    assert [part.size for part in parts] == [18, 18]
    assert parts[0].id == one
    assert parts[1].id not in (one, other, third)
    assert parts[0].label != parts[1].label
    assert {frozenset(kinds(reports, part.id)) for part in parts} == {
        frozenset(subjects[one]), frozenset(subjects[other])
    }  # fmt: skip
    assert kinds(reports, third) == subjects[third]
    assert reports.topic_id("Third") == third
    ids = {topic.id for topic in reports.topics()}
    assert ids == {third, *(part.id for part in parts)}
    event = reports.topic_history(parts[1].id).events[0]
    assert (event.by, event.entry.kind, event.entry.old_id) == ("split", "split", one)
    reports.index([], refit=True)
    assert {topic.id for topic in reports.topics()} == ids
    assert {frozenset(kinds(reports, id_)) for id_ in ids} == {frozenset({kind}) for kind in SUBJECTS}


def test_a_refit_keeps_parts_that_it_would_not_have_found_unless_another_number_is_requested(reports):
    whole = reports.topics()[0]
    parts = reports.split_topic(whole.id, 4)
    ids = {topic.id for topic in reports.topics()}
    assert len(ids) == 6
    reports.index([], refit=True)
    assert {topic.id for topic in reports.topics()} == ids
    assert {part.id: part.size for part in parts}.items() <= {t.id: t.size for t in reports.topics()}.items()
    reports.index([], topics=3, refit=True)
    assert len(reports.topics()) == 3


def test_parts_have_the_parent_and_the_larger_one_the_name_of_the_whole(reports, tmp_path):
    reports.index([], topics=3, levels="2,3", refit=True)
    tree = reports.topic_tree()
    (parent,) = tree.parents
    whole = tree.subtopics(parent.id)[0]
    reports.rename_topic(whole.id, "By hand")
    parts = reports.split_topic("By hand", 3)
    assert len(parts) == 3
    assert sum(part.size for part in parts) == whole.size
    assert {part.parent for part in parts} == {parent.id}
    assert (parts[0].id, parts[0].label) == (whole.id, "By hand")


def test_what_cannot_be_split_is_refused_and_stays(reports):
    before = [(topic.id, topic.size) for topic in reports.topics()]
    with pytest.raises(QueryError, match="2 to 10 parts, not 30"):
        reports.split_topic(before[0][0], 30)
    reports.index([], topics=3, levels="2,3", refit=True)
    (parent,) = reports.topic_tree().parents
    with pytest.raises(QueryError, match="has subtopics already"):
        reports.split_topic(parent.id)


def test_a_merge_and_a_split_both_stay_in_refits_and_corrections(reports):
    one, other, third = (topic.id for topic in reports.topics())
    merged, _ = reports.merge_topics(one, [other])
    parts = [part.id for part in reports.split_topic(third)]

    def shape():
        return {topic.id: (topic.label, topic.size) for topic in reports.topics()}

    before = shape()
    assert before[one] == (merged.label, merged.size)
    for _ in range(2):
        reports.index([], refit=True)
        assert shape() == before
    document = next(s.document.id for s in reports.documents() if s.topics[0].topic_id == parts[0])
    reports.correct_topic(parts[0], [document])
    assert shape()[one] == before[one]
    assert shape().keys() == before.keys()


def test_a_merged_topic_keeps_its_name_in_a_refit(reports):
    one, other, _ = (topic.id for topic in reports.topics())
    label = reports.merge_topics(one, [other])[0].label
    reports.index([], refit=True)
    assert reports.topic_tree().by_id[one].label == label
