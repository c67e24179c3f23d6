"""Searches for the documents of a probe, with encoders whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from hash_encoder import HashEncoder

from indexer.common import Floats
from indexer.records import Document
from trainer.retrain.probe import Probe, make_probe
from trainer.retrain.searches import _items, _queries, measure_searches

NAMES = ("amber", "basalt", "copper", "diamond", "emerald", "flint", "garnet", "halite", "iron", "jasper")


class Blind(HashEncoder):
    """Everything is the same."""

    def _mean(self, text: str) -> Floats:
        return self.vector("all")


@pytest.fixture(scope="module")
def probe() -> Probe:
    """Sixty texts, every second one with a title; all have a phrase of ten texts."""
    texts = []
    for number in range(60):
        name = f"{NAMES[number % 10]} quarry"
        first, rest = (
            f"Workers left shaft {number} of the {name}.",
            f"In {1800 + number} the tunnels of shaft {number} were flooded.",
        )
        texts.append(
            Document(f"d{number:02d}", f"{first} {rest}")
            if number % 2
            else Document(f"d{number:02d}", rest, f"The {name} and its shaft {number}")
        )
    return make_probe(texts, "auto")


def test_titles_and_first_sentences_are_left_out_and_searched(probe):
    items = {item.document.id: item for item in _items(probe)}
    titled, other = items["d10"], items["d11"]
    assert (titled.document.content, titled.query) == (
        "In 1810 the tunnels of shaft 10 were flooded.",
        "The amber quarry and its shaft 10",
    )
    assert (other.document.content, other.query) == (
        "In 1811 the tunnels of shaft 11 were flooded.",
        "Workers left shaft 11 of the basalt quarry.",
    )
    (sentence,) = other.prepared.sentences
    assert (
        other.document.content[sentence.start : sentence.end]
        == "In 1811 the tunnels of shaft 11 were flooded."
    )
    for mention in (*titled.prepared.mentions, *other.prepared.mentions):
        assert titled.document.content[mention.start : mention.end].strip()


def test_a_phrase_is_searched_for_all_texts_that_have_it(probe):
    found = {query.text: query.relevant for query in _queries(probe, list(_items(probe)))}
    assert found["amber quarry"] == {f"d{number:02d}" for number in range(0, 60, 10)}
    assert found["The amber quarry and its shaft 10"] == {"d10"}


def test_an_encoder_that_knows_words_finds_more_than_one_that_knows_nothing(probe):
    good, blind = measure_searches(HashEncoder(), probe), measure_searches(Blind(), probe)
    assert {mode: len(values) for mode, values in good.items()} == {
        "meaning": len(blind["both"]),
        "both": len(blind["both"]),
    }
    assert all(((values >= 0) & (values <= 1)).all() for values in (*good.values(), *blind.values()))
    assert np.mean(good["meaning"]) > np.mean(blind["meaning"])
