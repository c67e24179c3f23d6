import pytest

from indexer.text.untagged import looks_english, plain_candidates, plain_sentences

GERMAN = (
    "Die künstliche Intelligenz ist ein Teilgebiet der Informatik, und die neuronalen Netze sind nicht neu."
)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("We train a network on the data that we have.", True),
        ("Neural Topic Models", True),
        ("", True),
        ("1234 $%&", True),
        ("import numpy as np", True),
        (GERMAN, False),
        ("Les réseaux de neurones sont des modèles dans le domaine de la vision.", False),
        ("人工智能是计算机科学的一个分支。", False),
        ("الذكاء الاصطناعي هو سلوك", False),
        ("Машинное обучение и нейронные сети", False),
    ],
)
def test_looks_english(text, english):
    assert looks_english(text) is english


def phrases(text):
    return [text[start:end] for start, end in plain_candidates(text, 0, len(text))]


def test_german_runs_between_function_words():
    assert phrases(GERMAN) == [
        "künstliche Intelligenz",
        "Teilgebiet",
        "Informatik",
        "neuronalen Netze",
        "neu",
    ]


def test_of_a_long_run_the_capitalised_parts():
    assert phrases("schnell lernende Netze erkennen bunte Bilder") == ["Netze", "Bilder"]


def test_chinese_runs_between_punctuation():
    assert phrases("机器学习，数据挖掘。2024") == ["机器学习", "数据挖掘"]


def test_japanese_runs_of_one_script():
    assert phrases("機械学習のモデルは、データから学習します。") == ["機械学習", "モデル", "データ", "学習"]


def test_sentences_end_at_the_full_stops_of_other_scripts():
    text = "一。二！ Version 1.2 kam. Ende"
    assert [text[start:end] for start, end in plain_sentences(text)] == [
        "一。",
        "二！",
        "Version 1.2 kam.",
        "Ende",
    ]
