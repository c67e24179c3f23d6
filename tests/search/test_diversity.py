"""Diversity of the first hits, worked out by hand."""

import numpy as np
import pytest

from indexer.records import Document, StoredDocument, TopicWeight
from indexer.search import diversity
from indexer.search.diversity import diverse_order

EAST, NORTH, BETWEEN = (np.array(of, np.float32) for of in ([1, 0], [0, 1], [0.6, 0.8]))


@pytest.fixture(autouse=True)
def share(monkeypatch):
    monkeypatch.setattr(diversity, "RELEVANCE_SHARE", 0.5)


def stored(vector, **topics):
    weights = tuple(TopicWeight(topic, weight) for topic, weight in topics.items())
    return StoredDocument(Document("d", "t", "x"), topics=weights, vector=vector)


def test_what_repeats_the_first_hit_comes_after_what_does_not():
    # Relevance 1, .8, .2, 0. Without topics a cosine counts half: behind the first hit the second has
    # .5 * .8 - .5 * .5 = .15, the third .5 * .2 = .1; so the second still comes first.
    documents = [stored(EAST), stored(EAST), stored(NORTH), stored(NORTH)]
    assert diverse_order([2.0, 1.8, 1.2, 1.0], documents) == [0, 1, 2, 3]
    # With the topic of the first it has .5 * .8 - .5 * 1 = -.1.
    documents = [stored(EAST, a=1.0), stored(EAST, a=1.0), stored(NORTH), stored(NORTH)]
    assert diverse_order([2.0, 1.8, 1.2, 1.0], documents) == [0, 2, 1, 3]


def test_each_hit_is_compared_with_the_nearest_of_those_before_it():
    # Relevance 1, .6, .5, 0. Behind the first: the second .3 - .5 * .3 = .15, the third .25 and it is next. Behind it
    # the second is at .3 - .5 * .4 = .1, and the last, similar to none, at 0.
    documents = [stored(EAST), stored(BETWEEN), stored(NORTH), None]
    assert diverse_order([10.0, 6.0, 5.0, 0.0], documents) == [0, 2, 1, 3]


def test_topics_are_shared_by_their_weights():
    # Relevance 1, .5, .45, 0. The second shares .5 * .6 = .3 with the first: .25 - .5 * .15 = .175; the third shares
    # nothing: .225.
    documents = [stored(None, a=0.5, b=0.5), stored(None, a=0.6, c=0.4), stored(None, c=1.0), stored(None)]
    assert diverse_order([1.0, 0.5, 0.45, 0.0], documents) == [0, 2, 1, 3]


def test_equal_scores_keep_their_order_where_nothing_is_similar():
    assert diverse_order([0.5, 0.5, 0.5], [stored(None)] * 3) == [0, 1, 2]
