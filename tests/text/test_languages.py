"""A language is one file of function words."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.text.languages import FUNCTION_WORDS
from indexer.text.untagged import looks_english, plain_candidates

ROOT = Path(__file__).parents[2]
SENTENCES = {
    "de": "Der Sonnenwind und die Erde sind nicht weit voneinander.",
    "es": "El viento solar y la tierra no son lo mismo para los barcos.",
    "fr": "Le vent solaire et la terre ne sont pas les mêmes pour nous.",
    "it": "Il vento solare e la terra non sono gli stessi per una nave.",
    "nl": "De zonnewind en het aardmagnetisch veld zijn niet van deze tijd.",
    "pt": "O vento solar e a terra não são os mesmos para uma nave.",
}
SWEDISH = 'function_words = "och det att i en jag hon som han på den med var sig för så till är men ett om de av inte"'
USE = """
from indexer.text.untagged import looks_english, plain_candidates
text = "Vetenskapen om hav och som är till för den unge."
print(looks_english(text), [text[start:end] for start, end in plain_candidates(text, 0, len(text))])
"""


def test_every_language_but_english_has_a_sentence_here():
    assert SENTENCES.keys() == FUNCTION_WORDS.keys() - {"en"}


@pytest.mark.parametrize("code", SENTENCES)
def test_function_words_show_the_language_and_end_phrases(code):
    text = SENTENCES[code]
    assert not looks_english(text)
    phrases = [text[start:end].lower() for start, end in plain_candidates(text, 0, len(text))]
    assert phrases
    assert not FUNCTION_WORDS[code].intersection(" ".join(phrases).split())


def test_a_new_file_is_a_new_language(tmp_path):
    shutil.copytree(
        ROOT / "indexer", tmp_path / "indexer", ignore=shutil.ignore_patterns("__pycache__", "tagger", "web")
    )
    (tmp_path / "indexer" / "text" / "languages" / "sv.toml").write_text(SWEDISH, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False ['Vetenskapen', 'hav', 'unge']\n"
