import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.records import Document
from indexer.text.segments import MAX_PIECE_LENGTH, segments


def shown(document):
    return [document.content[piece.start : piece.start + len(piece.text)] for piece in segments(document)]


def hidden(text):
    return [text[start:end] for piece in segments(Document("d", text)) for start, end in piece.hidden]


def test_title_and_paragraphs_are_pieces_of_their_own():
    text = "First paragraph here.\n\n  Second one,\r\n\r\nthird."
    assert shown(Document("d", text, "A title")) == [
        "A title",
        "First paragraph here.",
        "Second one,",
        "third.",
    ]


def test_a_wrapped_line_goes_on_and_a_short_line_ends():
    wrapped = "This line is long enough to have been wrapped by\nan editor, so the sentence goes on."
    assert shown(Document("d", wrapped)) == [wrapped]
    assert shown(Document("d", "name: Ada\nage: 36")) == ["name: Ada", "age: 36"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the $k$-means of $x_i$ and $$\\sum x$$ here", ["$k$", "$x_i$", "$$\\sum x$$"]),
        ("it costs $5 and then $6 more", []),
        ("see \\cite[p. 3]{knuth} and \\emph{this}", ["\\cite[p. 3]{knuth}", "\\emph"]),
        ("at https://example.org/a?b=1 or me@example.org", ["https://example.org/a?b=1", "me@example.org"]),
        ("call `run()` or main() on my_value", ["`run()`", "main()", "my_value"]),
        ("the ``quoted words'' and ``others''", []),
        ("open /usr/lib/python and read and/or write", ["/usr/lib/python"]),
        ("<b>bold</b> &amp; a < b > c", ["<b>", "</b>", "&amp;"]),
        ("one " + "y" * 100 + " two", ["y" * 100]),
    ],
)
def test_what_is_not_prose_is_hidden(text, expected):
    assert hidden(text) == expected


def test_the_tagger_sees_neither_nul_nor_surrogates_nor_formulas():
    (piece,) = segments(Document("d", "a\x00b \ud800 $x+y$ end"))
    assert piece.text == "a|b | xxxxx end"


def test_a_long_paragraph_is_cut_at_a_sentence_end():
    text = "A sentence of words. " * 3000
    found = list(segments(Document("d", text)))
    assert max(len(piece.text) for piece in found) <= MAX_PIECE_LENGTH
    assert all(piece.text.endswith("words.") for piece in found)


# Characters that matter here, more often than chance would have it.
TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from(list("\n\n\r\t  $$\\{}[]<>@.:/_-`ab"))), max_size=300
)


@given(title=TEXTS, text=TEXTS)
def test_pieces_keep_every_word_in_order_without_overlap(title, text):
    document = Document("d", text, title)
    position = 0
    for piece in segments(document):
        assert not document.content[position : piece.start].strip()
        end = piece.start + len(piece.text)
        assert piece.start >= document.text_start or end <= len(document.title)
        position = end
    assert not document.content[position:].strip()


@pytest.mark.parametrize("sign", ["(", "...", "'s", "a(", "—"])
def test_a_long_run_without_a_space_is_hidden_from_the_tagger(sign):
    run = sign * 400
    (segment,) = segments(Document("a", f"The pump {run} heats."))
    assert segment.text == f"The pump {'x' * len(run)} heats."
    assert segment.hidden == ((9, 9 + len(run)),)


def test_text_of_a_language_without_spaces_is_not_hidden():
    text = "山川," * 200
    assert [segment.hidden for segment in segments(Document("a", text))] == [()]
