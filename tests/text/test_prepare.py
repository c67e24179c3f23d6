import time

import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import SettingsError
from indexer.records import Document
from indexer.text import Preparer, normal_form
from indexer.text.prepare import MAX_SENTENCE_LENGTH

ABSTRACT = Document(
    "a",
    "We propose a finite-state machine for speech recognition. It outperforms deep neural networks on noisy data.",
    "Speech Recognition with Automata",
)


def surfaces(preparer, text, title=""):
    document = Document("d", text, title)
    (prepared,) = preparer.prepare([document])
    return [document.content[mention.start : mention.end] for mention in prepared.mentions]


def check(document, prepared):
    """What must hold for every document whatever is in it."""
    content = document.content
    position = 0
    for sentence in prepared.sentences:
        assert position <= sentence.start < sentence.end <= len(content)
        assert not content[position : sentence.start].strip()  # no word is outside of the sentences
        assert sentence.start >= document.text_start or sentence.end <= len(document.title)
        assert content[sentence.start : sentence.end].strip() == content[sentence.start : sentence.end]
        position = sentence.end
    assert not content[position:].strip()
    position = 0
    for mention in prepared.mentions:
        assert position <= mention.start < mention.end  # in order, without overlap
        assert mention.phrase == normal_form(content[mention.start : mention.end]) != ""
        assert sum(s.start <= mention.start and mention.end <= s.end for s in prepared.sentences) == 1
        position = mention.end


def test_prepare_finds_sentences_and_phrases(preparer):
    (prepared,) = preparer.prepare([ABSTRACT])
    check(ABSTRACT, prepared)
    assert [ABSTRACT.content[s.start : s.end] for s in prepared.sentences] == [
        "Speech Recognition with Automata",
        "We propose a finite-state machine for speech recognition.",
        "It outperforms deep neural networks on noisy data.",
    ]
    assert [mention.phrase for mention in prepared.mentions] == [
        "speech recognition",
        "automaton",
        "finite state machine",
        "speech recognition",
        "deep neural network",
        "noisy data",
    ]


def test_prepare_gives_the_same_alone_and_in_company(preparer):
    others = [Document(str(i), f"Document {i} is about heat pumps and solar panels.") for i in range(20)]
    assert preparer.prepare([*others, ABSTRACT])[-1] == preparer.prepare([ABSTRACT])[0]


def test_prepare_of_nothing(preparer):
    assert preparer.prepare([]) == []
    (prepared,) = preparer.prepare([Document("d", " \n ")])
    assert prepared.sentences == prepared.mentions == ()


def test_lower_case_and_missing_punctuation_still_give_phrases(preparer):
    found = surfaces(preparer, "we train deep neural networks for speech recognition with a heat pump")
    assert found == ["deep neural networks", "speech recognition", "heat pump"]


def test_formulas_links_and_code_are_in_no_phrase(preparer):
    text = (
        "The energy $E=mc^2$ of the particle is given at https://example.org/particle by the function get_energy(). "
        "Write to support@example.org about \\textbf{speech recognition}."
    )
    found = surfaces(preparer, text)
    assert {"energy", "particle", "speech recognition"} <= set(found)
    assert not [surface for surface in found if set(surface) & set("$@\\_(){}=") or "example" in surface]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        "word " * 20_000,
        "neural\x00network \ud800\udfff end",
        "😀😀 great phone 😀 love it 😀",
        "def f(x):\n    return x_y + g(x)\n\nfor i in range(10):\n    print(i)",
        "name\tage\nAda\t36\nBob\t41",
        "人工智能是计算机科学的一个分支。",
        "مرحبا بالعالم",
        "(" * 500 + ")" * 500,
        "$" * 999 + "\\" * 999 + "`" * 999,
        "a_" * 5_000,
        "x" * 19_000 + " a_b",
        "/" + "a" * 19_000 + " /b/c",
        "a@" * 9_000 + "b.c",
        "\n" * 10_000,
        "\u200b\u200e\u2028\u0085",
    ],
)
def test_unusual_text_neither_fails_nor_takes_long(preparer, text):
    document = Document("d", text, "A title")
    began = time.process_time()
    (prepared,) = preparer.prepare([document])
    assert time.process_time() - began < 5
    check(document, prepared)


def test_german_is_not_given_to_the_english_tagger(preparer):
    text = "Die künstliche Intelligenz ist ein Teilgebiet der Informatik, und die Netze sind nicht neu."
    assert surfaces(preparer, text)[0] == "künstliche Intelligenz"


def test_a_long_sentence_is_cut_between_words(preparer):
    document = Document("d", "red apples and green pears and " * 200)
    (prepared,) = preparer.prepare([document])
    check(document, prepared)
    assert max(s.end - s.start for s in prepared.sentences) <= MAX_SENTENCE_LENGTH


@pytest.mark.slow
def test_a_long_document_keeps_its_offsets(preparer):
    document = Document("d", ("The heat pump works in cold countries. " * 20 + "\n\n") * 60)
    (prepared,) = preparer.prepare([document])
    check(document, prepared)
    assert sum(mention.phrase == "heat pump" for mention in prepared.mentions) == 1200


SNIPPETS = st.sampled_from(
    ["the neural network ", "We use $x_i$ ", "state-of-the-art ", "e.g. ", "U.S. ", "\n\n", "\n", ". ", "人工智能",
     "Привет мир ", "der die das und ", "http://a.b/c ", "\x00", "\ud83d", "😀", "'s ", " - ", "3.5 ", "don't ", "(ANN) ",
     "A", "\u00ad"]
)  # fmt: skip
TEXTS = st.lists(st.one_of(SNIPPETS, st.text(max_size=8)), max_size=25).map("".join)


@pytest.mark.slow
@settings(max_examples=examples(120), deadline=None)
@given(title=TEXTS, text=TEXTS)
def test_offsets_hold_for_any_text(preparer, title, text):
    document = Document("d", text, title)
    (prepared,) = preparer.prepare([document])
    check(document, prepared)


def test_the_name_tells_tagger_and_version(preparer):
    assert preparer.name.startswith("en_ewt_tagger-")


def test_a_tagger_that_is_not_there_is_a_settings_error():
    with pytest.raises(SettingsError, match="'no_such_model' cannot be loaded"):
        Preparer("no_such_model")
