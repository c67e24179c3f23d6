"""Signs of drift, worked out by hand."""

from __future__ import annotations

import pytest

from indexer.topics.drift import MIN_DOCUMENTS, Seen, compare

SUN = Seen("t-000001", (("solar wind", "t-000001"), ("corona", "t-000001")))
CELL = Seen("t-000002", (("cell", "t-000002"), ("membrane", None)))
LAW = Seen(None, (("tax law", None), ("cell", "t-000002")))
OLD = [SUN, CELL] * MIN_DOCUMENTS


def test_documents_like_the_old_ones_show_no_drift() -> None:
    found = compare(OLD, OLD, OLD)
    assert found is not None
    assert {sign.more for sign in vars(found).values()} == {0.0}
    assert found.beyond_topics.new == found.beyond_topics.old == 0.25  # one in four phrases: membrane


def test_new_documents_drift_in_each_way() -> None:
    found = compare(OLD, OLD, [CELL, LAW] * MIN_DOCUMENTS)
    assert found is not None
    assert found.beyond_topics.new == 0.5  # membrane, tax law of cell, membrane, tax law, cell
    # Reference: half sun, half cell. New: half cell, half nothing. (|.5-0| + |.5-.5| + |0-.5|) / 2
    assert found.topic_shares.new == pytest.approx(0.5)
    assert found.new_vocabulary.new == 0.25  # tax law
    assert (found.beyond_topics.more, found.topic_shares.more, found.new_vocabulary.more) == (0.25, 0.5, 0.25)


def test_less_of_a_sign_than_before_is_no_drift() -> None:
    found = compare(OLD, OLD, [SUN, CELL, SUN] * MIN_DOCUMENTS)
    assert found is not None
    assert found.beyond_topics.new < found.beyond_topics.old
    assert found.beyond_topics.more == 0.0


def test_a_handful_of_documents_says_nothing() -> None:
    assert compare(OLD, OLD, OLD[: MIN_DOCUMENTS - 1]) is None


def test_documents_without_phrases_do_not_count_as_unknown() -> None:
    found = compare(OLD, OLD, [Seen(None, ())] * MIN_DOCUMENTS)
    assert found is not None
    assert (found.beyond_topics.new, found.new_vocabulary.new, found.topic_shares.new) == (0.0, 0.0, 1.0)
