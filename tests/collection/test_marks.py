"""Topics that a user pins or hides."""

from __future__ import annotations

import pytest
from small_reports import made, opened, write

from indexer.engines.base import Filter
from indexer.errors import NotFound
from indexer.export.formatting import describe_event


@pytest.fixture
def reports(tmp_path):
    with opened(tmp_path / "home") as collection:
        collection.index([write(tmp_path / "a.jsonl", made(54))], topics=3)
        yield collection


def test_a_pinned_topic_comes_first_and_stays_so_in_a_refit(reports):
    first, second, third = (topic.id for topic in reports.topics())
    assert reports.mark_topic(third, "pinned").mark == "pinned"
    assert [topic.id for topic in reports.topics()] == [third, first, second]
    reports.index([], refit=True)
    assert reports.topics()[0].id == third
    reports.mark_topic(third, "")
    assert [topic.id for topic in reports.topics()] == [first, second, third]
    events = [what for _, what in describe_event(reports.topic_history(third))]
    assert [what for what in events if "pinned" in what] == [
        "pinned by a user",
        "neither pinned nor hidden any more",
    ]


def test_a_hidden_topic_is_in_no_list_but_documents_keep_it(reports):
    hidden, *others = (topic.id for topic in reports.topics())
    label, size = reports.topics()[0].label, reports.topics()[0].size
    reports.mark_topic(hidden, "hidden")
    found = reports.search("", facets=("topic", "topic_path", "kind"), facet_size=2)
    facets = {facet.field: [value for value, _, _ in facet.values] for facet in found.facets}
    assert facets["topic"] == facets["topic_path"] == others  # two, though the largest is left out
    assert len(facets["kind"]) == 2
    opened_ = reports.open_facets("", fields=("topic",), size=2)
    assert [value for value, _, _ in opened_[0].values] == others
    assert [spot.topic.id for spot in reports.topic_map().spots] == others
    assert label not in [one.text for one in reports.completions(label[:4]) if one.kind == "topic"]
    assert hidden not in [topic.id for topic, _ in reports.near_topics(others[0])]
    assert reports.search("", filters=[Filter("topic", "=", hidden)]).total == size
    reports.mark_topic(hidden, "")
    assert label in [one.text for one in reports.completions(label[:4]) if one.kind == "topic"]


def test_what_is_below_a_hidden_parent_is_hidden_and_a_parent_of_hidden_topics_too(reports):
    reports.index([], topics=3, levels="2,3", refit=True)
    tree = reports.topic_tree()
    (parent,) = tree.parents
    alone = next(topic.id for topic in tree.leaves if topic.parent is None)
    reports.mark_topic(parent.id, "hidden")
    assert [topic.id for topic in reports.topic_tree().shown().topics] == [alone]
    reports.mark_topic(parent.id, "")
    for topic in tree.subtopics(parent.id):
        reports.mark_topic(topic.id, "hidden")
    assert [topic.id for topic in reports.topic_tree().shown().topics] == [alone]
    assert len(reports.topic_tree().topics) == 4


def test_only_a_topic_is_marked(reports):
    with pytest.raises(NotFound, match="no topic 'nothing'"):
        reports.mark_topic("nothing", "hidden")
