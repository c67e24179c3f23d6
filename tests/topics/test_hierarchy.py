"""The tree of topics: what is above and below, the names of parents, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from indexer.records import Topic
from indexer.topics.hierarchy import TopicTree, parents_of, placed, renamed, tidy, with_parents


def topic(id_, label, size=1, axis=0, *, parent=None, locked=False, phrases=()):
    centroid = np.zeros(3, np.float32)
    centroid[axis] = 1
    return Topic(id_, label, phrases or (label.lower(),), size, centroid, locked, parent)


LEAVES = [
    topic("sound", "Sound", 5, phrases=("sound", "noise")),
    topic("light", "Light", 3, 1, phrases=("light", "laser")),
    topic("heat", "Heat", 4, 2),
    topic("tax", "Tax", 9),
]
PARENTS = {"sound": "waves", "light": "waves", "heat": "physics", "waves": "physics"}


def tree(kept=None, sizes=None):
    return TopicTree(with_parents(LEAVES, PARENTS, sizes or {"waves": 7, "physics": 11}, kept or {}))


def test_a_tree_is_walked_from_the_top_down():
    found = tree()
    assert [topic.id for topic in found.roots] == ["tax", "physics"]
    assert [(depth, topic.id) for depth, topic in found.walk()] == [
        (0, "tax"),
        (0, "physics"),
        (1, "heat"),
        (1, "waves"),
        (2, "sound"),
        (2, "light"),
    ]
    assert found.below("physics") == ["sound", "light", "heat"]
    assert found.below("tax") == ["tax"]
    assert [topic.id for topic in found.path("light")] == ["physics", "waves", "light"]
    assert {topic.id for topic in found.leaves} == {"sound", "light", "heat", "tax"}


def test_a_parent_is_named_after_its_largest_subtopics_unless_a_user_has_named_it():
    """Waves (7 documents) comes before Heat (4) in Physics, and stands for its largest, Sound."""
    labels = {topic.id: topic.label for topic in tree().topics}
    assert (labels["waves"], labels["physics"]) == ("Sound · Light", "Sound · Heat")
    labels = {topic.id: topic.label for topic in tree({"waves": ("Waves", True)}).topics}
    assert (labels["waves"], labels["physics"]) == ("Waves", "Waves · Heat")
    labels = {topic.id: topic.label for topic in tree({"physics": ("As before", False)}).topics}
    assert (labels["waves"], labels["physics"]) == ("Sound · Light", "As before")


def test_a_parent_has_the_phrases_and_the_direction_of_what_is_below_it():
    """Sound (5 documents, weight 6) along x, Light (3, weight 4) along y: (6, 4, 0) at unit length."""
    waves = tree().by_id["waves"]
    assert waves.phrases == ("sound", "light", "noise", "laser")
    np.testing.assert_allclose(waves.centroid, np.array([6, 4, 0]) / np.sqrt(52), atol=1e-6)
    assert (waves.size, waves.parent) == (7, "physics")


def test_a_new_name_goes_up_to_the_parents_that_no_user_has_named():
    found = {topic.id: topic for topic in renamed(tree(), "sound", "Acoustics")}
    assert (found["sound"].label, found["sound"].label_locked) == ("Acoustics", True)
    assert (found["waves"].label, found["physics"].label) == ("Acoustics · Light", "Acoustics · Heat")
    found = {topic.id: topic for topic in renamed(tree({"waves": ("Waves", True)}), "sound", "Acoustics")}
    assert (found["waves"].label, found["physics"].label) == ("Waves", "Waves · Heat")


@pytest.mark.parametrize("named", ["waves", "physics"])
def test_a_parent_is_named_and_gets_its_mined_name_back(named):
    before = {topic.id: topic for topic in tree().topics}
    found = TopicTree(renamed(tree(), named, "Mine"))
    assert (found.by_id[named].label, found.by_id[named].label_locked) == ("Mine", True)
    after = {topic.id: topic for topic in renamed(found, named, None)}
    assert {id_: (t.label, t.label_locked) for id_, t in after.items()} == {
        id_: (t.label, t.label_locked) for id_, t in before.items()
    }


GROUPS = {"physics": {"sound", "light", "heat"}, "waves": {"sound", "light"}, "money": {"tax", "wage"}}


def test_parents_are_the_smallest_groups_that_hold_something():
    assert parents_of(GROUPS) == PARENTS | {"tax": "money", "wage": "money"}
    assert parents_of({}) == {}


def test_a_group_with_one_topic_or_the_topics_of_another_is_no_parent():
    assert tidy({"a": {"x"}, "b": {"x", "y"}, "c": {"y", "x"}, "d": set()}) == {"b": {"x", "y"}}


@pytest.mark.parametrize(
    ("wanted", "physics", "waves", "money"),
    [
        (
            {"heat": "money"},
            None,
            {"sound", "light"},
            {"tax", "wage", "heat"},
        ),  # physics would be waves alone
        ({"tax": "waves"}, {"sound", "light", "heat", "tax"}, {"sound", "light", "tax"}, None),
        ({"tax": "physics"}, {"sound", "light", "heat", "tax"}, {"sound", "light"}, None),
        ({"sound": ""}, {"light", "heat"}, None, {"tax", "wage"}),
        ({"sound": "physics"}, {"sound", "light", "heat"}, None, {"tax", "wage"}),
        ({"waves": ""}, None, {"sound", "light"}, {"tax", "wage"}),
        ({"waves": "money"}, None, {"sound", "light"}, {"tax", "wage", "sound", "light"}),
        ({"gone": "money", "tax": "gone"}, {"sound", "light", "heat"}, {"sound", "light"}, {"tax", "wage"}),
        ({"love": "money"}, {"sound", "light", "heat"}, {"sound", "light"}, {"tax", "wage", "love"}),
        (
            {"physics": "waves"},
            {"sound", "light", "heat"},
            {"sound", "light"},
            {"tax", "wage"},
        ),  # below itself
    ],
)
def test_topics_are_put_where_a_user_wants_them(wanted, physics, waves, money):
    expected = {"physics": physics, "waves": waves, "money": money}
    assert placed(GROUPS, wanted, {"sound", "light", "heat", "tax", "wage", "love"}) == {
        id_: topics for id_, topics in expected.items() if topics
    }


def test_a_circle_of_parents_is_read_without_end():
    """Rows of an index may have been changed by others."""
    circle = TopicTree([replace(LEAVES[0], parent="light"), replace(LEAVES[1], parent="sound")])
    assert len(circle.path("sound")) == 2
    assert list(circle.walk()) == []
