"""Topics that come up between two fits."""

from __future__ import annotations

import pytest
from small_reports import made, opened, write

from indexer.errors import NotFound

BREAD = (
    "In bakery {} a sourdough starter needs rye flour, and the oven spring depends on the dough hydration."
)


def about_bread(number=18, first=0):
    return [
        {"id": f"bread{i:02}", "title": f"Bread {i}", "text": BREAD.format(i)}
        for i in range(first, first + number)
    ]


@pytest.fixture
def reports(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(60))], topics=3)
        yield collection


def test_a_new_subject_is_shown_and_made_a_topic_when_the_user_says_so(reports, tmp_path):
    before = {topic.id: (topic.label, topic.size) for topic in reports.topics()}
    assert reports.rising() == []
    report = reports.index([write(tmp_path / "b.jsonl", about_bread())])
    (bread,) = reports.rising()
    assert set(bread.documents) == {f"bread{i:02}" for i in range(18)}
    assert report.notes == [f"Rising: {bread.label}. See: indexer topics rising"]
    assert {topic.id for topic in reports.topics()} == before.keys()
    with pytest.raises(NotFound, match="no rising topic 2"):
        reports.add_rising([2])
    (topic,) = reports.add_rising([1])
    assert (topic.label, topic.size, topic.id in before) == (bread.label, 18, False)
    assert topic.label.casefold() in BREAD.casefold()
    assert {w.topic_id for i in range(18) for w in reports.document(f"bread{i:02}").topics} == {topic.id}
    assert {t.id: (t.label, t.size) for t in reports.topics() if t.id in before} == before
    assert reports.rising() == []
    assert reports.topic_history(topic.id).events[0].by == "birth"


def test_later_documents_get_the_new_topic_and_it_is_not_born_twice(reports, tmp_path):
    reports.index([write(tmp_path / "b.jsonl", about_bread())])
    (topic,) = reports.add_rising()
    reports.index([write(tmp_path / "c.jsonl", about_bread(18, first=20))])
    assert [weight.topic_id for weight in reports.document("bread33").topics] == [topic.id]
    assert reports.rising() == []
    reports.index([], refit=True)
    assert topic.id in {t.id for t in reports.topics()}
    assert reports.rising() == []


def test_copies_of_one_text_are_no_subject(reports, tmp_path, monkeypatch):
    copies = [{"id": f"copy{i:02}", "title": f"Copy {i}", "text": BREAD.format(1) * 3} for i in range(18)]
    monkeypatch.setenv("INDEXER_DUPLICATES", "on")
    with opened(tmp_path / "home") as collection:
        assert collection.index([write(tmp_path / "b.jsonl", copies)]).notes == []


def test_more_documents_on_what_there_is_are_not_rising(reports, tmp_path):
    more = [{**record, "id": f"more{record['id']}"} for record in made(45)]
    assert reports.index([write(tmp_path / "b.jsonl", more)]).notes == []


def test_a_run_makes_new_topics_where_the_setting_says_so(reports, tmp_path, monkeypatch):
    monkeypatch.setenv("INDEXER_BIRTHS", "make")
    before = {topic.id for topic in reports.topics()}
    with opened(tmp_path / "home") as collection:
        report = collection.index([write(tmp_path / "b.jsonl", about_bread())])
        (topic,) = [topic for topic in collection.topics() if topic.id not in before]
        assert (topic.size, report.notes) == (18, [f"New topics: {topic.label}"])
        assert collection.index([]).notes == []


def test_a_subject_is_rising_again_when_its_topic_is_undone_and_after_other_acts(reports, tmp_path):
    reports.index([write(tmp_path / "b.jsonl", about_bread())])
    (bread,) = reports.rising()
    one, other, _ = (topic.id for topic in reports.topics())
    reports.merge_topics(one, [other])
    assert reports.rising() == [bread]
    reports.add_rising([1])
    assert reports.rising() == []
    reports.undo_topics()
    assert reports.rising() == [bread]
    assert len(reports.add_rising([1])) == 1
