"""Where topics lie: near in meaning near each other, no circle over another, and the same from fit to fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from indexer.records import Topic
from indexer.topics.map import GAP, HIGH, NARROW, TALL, aligned, axes, topic_map


def made(points, sizes=None, first=1):
    """Topics with these centroids, scaled to unit length."""
    sizes = sizes or [10] * len(points)
    return [
        Topic(f"t-{first + i:06d}", f"topic {i}", (), size, np.array(p, np.float32) / np.linalg.norm(p))
        for i, (p, size) in enumerate(zip(points, sizes, strict=True))
    ]


def random(number, seed=0):
    return made(np.random.default_rng(seed).normal(size=(number, 8)), sizes=list(range(number, 0, -1)))


def places(found):
    return np.array([(spot.x, spot.y) for spot in found.spots])


def test_axes_by_hand():
    """Four points on a cross, wider along the second dimension: that is the first axis."""
    found = axes(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 3.0], [0.0, -3.0]]))
    assert np.abs(found).round(6).tolist() == [[0, 1], [0, 1], [3, 0], [3, 0]]
    assert found[2, 0] == pytest.approx(3)  # of two signs the one whose first farthest topic is positive


def test_a_picture_is_turned_and_mirrored_onto_the_one_before():
    before = {"a": [0.0, 0.0], "b": [2.0, 0.0], "c": [0.0, 1.0]}
    turned = np.array([[0.0, 0.0], [0.0, -2.0], [1.0, 0.0]])  # by a quarter
    assert aligned(["a", "b", "c"], turned, before).round(6).tolist() == [[0, 0], [2, 0], [0, 1]]
    mirrored = turned * [-1, 1]
    assert aligned(["a", "b", "c"], mirrored, before).round(6).tolist() == [[0, 0], [2, 0], [0, 1]]


def test_with_one_known_topic_nothing_can_be_turned():
    points = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert aligned(["a", "new"], points, {"a": [0.0, 0.0]}) is points


@pytest.mark.parametrize("number", [1, 2, 3, 25, 120])
def test_circles_are_inside_and_beside_each_other(tmp_path, number):
    picture = topic_map(random(number), tmp_path / "map.json")
    found = picture.spots
    for spot in found:
        assert spot.radius < spot.x < picture.width - spot.radius
        assert spot.radius < spot.y < picture.height - spot.radius
    for i, one in enumerate(found):
        for other in found[:i]:
            apart = np.hypot(one.x - other.x, one.y - other.y)
            assert apart > one.radius + other.radius - GAP


@pytest.mark.slow
def test_a_picture_of_many_topics_is_higher(tmp_path):
    """Four times as many as it has room for: twice as high."""
    assert topic_map(random(25), tmp_path / "few").height == HIGH
    assert topic_map(random(100), tmp_path / "many").height == 2 * HIGH


def test_a_phone_gets_the_same_picture_turned(tmp_path):
    """Whoever is to the left in the wide one is above in the tall one."""
    memory = tmp_path / "map.json"
    wide, tall = topic_map(random(12), memory), topic_map(random(12), memory, tall=True)
    assert (tall.width, tall.height) == (NARROW, TALL)
    first, last = places(wide)[:, 0].argmin(), places(wide)[:, 0].argmax()
    assert (places(tall)[:, 1].argmin(), places(tall)[:, 1].argmax()) == (first, last)
    for spot in tall.spots:
        assert spot.radius < spot.x < NARROW - spot.radius
        assert spot.radius < spot.y < TALL - spot.radius


def test_areas_are_as_the_documents(tmp_path):
    large, small, tiny = topic_map(made([[1, 0], [0, 1], [1, 1]], [400, 100, 1]), tmp_path / "m").spots
    assert large.radius == pytest.approx(2 * small.radius)
    assert tiny.radius >= 4


def test_topics_that_are_alike_have_one_group(tmp_path):
    points = [[1, 0.01 * i, 0] for i in range(4)] + [[0, 0.01 * i, 1] for i in range(4)]
    groups = [spot.group for spot in topic_map(made(points), tmp_path / "m").spots]
    assert groups == [1, 1, 1, 1, 2, 2, 2, 2]


def test_topics_stay_where_they_were_when_one_is_new(tmp_path):
    memory = tmp_path / "maps" / "main.json"
    topics = random(12)
    before = places(topic_map(topics, memory))
    turned = np.linalg.qr(np.random.default_rng(5).normal(size=(8, 8)))[0]  # another encoder's space
    again = [Topic(t.id, t.label, (), t.size, (t.centroid @ turned).astype(np.float32)) for t in topics]
    assert np.abs(places(topic_map(again, memory)) - before).max() < 1


def test_the_same_topics_give_the_same_picture_and_are_remembered_once(tmp_path):
    memory = tmp_path / "map.json"
    topics = random(9)
    first = topic_map(topics, memory)
    written = memory.stat().st_mtime_ns
    assert topic_map(topics, memory) == first
    assert memory.stat().st_mtime_ns == written
    assert set(json.loads(memory.read_text())["places"]) == {topic.id for topic in topics}


def test_a_damaged_memory_is_no_harm(tmp_path):
    memory = tmp_path / "map.json"
    memory.write_text("{")
    assert len(topic_map(random(3), memory).spots) == 3


def test_no_topics_are_an_empty_picture(tmp_path):
    assert topic_map([], tmp_path / "m").spots == ()
