"""What a word was meant to be: edits counted by hand."""

import pytest

from indexer.engines.spelling import beginnings, may_be_misspelt, most_edits, near_words


def test_words_with_the_fewest_edits_come_first_by_frequency():
    texts = ["Magnetic fields and a magnet.", "A magnetic field"]
    assert near_words("magnetc", texts) == ["magnetic", "magnet"]  # one edit each; the first is there twice
    assert near_words("magnte", ["magnet"]) == ["magnet"]  # letters that changed places are one edit


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("wimd", ["wind"]),
        ("wmid", []),  # two edits of four letters
        ("computatonal", ["computational"]),
        ("komputatonal", ["computational"]),  # two edits of a long word
        ("komputatonel", []),
        ("Wimd", ["wind"]),
        ("wind", []),  # no edit
    ],
)
def test_long_words_may_have_two_edits(typed, near):
    assert near_words(typed, ["wind computational"]) == near


def test_short_words_and_what_is_no_word_are_left_alone():
    assert [word for word in ("win", "wind", "x2y4", "b-trees", "Öfen") if may_be_misspelt(word)] == [
        "wind",
        "Öfen",
    ]
    assert (most_edits("fission"), most_edits("fissions")) == (1, 2)


def test_a_stem_is_near_some_beginning():
    assert beginnings("computatonal")[-1] == "comput"
    assert beginnings("Wind") == ["wind", "win"]
