from __future__ import annotations

import inspect
from dataclasses import dataclass, field

import numpy as np
import pytest

from indexer.protocols import Encoder, Window
from models.backends import Batch, Output
from models.encoder import WindowEncoder, batches
from models.pooling import normalised
from tests.models.conftest import encoder_of

pytestmark = pytest.mark.xdist_group("transformers")  # one process alone imports that library

TEXT = "The heat pump is safe, the cell membrane thin."
WINDOWS = [
    Window(TEXT, ((4, 13), (27, 40), (4, 8))),
    Window("A warm house.", ((2, 12),)),
    Window("heat", ((0, 4),)),
    Window("the battery is a solid state battery and the house is warm", ((17, 36), (0, 58))),
]


@dataclass
class CountingBackend:
    """Gives every token its id as vector, and counts what it is asked."""

    name: str = "counting"
    dims: int = 2
    batch_tokens: int = 64
    pads: bool = True
    workers: int = 1
    texts: list[int] = field(default_factory=list)  # in each pass

    def run(self, batch: Batch, *, attention: bool = True) -> Output:
        self.texts.append(len(batch.ids))
        tokens = np.stack([batch.ids, np.ones_like(batch.ids)], axis=-1).astype(np.float32)
        return Output(np.einsum("bl,bld->bd", batch.shares, tokens), tokens, batch.words)


@pytest.fixture
def counting(bundle) -> tuple[WindowEncoder, CountingBackend]:
    backend = CountingBackend()
    return WindowEncoder(bundle, backend), backend


def same(one, other) -> bool:
    return all(
        np.array_equal(a.mentions, b.mentions)
        and np.array_equal(a.document, b.document)
        and np.array_equal(a.attention, b.attention)
        and a.tokens == b.tokens
        for a, b in zip(one, other, strict=True)
    )


# -- batches


def test_batches_fill_a_budget_longest_first():
    assert batches([3, 9, 4, 2], 10, pads=True) == [[1], [2, 0], [3]]


def test_batches_without_padding_hold_one_length():
    assert batches([3, 5, 3, 3], 6, pads=False) == [[1], [0, 2], [3]]


def test_batches_give_a_long_text_one_of_its_own():
    assert batches([50, 1], 10, pads=True) == [[0], [1]]


def test_batches_of_nothing():
    assert batches([], 10, pads=True) == []


# -- windows


def test_encode_keeps_the_order(encoder):
    for window, encoding in zip(WINDOWS, encoder.encode(WINDOWS), strict=True):
        assert same([encoding], encoder.encode([window]))
        assert len(encoding.mentions) == len(window.spans)


def test_encode_gives_unit_vectors(encoder):
    for encoding in encoder.encode(WINDOWS):
        assert np.linalg.norm(encoding.document) == pytest.approx(1, abs=1e-5)
        assert np.linalg.norm(encoding.mentions, axis=1) == pytest.approx(1, abs=1e-5)
        assert encoding.mentions.dtype == encoding.document.dtype == encoding.attention.dtype == np.float32


def test_encode_counts_word_pieces(encoder):
    assert [encoding.tokens for encoding in encoder.encode(WINDOWS)] == encoder.count_tokens(
        [window.text for window in WINDOWS]
    )


@pytest.mark.parametrize("name", ["torch-fp32", "onnx-fp32", "onnx-int8"])
def test_encode_twice_is_bit_identical(bundle, home, name):
    encoder = encoder_of(bundle, name, home, threads=1 if name.startswith("torch") else 3)
    assert same(encoder.encode(WINDOWS * 5), encoder.encode(WINDOWS * 5))


def test_encode_refuses_a_long_window_and_names_it(encoder):
    with pytest.raises(ValueError, match=r"Window 1 has 17 word pieces; the encoder takes 16"):
        encoder.encode([Window("heat"), Window("heat " * 17)])


def test_encode_takes_a_window_of_just_the_limit(encoder):
    assert encoder.encode([Window("heat " * 16)])[0].tokens == 16


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\u200b"])
def test_a_window_without_word_pieces_has_a_vector(encoder, text):
    [encoding] = encoder.encode([Window(text, ((0, len(text)),))])
    assert encoding.tokens == 0
    assert np.linalg.norm(encoding.document) == pytest.approx(1, abs=1e-5)
    assert encoding.mentions[0] == pytest.approx(encoding.document, abs=1e-6)
    assert encoding.attention.tolist() == [0]


def test_a_window_without_word_pieces_has_a_vector_without_special_tokens_too(bundle, home):
    encoder = encoder_of(bundle, "onnx-fp32", home, document_specials=False)
    [encoding] = encoder.encode([Window("")])
    assert np.linalg.norm(encoding.document) == pytest.approx(1, abs=1e-5)


