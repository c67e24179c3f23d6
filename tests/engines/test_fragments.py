"""Excerpts around marks, by hand: 240 characters at most, and their ends are at spaces."""

from __future__ import annotations

import pytest

from indexer.engines.fragments import FRAGMENT, fragments_around


def around(text: str, *words: str) -> list[tuple[str, list[str]]]:
    """Each fragment with its marked words."""
    marks = [(text.index(word), text.index(word) + len(word)) for word in words]
    found = fragments_around("text", text, marks)
    return [(one.text, [one.text[a:b] for a, b in one.marks]) for one in found]


@pytest.mark.parametrize("space", ["", " ", "\n", " \n\n "])
def test_space_around_a_text_is_left_out_and_the_marks_stay_right(space):
    assert around(f"{space}wind{space}", "wind") == [("wind", ["wind"])]
    assert around(f"{space}a wind b{space}", "wind") == [("a wind b", ["wind"])]


def test_a_long_text_is_cut_at_spaces_on_both_sides():
    left, right = "abcd " * 100, " efghi" * 100
    ((text, marked),) = around(f"{left}wind{right}", "wind")
    # Of the 240 characters, 4 are the word; of the 118 before it, 3 are of a word that is cut.
    assert text == f"{'abcd ' * 23}wind{' efghi' * 19}"
    assert (len(text) <= FRAGMENT, marked) == (True, ["wind"])


def test_a_word_without_spaces_around_it_stands_alone():
    assert around("x" * 300 + "wind" + "y" * 300, "wind") == [("wind", ["wind"])]


def test_a_fragment_holds_marks_of_240_characters_from_begin_to_end():
    assert len(around(f"wind {'a ' * 116}end", "wind", "end")) == 1
    assert len(around(f"wind {'a ' * 116}ends", "wind", "ends")) == 2


def test_marks_that_are_close_share_a_fragment_and_others_have_their_own():
    text = f"sun {'a ' * 100}wind {'b ' * 200}rain"
    first, second = around(text, "sun", "wind", "rain")
    assert first[1] == ["sun", "wind"]
    assert second == (f"{'b ' * 118}rain", ["rain"])
