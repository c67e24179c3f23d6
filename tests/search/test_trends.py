"""Which topics grow: what counts as new, shares worked out by hand, and where nothing is said."""

from __future__ import annotations

import pytest

from indexer.engines.base import Counted, Filter, Ranking, SearchAnswer
from indexer.search.trends import newest, topic_trends, trend


class Dated:
    """An engine that has counted these years: year ► (documents, topic ► documents)."""

    def __init__(self, **years):
        self.years = {name.removeprefix("y"): given for name, given in years.items()}
        self.asked = []

    def search(self, request):
        counts = tuple((year, documents) for year, (documents, _) in self.years.items())
        return SearchAnswer(Ranking((), (), 0), None, {name: counts for name in request.facets})

    def count_topics(self, parts):
        self.asked += parts
        return [Counted(*self.years.get(first.value, (0, {}))) for first, _ in parts]


@pytest.mark.parametrize(
    ("sizes", "first"),
    [
        ([10, 10, 10, 10, 10], 4),  # the last fifth of the time
        ([40, 40, 10, 5, 5], 2),  # 20 of 100
        ([50, 49, 0, 0, 1], 1),  # one stray date at the end is not all that is new
        ([10, 90], 1),
        ([0, 100], 1),
        ([100, 0], 0),  # nothing comes before
    ],
)
def test_the_newest_are_a_fifth_of_the_documents_in_whole_years(sizes, first):
    assert newest(sizes) == first


def test_shares_are_compared_and_not_numbers():
    """Before, 100 documents: 10 of them have it, .1. Lately 50: 20 have it, .4. That is 3 times more."""
    found = trend([4, 6, 20], [50, 50, 50], 2)
    assert (found.lately, found.before) == (0.4, 0.1)
    assert found.growth == pytest.approx(3.0)
    assert found.clear  # all: .2; spread sqrt(.2 * .8 * (1/50 + 1/100)) = .069; .3 apart
    assert found.documents == (4, 6, 20)
    same = trend([5, 5, 10], [50, 50, 100], 2)  # twice the documents, and the same share
    assert (same.growth, same.clear) == (0.0, False)


def test_nothing_is_said_of_too_few_documents():
    """Lately 50 of 150 documents: 15 with the topic lead one to expect 5 there, 14 do not."""
    assert trend([7, 0, 8], [50, 50, 50], 2).growth is not None
    few = trend([7, 0, 7], [50, 50, 50], 2)
    assert (few.growth, few.clear, few.order) == (None, False, 0.0)


def test_a_topic_that_was_not_there_before_is_new():
    found = trend([0, 0, 20], [50, 50, 50], 2)
    assert (found.growth, found.is_new, found.order) == (None, True, float("inf"))


def test_all_topics_are_counted_together():
    few, many = (100, {"t-000001": 10, "t-000002": 50}), (50, {"t-000001": 20, "t-000002": 25})
    engine = Dated(y2018=few, y2019=few, y2021=many)
    found = topic_trends(engine, "date")
    assert found.since == "2021"
    assert found.by_topic["t-000001"].growth == pytest.approx(3.0)
    assert found.by_topic["t-000001"].documents == (10, 10, 0, 20)
    assert found.by_topic["t-000002"].growth == pytest.approx(0.0)
    assert engine.asked[0] == (Filter("date", ">=", "2018"), Filter("date", "<", "2019"))


def test_one_year_tells_nothing():
    assert topic_trends(Dated(y2018=(10, {"t-000001": 10})), "date") is None
