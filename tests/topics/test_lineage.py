import numpy as np
import pytest

from indexer.topics.lineage import ContinuedTopics, TopicShape, shape_similarity, trace, trace_parents


def shape(i, *phrases):
    return TopicShape(np.eye(4, dtype=np.float32)[i], phrases)


OLD = [shape(0, "solar wind", "corona"), shape(1, "tax law", "income")]


def test_unchanged_topics_are_kept_whatever_their_order():
    heirs = trace(OLD, OLD[::-1])
    assert [(o, n) for o, n, _ in heirs.kept] == [(0, 1), (1, 0)]
    assert not heirs.born
    assert not heirs.retired
    assert all(score == pytest.approx(1.0) for *_, score in heirs.kept)


def test_a_topic_like_no_other_is_born_and_one_without_heir_retires():
    heirs = trace(OLD, [OLD[0], shape(2, "deep sea fish")])
    assert [(o, n) for o, n, _ in heirs.kept] == [(0, 0)]
    assert heirs.new == heirs.born == (1,)
    assert heirs.retired == (1,)


def test_a_topic_that_falls_in_two_is_kept_once_and_split_off_once():
    half = TopicShape(np.array([0.8, 0, 0.6, 0], np.float32), ("solar wind",))
    heirs = trace(OLD, [OLD[0], half, OLD[1]])
    assert [(o, n) for o, n, _ in heirs.split] == [(0, 1)]
    assert heirs.born == (1,)
    assert heirs.new == ()


def test_two_topics_that_become_one():
    half = TopicShape(np.array([0.8, 0, 0.6, 0], np.float32), ("solar wind",))
    heirs = trace([*OLD, half], OLD)
    assert [(o, n) for o, n, _ in heirs.merged] == [(2, 0)]
    assert heirs.retired == ()


def test_the_first_topics_are_all_born():
    assert trace([], OLD).born == (0, 1)
    assert trace(OLD, []).retired == (0, 1)


def test_word_order_and_plural_do_not_matter():
    assert shape_similarity([shape(0, "law of taxes")], [shape(0, "of tax law")])[0, 0] == pytest.approx(0.5)


def test_shapes_of_one_topic_are_one_topic_again():
    """Topic 0 has the shapes 0 and 1, topic 1 has shape 2, topic 2 has the shapes 3 and 4."""
    links = ContinuedTopics(
        kept=((0, 5, 0.7), (1, 6, 0.9), (2, 7, 0.8)), split=((0, 8, 0.4), (2, 9, 0.5)),
        merged=((3, 7, 0.6),), new=(4,), retired=(4,),
    )  # fmt: skip
    found, parts = links.of_owners([0, 0, 1, 2, 2], {0, 2})
    assert found.kept == ((0, 6, 0.9), (1, 7, 0.8))  # the nearest part continues the topic
    assert parts == {5: 0, 8: 0}
    assert found.split == ((1, 9, 0.5),)
    assert found.merged == ((2, 7, 0.6),)
    assert (found.new, found.retired, found.born) == ((4,), (), (4, 9))


def test_parents_are_matched_by_the_topics_below_them():
    """Twice the common ones of both: abc and abd 2 * 2 / 6 = .67, ef and efg .8, hi and h .67; xy is like nothing."""
    old = [set("abc"), set("ef"), set("hi"), set("xy")]
    found = trace_parents(old, [set("efg"), set("abd"), set("h"), set("pq")])
    assert [(o, n) for o, n, _ in found.kept] == [(0, 1), (1, 0), (2, 2)]
    assert [score for _, _, score in found.kept] == pytest.approx([2 / 3, 0.8, 2 / 3])
    assert (found.new, found.retired) == ((3,), (3,))
    assert trace_parents(old, []).retired == (0, 1, 2, 3)
    assert trace_parents([], [set("ab")]).new == (0,)
