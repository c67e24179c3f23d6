"""English words of the packaged encoder."""

from models.words import english_words


def test_common_words_are_there_in_small_letters_and_typing_errors_are_not():
    words = english_words()
    assert {"stations", "pointer", "axes", "library"} <= words
    assert not {"libary", "magnetc", "Library", "##s", "[CLS]", "##ing", "2"} & words
