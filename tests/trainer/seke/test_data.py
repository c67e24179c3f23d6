import pytest

from models.tokens import TokenizerFile
from trainer.base.corpus import FoundPhrases, mine
from trainer.seke.data import Texts

SENTENCES = [  # text, phrases
    (0, "the heat pump and the cell membrane .", ["heat pump", "cell membrane"]),
    (0, "a house , a heat pump and a solid state battery .", ["house", "heat pump", "solid state battery"]),
    (1, "the house is thin .", ["house"]),
]


@pytest.fixture(scope="module")
def words(base):
    return TokenizerFile(base / "tokenizer.json")


@pytest.fixture(scope="module")
def mined(tmp_path_factory):
    found = [
        FoundPhrases(
            sentence, tuple((sentence.index(p), sentence.index(p) + len(p)) for p in phrases), (), document
        )
        for document, sentence, phrases in SENTENCES
    ]
    return mine(found, tmp_path_factory.mktemp("mined"))


def test_a_view_has_every_phrase_of_its_window(words, mined):
    view = Texts(mined, words, 60).view(0)
    spans = sorted(zip(view.first, view.last, view.phrases, strict=True))
    order = ["heat pump", "cell membrane", "house", "heat pump", "solid state battery"]
    found = [tuple(view.ids[a:b].tolist()) for a, b, _ in spans]
    assert found == [tuple(words.ids([phrase])[0].tolist()) for phrase in order]
    phrases = [int(phrase) for _, _, phrase in spans]
    assert phrases[0] == phrases[3]
    assert set(phrases) == {0, 1, 2, 3}


def test_a_text_with_few_phrases_is_left_out(words, mined):
    texts = Texts(mined, words, 60)
    assert len(texts) == 2
    assert texts.view(1) is None


def test_a_window_ends_with_a_sentence(words, mined):
    texts = Texts(mined, words, 12)  # the first sentence of text 0 has 8 word pieces, the second more than 4
    assert texts.view(0) is None  # and so two phrases
