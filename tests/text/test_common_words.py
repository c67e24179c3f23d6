from __future__ import annotations

import pytest

from indexer.text.common_words import common_share, words

HUNDRED = [str(number) for number in range(100)]


def changed(*places: int) -> list[str]:
    """The hundred words with others in these places."""
    return [f"other {at}" if at in places else word for at, word in enumerate(HUNDRED)]


def test_words_are_lower_case_and_without_punctuation() -> None:
    assert words("Heat-pumps, in WINTER: 2020!") == ["heat", "pumps", "in", "winter", "2020"]


def test_the_share_counts_common_words_in_their_order() -> None:
    assert common_share(HUNDRED, HUNDRED) == 1.0
    assert common_share(HUNDRED, changed(3, 50)) == pytest.approx(2 * 98 / 200)
    assert common_share(HUNDRED, HUNDRED[:90]) == pytest.approx(2 * 90 / 190)
    assert common_share(HUNDRED, HUNDRED[::-1]) == 0.0  # one in order


def test_scattered_changes_may_be_more_than_a_changed_passage() -> None:
    third = range(0, 100, 3)  # 34 of 100; at most 14 of 40 in a row, so 26 of 40 are common
    assert common_share(HUNDRED, changed(*third)) == pytest.approx(2 * 66 / 200)
    assert common_share(HUNDRED, changed(*range(24))) == 2 * 76 / 200  # the first 40 have 16 in common: .4
    assert common_share(HUNDRED, changed(*range(25))) == 0.0  # 15 of 40
    assert common_share(HUNDRED, changed(*range(0, 82, 2))) == 0.0  # 59 of 100: fewer than .6


def test_a_passage_that_is_added_counts_as_one_that_is_changed() -> None:
    longer = [*HUNDRED, *(f"other {number}" for number in range(40))]
    assert common_share(HUNDRED, longer) == 0.0  # 200 of 240, and the last 40 have none
    assert common_share(HUNDRED, longer[:130]) == pytest.approx(2 * 100 / 230)  # .87


def test_short_texts_must_have_nearly_all_words_in_common() -> None:
    short = HUNDRED[:20]
    assert common_share(short, changed(3, 7, 11)[:20]) == pytest.approx(2 * 17 / 40)  # .85
    assert common_share(short, changed(3, 7, 11, 15)[:20]) == 0.0
    assert common_share(short, []) == 0.0
