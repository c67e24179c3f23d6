import re

import numpy as np
import pytest
from hash_encoder import HashEncoder
from hypothesis import given
from hypothesis import strategies as st

from indexer.common import unit
from indexer.pipeline.windows import encode_documents
from indexer.records import Document, Mention, Prepared, Sentence


def prepare(document: Document, words: int = 7) -> Prepared:
    """Sentences of a fixed number of words; every third word is a mention."""
    spans = [match.span() for match in re.finditer(r"\w+", document.content)]
    sentences = [
        Sentence(spans[i][0], spans[min(i + words, len(spans)) - 1][1]) for i in range(0, len(spans), words)
    ]
    mentions = [Mention(a, b, document.content[a:b].lower()) for a, b in spans[::3]]
    return Prepared(tuple(sentences), tuple(mentions))


@pytest.fixture
def encoder():
    return HashEncoder()


def test_every_word_is_in_exactly_one_window(encoder):
    document = Document("d", " ".join(f"word{i}" for i in range(100)))
    encode_documents(encoder, [document], [prepare(document)])
    seen = " ".join(window.text for window in encoder.windows).split()
    assert seen == document.text.split()


def test_windows_of_signs_alone_are_left_out_unless_there_is_nothing_else(encoder):
    document = Document("d", f"A wave rises. {'( ' * 100}It falls.")
    brackets = document.text.index("(")
    sentences = [(0, brackets - 1), *((at, at + 1) for at in range(brackets, brackets + 200, 2))]
    sentences.append((document.text.index("It"), len(document.text)))
    ready = Prepared(tuple(Sentence(*span) for span in sentences), ())
    (found,) = encode_documents(encoder, [document], [ready])
    assert [any(map(str.isalnum, window.text)) for window in encoder.windows] == [True] * len(encoder.windows)
    assert np.linalg.norm(found.vector) == pytest.approx(1.0)
    encoder.windows.clear()
    signs = Document("s", "( " * 100)
    encode_documents(encoder, [signs], [Prepared(tuple(Sentence(at, at + 1) for at in range(0, 200, 2)), ())])
    assert len(encoder.windows) == 1


def test_windows_are_filled_with_whole_sentences(encoder):
    document = Document("d", " ".join(f"w{i}" for i in range(70)))
    encode_documents(encoder, [document], [prepare(document)])
    # Sentences of 7 words, windows of 24: three sentences each, one left over.
    assert [len(window.text.split()) for window in encoder.windows] == [21, 21, 21, 7]


def test_a_sentence_longer_than_a_window_is_halved_until_it_fits(encoder):
    document = Document("d", " ".join(f"w{i}" for i in range(60)))
    encode_documents(encoder, [document], [prepare(document, words=60)])
    sizes = [len(window.text.split()) for window in encoder.windows]
    assert sum(sizes) == 60
    assert max(sizes) <= encoder.window_tokens


class ByteLevel(HashEncoder):
    """White space is pieces too, and a word without a space before it is two: counts of sentences do not add up."""

    def count_tokens(self, texts):
        return [len(re.findall(r"\w+|\n", text)) + text[:1].isalnum() for text in texts]

    def encode(self, windows):
        assert max(self.count_tokens([window.text for window in windows])) <= self.window_tokens
        return super().encode(windows)


@pytest.mark.parametrize("between", [" ", "\n\n"])
def test_windows_fit_where_counts_of_sentences_do_not_add_up(between):
    words = [f"w{i}" for i in range(66)]
    text = between.join(" ".join(words[at : at + 11]) for at in range(0, 66, 11))
    document, encoder = Document("d", text), ByteLevel()
    encoded = encode_documents(encoder, [document], [prepare(document, words=11)])[0]
    assert " ".join(window.text for window in encoder.windows).split() == words
    assert [group[0].phrase for group in encoded.phrases] == words[::3]


def test_a_phrase_is_the_mean_of_its_mentions(encoder):
    document = Document("d", "sun moon sun")
    ready = Prepared((Sentence(0, 12),), (Mention(0, 3, "sun"), Mention(4, 8, "moon"), Mention(9, 12, "sun")))
    encoded = encode_documents(encoder, [document], [ready])[0]
    assert [[m.start for m in group] for group in encoded.phrases] == [[0, 9], [4]]
    assert encoded.vectors[0] == pytest.approx(encoder.vector("sun"), abs=1e-6)
    assert encoded.attention.tolist() == [6.0, 4.0]  # 3 + 3 letters, 4 letters


def test_the_document_vector_weighs_windows_by_their_length(encoder):
    document = Document("d", " ".join(["sun"] * 24 + ["moon"] * 6))
    ready = prepare(document, words=24)
    encoded = encode_documents(encoder, [document], [ready])[0]
    expected = unit(24 * encoder.vector("sun") + 6 * encoder.vector("moon"))
    assert encoded.vector == pytest.approx(expected, abs=1e-6)


def test_the_first_sentence_of_a_phrase_is_kept(encoder):
    document = Document("d", "One sun. Two moon. Three sun.")
    sentences = (Sentence(0, 8), Sentence(9, 18), Sentence(19, 29))
    ready = Prepared(sentences, (Mention(4, 7, "sun"), Mention(13, 17, "moon"), Mention(25, 28, "sun")))
    assert encode_documents(encoder, [document], [ready])[0].sentences == (Sentence(0, 8), Sentence(9, 18))


def test_an_empty_document_has_a_zero_vector_and_no_phrases(encoder):
    encoded = encode_documents(encoder, [Document("d", "")], [Prepared((), ())])[0]
    assert not encoded.vector.any()
    assert encoded.vectors.shape == (0, encoder.dims)


@given(st.lists(st.text("ab ,.é中\n", max_size=60), min_size=1, max_size=4))
def test_any_text_is_encoded_whole(texts):
    encoder = HashEncoder()
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    encoded = encode_documents(encoder, documents, [prepare(document) for document in documents])
    words = [re.findall(r"\w+", document.content) for document in documents]
    assert [len(e.phrases) for e in encoded] == [len({w.lower() for w in some[::3]}) for some in words]
    assert all(np.isfinite(e.vectors).all() for e in encoded)
    assert re.findall(r"\w+", " ".join(w.text for w in encoder.windows)) == [
        w for some in words for w in some
    ]
