"""What is shown of the text of a hit."""

from indexer.engines.base import Fragment
from indexer.export.formatting import excerpts
from indexer.records import Document, StoredDocument
from indexer.search.results import Hit

WIND = Fragment("text", "a solar wind blows. Tides move the sea, and", ((2, 7), (8, 12)))
SEA = Fragment("text", "far from the wind there is more sea", ((13, 17),))
TITLE = Fragment("title", "Sea and wind", ((0, 3),))


def hit(passage, *fragments):
    return Hit(1, 0.5, StoredDocument(Document("d", "text")), fragments, {}, passage)


def marked(fragment):
    return [fragment.text[start:end] for start, end in fragment.marks]


def test_without_a_passage_the_fragments_of_the_text_are_shown():
    assert excerpts(hit("", TITLE, WIND, SEA), 2) == [WIND, SEA]
    assert excerpts(hit("", WIND, SEA), 1) == [WIND]


def test_the_passage_comes_first_with_the_words_marked_that_fragments_have():
    first, second = excerpts(hit("Nothing blows like\nwind, windmills and the Sea.", TITLE, SEA), 2)
    assert first.text == "Nothing blows like wind, windmills and the Sea."
    assert marked(first) == ["wind", "Sea"]
    assert second == SEA


def test_a_fragment_with_a_sentence_of_the_passage_is_not_shown_again():
    (only,) = excerpts(hit("Tides move the sea, and ships.", WIND), 2)
    assert only.text == "Tides move the sea, and ships."
    assert marked(only) == []


def test_a_long_passage_ends_between_two_words():
    (only,) = excerpts(hit("word " * 100), 2)
    assert only.text == ("word " * 60).rstrip()
