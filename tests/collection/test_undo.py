"""What users did to the topics, taken back."""

from __future__ import annotations

import pytest
from small_reports import made, opened, write

from indexer.catalog.topics import UNDOABLE
from indexer.errors import NotFound, QueryError
from indexer.export.formatting import describe_event


@pytest.fixture
def reports(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(54))], topics=3)
        yield collection


def state(collection):
    """Every topic with its name, phrases, size and parent, and the topics of every document."""
    topics = {t.id: (t.label, t.phrases, t.size, t.parent) for t in collection.topic_tree().topics}
    return topics, {stored.document.id: stored.topics for stored in collection.documents()}


def test_an_undone_merge_leaves_everything_as_it_was(reports):
    one, other, third = (topic.id for topic in reports.topics())
    reports.rename_topic(other, "By hand")
    before = state(reports)
    reports.merge_topics(one, [other, third])
    assert len(reports.topics()) == 1
    act, topics = reports.undo_topics()
    assert (act.kind, act.topics) == ("merge", (one, other, third))
    assert {topic.id for topic in topics} == {one, other, third}
    assert state(reports) == before
    assert reports.topic_id(other) == other
    assert [what for _, what in describe_event(reports.topic_history(other))][-1] == "came back"
    reports.index([], refit=True)
    assert state(reports)[0].keys() == before[0].keys()


def test_an_undone_split_leaves_everything_as_it_was(reports):
    before = state(reports)
    whole = reports.topics()[0].id
    parts = [topic.id for topic in reports.split_topic(whole, 3)]
    reports.undo_topics()
    assert state(reports) == before
    assert reports.topic_id(parts[1]) == whole
    assert "merged into" in [what for _, what in describe_event(reports.topic_history(parts[1]))][-1]


def test_a_retired_topic_is_gone_and_comes_back(reports):
    before = state(reports)
    gone, *others = (topic.id for topic in reports.topics())
    assert reports.retire_topics([gone]) == reports.catalog.topic(reports.name, gone).size
    assert [topic.id for topic in reports.topics()] == others
    assert {w.topic_id for stored in reports.documents() for w in stored.topics} == set(others)
    with pytest.raises(NotFound, match="has retired, and no topic continues it"):
        reports.topic_id(gone)
    reports.index([], refit=True, topics=2)
    assert [topic.id for topic in reports.topics()] == others
    assert reports.last_act() is None
    reports.index([], refit=True, topics=3)
    reports.retire_topics([reports.topics()[0].id])
    reports.undo_topics()
    assert len(reports.topics()) == len(before[0])


def test_the_last_topic_is_not_retired(reports):
    with pytest.raises(QueryError, match="No topic would be left"):
        reports.retire_topics([topic.id for topic in reports.topics()])


def test_acts_are_undone_one_after_the_other_the_last_one_first(reports):
    reports.index([], topics=3, levels="2,3", refit=True)
    states = [state(reports)]
    (parent,) = reports.topic_tree().parents
    alone = next(topic for topic in reports.topics() if topic.parent is None)
    reports.move_topic(alone.id, parent.id)
    states.append(state(reports))
    reports.split_topic(alone.id)
    states.append(state(reports))
    reports.merge_topics(alone.id, [reports.topics()[-1].id])
    for before in reversed(states):
        reports.undo_topics()
        assert state(reports) == before
    runs = len(reports.catalog.runs(reports.name))
    with pytest.raises(NotFound, match="nothing to undo"):
        reports.undo_topics()
    assert len(reports.catalog.runs(reports.name)) == runs


def test_a_part_leads_to_the_whole_also_when_more_is_undone_before(reports):
    whole = reports.topics()[0].id
    parts = [topic.id for topic in reports.split_topic(whole)]
    reports.merge_topics(parts[0], [reports.topics()[-1].id])
    reports.undo_topics()
    reports.undo_topics()
    assert reports.topic_id(parts[1]) == whole


def test_a_refused_act_is_a_failed_run_with_its_reason(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(12))], topics=3)
        with pytest.raises(QueryError, match="do not fall into 10 parts"):
            collection.split_topic(collection.topics()[0].id, 10)
        run = collection.catalog.runs(collection.name)[0]
        assert (run.kind, run.state) == ("split", "failed")
        assert "do not fall" in run.error


def test_documents_that_came_after_a_merge_get_the_topics_that_are_back(reports, tmp_path):
    one, other, _ = (topic.id for topic in reports.topics())
    size = {topic.id: topic.size for topic in reports.topics()}
    reports.merge_topics(one, [other])
    reports.index([write(tmp_path / "b.jsonl", made(66)[54:])])
    reports.undo_topics()
    found = {topic.id: topic.size for topic in reports.topics()}
    assert [found[id_] for id_ in (one, other)] == [size[id_] + 4 for id_ in (one, other)]


def test_after_a_refit_there_is_nothing_to_undo(reports):
    one, other, _ = (topic.id for topic in reports.topics())
    reports.merge_topics(one, [other])
    assert reports.last_act().kind == "merge"
    reports.index([], refit=True)
    assert reports.last_act() is None
    with pytest.raises(NotFound, match="nothing to undo"):
        reports.undo_topics()


def test_the_last_ten_acts_are_kept(reports):
    for _ in range(UNDOABLE // 2 + 1):
        one, other, _ = (topic.id for topic in reports.topics())
        reports.merge_topics(one, [other])
        reports.split_topic(one)
    assert len(reports.catalog.fits(reports.name)) == UNDOABLE + 1
    for _ in range(UNDOABLE):
        reports.undo_topics()
    assert reports.last_act() is None
    assert len(reports.catalog.fits(reports.name)) == 1
