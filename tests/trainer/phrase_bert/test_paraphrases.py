import pytest

from trainer.base.corpus import FoundPhrases, mine
from trainer.phrase_bert.paraphrases import paraphrases


def sentence(marked):
    """``a [heat pump]`` as a sentence with a mention."""
    text, spans = "", []
    for at, part in enumerate(marked.replace("]", "[").split("[")):
        if at % 2:
            spans.append((len(text), len(text) + len(part)))
        text += part
    return text, spans


@pytest.mark.parametrize(
    ("sentences", "pairs"),
    [
        (["[aspirin], also known as [acetylsalicylic acid], helps"], [("aspirin", "acetylsalicylic acid")]),
        (["[deep nets] (i.e., the [stacked layers])"], [("deep nets", "stacked layers")]),
        (["[Detection] of the [anomalies] is hard", "[anomaly detection]"],
         [("Detection of the anomalies", "anomaly detection")]),
        (["[Detection] of [anomalies]", "[anomalies] alone"], []),  # nobody says it the other way round
        (["[network optimisation]", "[optimised networks]"], [("network optimisation", "optimised networks")]),
        (["[heat pumps]", "the [heat pump]"], []),  # one phrase in two spellings
        (["[iron] and [salt]"], []),  # of one kind, but not the same
    ],
)  # fmt: skip
def test_what_says_the_same(tmp_path, sentences, pairs):
    found = [
        FoundPhrases(text, tuple(spans), (), at) for at, (text, spans) in enumerate(map(sentence, sentences))
    ]
    assert paraphrases(mine(found, tmp_path)) == pairs


def test_a_short_form_is_what_it_is_introduced_for(tmp_path):
    text, spans = sentence("[congestive heart failure] ([CHF]) and [iron] ([salt])")
    found = FoundPhrases(text, tuple(spans), ((0, 1), (2, 3)))
    assert paraphrases(mine([found], tmp_path)) == [("congestive heart failure", "CHF")]


def test_a_pair_is_named_once(tmp_path):
    texts = ["[aspirin], also called [acetylsalicylic acid],", "now [acetylsalicylic acid], called [Aspirin]"]
    found = [
        FoundPhrases(text, tuple(spans), (), at) for at, (text, spans) in enumerate(map(sentence, texts))
    ]
    assert paraphrases(mine(found, tmp_path)) == [("aspirin", "acetylsalicylic acid")]
