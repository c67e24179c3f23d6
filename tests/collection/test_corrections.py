"""Documents that a user gives to topics, or takes away."""

from __future__ import annotations

import pytest
from small_reports import SUBJECTS, made, opened, write

from indexer.catalog.vocabulary import Term
from indexer.errors import NotFound, QueryError


@pytest.fixture
def reports(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], topics=3)
        yield collection


def topic_ids(collection, document):
    return [weight.topic_id for weight in collection.document(document).topics]


def by_subject(collection):
    """The first topic of each subject's first document: d00 is about space, d01 about law, d02 about the sea."""
    return {kind: topic_ids(collection, f"d{at:02}")[0] for at, kind in enumerate(SUBJECTS)}


def test_a_document_has_the_topics_that_it_was_given_and_no_others_through_refits(reports):
    subject = by_subject(reports)
    reports.correct_topic(subject["law"], ["d00", "d03"])
    assert topic_ids(reports, "d00") == topic_ids(reports, "d03") == [subject["law"]]
    assert topic_ids(reports, "d06") == [subject["space"]]  # about space too, and nobody said anything of it
    reports.correct_topic(subject["sea"], ["d00"])
    both = sorted([subject["law"], subject["sea"]])
    assert [(w.topic_id, w.weight) for w in reports.document("d00").topics] == [(id_, 0.5) for id_ in both]
    reports.index([], refit=True)
    assert topic_ids(reports, "d00") == both
    assert topic_ids(reports, "d03") == [subject["law"]]
    assert [(topic.id, belongs) for topic, belongs in reports.why("d03").said] == [(subject["law"], True)]


def test_a_topic_that_was_taken_away_does_not_come_back_until_that_is_undone(reports):
    subject = by_subject(reports)
    reports.correct_topic(subject["space"], ["d00"], belongs=False)
    assert subject["space"] not in topic_ids(reports, "d00")
    reports.index([], refit=True)
    assert subject["space"] not in topic_ids(reports, "d00")
    assert topic_ids(reports, "d03") == [subject["space"]]
    reports.correct_topic(subject["space"], ["d00"], belongs=None)
    assert topic_ids(reports, "d00") == [subject["space"]]
    assert reports.corrections() == []


def test_a_changed_document_is_assigned_as_the_user_said_when_it_is_written(reports, tmp_path):
    subject = by_subject(reports)
    reports.correct_topic(subject["sea"], ["d01"])
    changed = {"id": "d01", "title": "Again", "text": SUBJECTS["law"] * 2, "kind": "law"}
    reports.index([write(tmp_path / "b.jsonl", [changed])])
    assert topic_ids(reports, "d01") == [subject["sea"]]


def test_a_correction_follows_its_topic_into_a_merge_and_a_term(reports):
    subject = by_subject(reports)
    reports.correct_topic(subject["law"], ["d00"])
    reports.merge_topics(subject["sea"], [subject["law"]])
    assert topic_ids(reports, "d00") == [subject["sea"]]
    reports.index([], refit=True)
    assert topic_ids(reports, "d00") == [subject["sea"]]
    reports.add_terms(
        [Term("sea", "Ocean", ("deep sea fish", "hydrothermal vents", "ocean floor"))], strict=True
    )
    (ocean,) = [topic.id for topic in reports.topics() if topic.term]
    assert topic_ids(reports, "d00") == [ocean]


def test_what_was_said_of_a_merged_topic_is_listed_and_undone_under_the_one_that_it_is_now(reports):
    subject = by_subject(reports)
    reports.correct_topic(subject["law"], ["d00"])
    reports.merge_topics(subject["sea"], [subject["law"]])
    assert [(one.topic, one.belongs) for one in reports.corrections()] == [(subject["sea"], True)]
    reports.correct_topic(subject["sea"], ["d00"], belongs=None)
    assert reports.corrections() == []
    with pytest.raises(NotFound, match="Nothing was said of these documents"):
        reports.correct_topic(subject["sea"], ["d00"], belongs=None)


def test_a_term_learns_from_documents_what_its_name_does_not_say(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))])
        terms = [Term("a", "First shelf"), Term("b", "Second shelf"), Term("c", "Third shelf")]
        collection.add_terms(terms, strict=True)
        ids = {term.key: term.topic for term in collection.vocabulary()}
        for at, key in enumerate(
            ids
        ):  # d00, d03 … are about space, d01, d04 … about law, d02, d05 … about the sea
            collection.correct_topic(ids[key], [f"d{number:02}" for number in range(at, 24, 3)])
        found = [topic_ids(collection, f"d{number:02}")[:1] for number in range(24, 60)]
        right = [ids[key] for key in "abc"] * 12
        assert {(*some, id_) for some, id_ in zip(found, right, strict=True) if some} == {
            (id_, id_) for id_ in right
        }
        assert sum(map(bool, found)) >= 33


def test_the_number_of_topics_that_a_user_requested_stays(reports):
    reports.index([], topics=2, refit=True)
    given = reports.topics()[1].id
    reports.correct_topic(given, ["d00"])
    assert len(reports.topics()) == 2
    assert topic_ids(reports, "d00") == [given]


def test_what_is_not_there_cannot_be_corrected(reports):
    subject = by_subject(reports)
    with pytest.raises(NotFound, match="no document 'nothing'"):
        reports.correct_topic(subject["sea"], ["d00", "nothing"])
    with pytest.raises(NotFound, match="no topic 'Gardens'"):
        reports.correct_topic("Gardens", ["d00"])
    assert reports.corrections() == []


def test_documents_belong_to_subtopics_not_to_parents(reports):
    reports.index([], topics=3, levels="2,3", refit=True)
    parent = next(topic for topic in reports.topic_tree().parents)
    with pytest.raises(QueryError, match="has subtopics"):
        reports.correct_topic(parent.id, ["d00"])


def test_why_has_no_runner_up_that_a_user_excluded_or_did_not_choose(reports):
    first, second, _ = (topic.id for topic in reports.topics())
    document = next(s.document.id for s in reports.documents() if s.topics[0].topic_id == first)
    reports.correct_topic(first, [document], belongs=False)
    assert reports.why(document).runner_up is None or reports.why(document).runner_up[0].id != first
    reports.correct_topic(second, [document])
    assert reports.why(document).runner_up is None
