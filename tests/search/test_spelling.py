"""Corrected queries, on an engine that knows near words."""

import pytest

from indexer.search.spelling import spelled

NEAR = {"magnetc": "magnetic", "wimd": "wind", "Sollar": "solar", "Stations": "nations", "RLIN": "lin"}


class Engine:
    def spellings(self, words):
        return {word: NEAR[word] for word in words if word in NEAR}


@pytest.mark.parametrize(
    ("query", "searched", "corrected"),
    [
        ("magnetc field", "magnetic field", ["magnetc"]),
        ("Sollar wimd, and the wimd again", "solar wind, and the wind again", ["Sollar", "wimd"]),
        ("field", "field", []),
        ("", "", []),
        ("-magnetc field", "-magnetc field", []),
        ("magnetc* field", "magnetc* field", []),
        ('"magnetc" wimd', '"magnetc" wind', ["wimd"]),
        ("+magnetc field", "+magnetic field", ["magnetc"]),
        ("wimd OR field", "wind OR field", ["wimd"]),
        ("wimdmill wimd", "wimdmill wind", ["wimd"]),
        ("Stations of the RLIN", "Stations of the RLIN", []),  # a common word, and a name
    ],
)
def test_words_outside_quotes_are_corrected(query, searched, corrected):
    found = spelled(Engine(), query, lambda: {"stations"})
    assert (found.query, list(found.corrections)) == (searched, corrected)
