"""Names in the map: beside their circles, over no other circle and no other name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from indexer.records import Topic
from indexer.topics.map import Spot, TopicMap, topic_map
from indexer.web.pages.map_layout import FONT, SMALL, labels


def spot(id_, x, y, radius=10.0, name="nine_signs"):
    return Spot(Topic(id_, name, (), 1, np.ones(2, np.float32)), x, y, radius, 1)


def placed(*spots):
    return labels(TopicMap(spots))


def random_map(number, memory):
    random = np.random.default_rng(number)
    sizes = sorted((10 + 100 * random.pareto(1.5, number)).astype(int).tolist(), reverse=True)
    topics = [
        Topic(f"t-{i:06d}", "n" * a + " " + "n" * b, (), size, random.normal(size=16))
        for i, (size, (a, b)) in enumerate(
            zip(sizes, random.integers(3, 13, (number, 2)).tolist(), strict=True)
        )
    ]
    return topic_map(topics, memory)


def box(label):
    """Left, top, right, bottom: a letter is about half as wide as it is high."""
    size = SMALL if label.small else FONT
    half = max(map(len, label.rows)) * 0.5 * size / 2
    return label.x - half, label.y[0] - 0.7 * size, label.x + half, label.y[-1] + 0.2 * size


def distance(box, x, y):
    return math.hypot(max(box[0] - x, 0, x - box[2]), max(box[1] - y, 0, y - box[3]))


def test_a_name_stands_below_its_circle_or_where_there_is_room():
    found = placed(spot("a", 200, 200), spot("b", 200, 232))
    assert found["a"].y[0] < 190  # b is below
    assert found["b"].y[0] > 242
    assert found["a"].x == found["b"].x == 200
    assert placed(spot("a", 15, 100))["a"].x > 15  # below, it would stand out of the picture


def test_a_long_name_has_two_rows_where_one_has_no_room():
    """Between two circles 100 apart: 21 letters are 156 wide, 11 of them 82."""
    left, right = spot("l", 330, 300, 100, "x"), spot("r", 630, 300, 100, "x")
    label = placed(left, right, spot("m", 480, 300, 10, "Financial time series"))["m"]
    assert label.rows == ("Financial", "time series")
    assert label.line is None
    assert label.y[1] - label.y[0] == pytest.approx(1.2 * FONT, abs=0.2)


def test_a_name_without_room_beside_its_circle_is_led_to_by_a_line():
    """Six circles close around a small one: they touch whatever is nearer to it than they reach."""
    around = [
        spot(f"o{i}", 500 + 54 * math.cos(i * math.pi / 3), 300 + 54 * math.sin(i * math.pi / 3), 22, "x")
        for i in range(6)
    ]
    label = placed(*around, spot("m", 500, 300, 10))["m"]
    assert label.line is not None
    assert not label.late
    begin, end = label.line[:2], label.line[2:]
    assert math.dist(begin, (500, 300)) == pytest.approx(10, abs=0.2)
    assert distance(box(label), *end) < 6
    for other in around:
        ways = [
            (begin[0] + t / 20 * (end[0] - begin[0]), begin[1] + t / 20 * (end[1] - begin[1]))
            for t in range(21)
        ]
        assert min(math.dist(way, (other.x, other.y)) for way in ways) > other.radius


def test_a_name_that_no_line_can_lead_to_is_shown_later():
    """A circle in a ring without a gap."""
    around = [
        spot(f"o{i}", 500 + 40 * math.cos(i * math.pi / 12), 300 + 40 * math.sin(i * math.pi / 12), 20, "x")
        for i in range(24)
    ]
    label = placed(*around, spot("m", 500, 300, 10))["m"]
    assert (label.late, label.line, label.x) == (True, None, 500)
    assert (label.number, label.circle[0]) == (1, 500)  # in the circle; the list below the map has the name


@pytest.mark.parametrize(("number", "left_out"), [(1, 0), (20, 0), (40, 2), (100, 10)])
def test_names_are_over_no_circle_and_no_name_and_few_are_left_out(tmp_path, number, left_out):
    found = random_map(number, tmp_path / "map.json")
    names = labels(found)
    assert set(names) == {spot.topic.id for spot in found.spots}
    shown = {id_: label for id_, label in names.items() if not label.late}
    assert number - len(shown) <= left_out
    for id_, label in shown.items():
        here = box(label)
        assert here[0] > 0 < here[1]
        assert here[2] < found.width
        assert here[3] < found.height
        for spot in found.spots:
            assert distance(here, spot.x, spot.y) > spot.radius, (label.rows, spot.topic.label)
        for other in (box(two) for id_2, two in shown.items() if id_2 != id_):
            assert here[0] >= other[2] or other[0] >= here[2] or here[1] >= other[3] or other[1] >= here[3]