def test_a_span_that_the_tokenizer_drops_gets_the_window(encoder):
    text = "heat \u200b pump"
    [encoding] = encoder.encode([Window(text, ((5, 6), (0, 4)))])
    assert encoding.mentions[0] == pytest.approx(encoding.document, abs=1e-6)
    assert encoding.attention[0] == 0
    assert encoding.attention[1] > 0


@pytest.mark.parametrize("dropped", ["\ud800 ", "\ud83d\ude00 ", "\N{REPLACEMENT CHARACTER}\x00 \u200b"])
def test_dropped_characters_do_not_shift_spans(encoder, dropped):
    start = len(dropped)
    plain, shifted = encoder.encode(
        [Window("heat pump", ((0, 9),)), Window(f"{dropped}heat pump", ((start, start + 9),))]
    )
    assert np.array_equal(plain.mentions, shifted.mentions)


def test_emoji_do_not_shift_spans(encoder):
    fire, unknown = encoder.encode(
        [Window("\N{FIRE} heat pump", ((2, 11),)), Window("xylophone heat pump", ((10, 19),))]
    )
    assert np.array_equal(fire.mentions, unknown.mentions)  # both begin with one unknown word


def test_no_windows(encoder):
    assert encoder.encode([]) == []


def test_an_error_in_a_thread_arrives(bundle):
    class Broken(CountingBackend):
        def run(self, batch: Batch, *, attention: bool = True) -> Output:
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        WindowEncoder(bundle, Broken(workers=2, batch_tokens=4)).encode(WINDOWS)


# -- phrases and texts


def test_phrases_are_pooled_without_special_tokens(counting):
    encoder, _ = counting
    # "heat" and "pump" are the third and fourth word of the vocabulary, after five special ones.
    assert encoder.encode_phrases(["heat pump"])[0] == pytest.approx(normalised(np.float32([7.5, 1])))


def test_texts_are_pooled_with_them(counting):
    encoder, _ = counting
    assert encoder.encode_texts(["heat pump"])[0] == pytest.approx(
        normalised(np.float32([(2 + 7 + 8 + 3) / 4, 1]))
    )


def test_each_distinct_phrase_is_encoded_once(counting):
    encoder, backend = counting
    first = encoder.encode_phrases(["heat", "pump", "heat"])
    second = encoder.encode_phrases(["pump", "cell", "heat"])
    assert sum(backend.texts) == 3
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(second[[2, 0]], first[:2])


def test_forgotten_phrases_are_the_least_recently_used(counting, monkeypatch):
    monkeypatch.setattr("models.encoder.REMEMBERED_PHRASES", 2)
    encoder, backend = counting
    for phrases in (["heat"], ["pump"], ["heat"], ["cell"]):  # forgets pump
        encoder.encode_phrases(phrases)
    backend.texts.clear()
    encoder.encode_phrases(["heat", "cell"])
    assert backend.texts == []
    encoder.encode_phrases(["pump"])
    assert backend.texts == [1]


def test_what_a_caller_changes_is_not_remembered(counting):
    encoder, _ = counting
    first = encoder.encode_phrases(["heat"])
    expected = first.copy()
    first[:] = 0
    assert np.array_equal(encoder.encode_phrases(["heat"]), expected)


@pytest.mark.parametrize("method", ["encode_phrases", "encode_texts"])
def test_long_texts_are_split_and_averaged(encoder, method):
    encode = getattr(encoder, method)
    long, parts = "heat " * 16 + "pump " * 4, ["heat " * 16, "pump " * 4]
    vectors = encode(parts)
    assert encode([long])[0] == pytest.approx(normalised(16 * vectors[0] + 4 * vectors[1]), abs=1e-6)


@pytest.mark.parametrize("method", ["encode_phrases", "encode_texts"])
def test_empty_texts_have_vectors(encoder, method):
    vectors = getattr(encoder, method)(["", "heat", "\u200b"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("method", ["encode_phrases", "encode_texts"])
def test_no_texts(encoder, method):
    assert getattr(encoder, method)([]).shape == (0, 32)


def test_a_text_is_encoded_as_the_window_of_the_same_text(encoder):
    [window] = encoder.encode([Window(TEXT)])
    assert encoder.encode_texts([TEXT])[0] == pytest.approx(window.document, abs=1e-6)


# -- the protocol


def test_encoder_has_everything_that_the_core_asks_for(encoder):
    for name, member in inspect.getmembers(Encoder):
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            getattr(encoder, name)
        else:
            mine = inspect.signature(getattr(WindowEncoder, name))
            assert list(mine.parameters) == list(inspect.signature(member).parameters), name
    assert encoder.dims == 32
    assert encoder.window_tokens == 16
    name, rest = encoder.bundle.split("@")
    assert (name, rest[8:]) == ("tiny", "+onnx-fp32")
