import numpy as np
import pytest

from trainer.base.corpus import FoundPhrases, mine
from trainer.base.partners import PER_DOCUMENT, Partners

WORDS = ["zinc", "iron", "salt", "lime", "coal", "clay", "sand", "mica", "gold", "lead"]


@pytest.fixture
def mined(tmp_path):
    """Ten texts. Text n names all words, "zinc" twice; and one word that no other text has."""
    found = []
    for text in range(10):
        for sentence in (" ".join([*WORDS, f"own{'x' * text}"]), f"{'very ' * (text + 1)}zinc"):
            spans = [
                (m, m + len(w)) for w in sentence.split() if (m := sentence.index(w)) >= 0 and w != "very"
            ]
            found.append(FoundPhrases(sentence, tuple(spans), ((0, 1),) if len(spans) > 1 else (), text))
    return mine(found, tmp_path)


def documents(mined, pairs):
    return mined.documents[mined.mentions[np.array(pairs), 1]]  # [pairs, 2]


def surface(mined, row):
    sentence, (start, end) = mined.mention(row)
    return sentence[start:end]


def test_a_pair_is_of_one_phrase_in_two_texts(mined):
    pairs = Partners(mined).anywhere(20, np.random.default_rng(0))
    assert len(pairs) == 20  # ten words and ten that are the texts' own
    for (one, other), (here, there) in zip(pairs, documents(mined, pairs), strict=True):
        assert surface(mined, one) == surface(mined, other)
        assert (here != there) == (not surface(mined, one).startswith("own"))
        assert (one == other) == surface(mined, one).startswith("own")


def test_neighbours_stand_in_few_texts(mined):
    pairs = Partners(mined).neighbours(10, np.random.default_rng(0))
    names = [surface(mined, one) for one, _ in pairs]
    assert len(set(names)) == len(names) == 10
    assert len(set(documents(mined, pairs)[:, 0])) <= 3  # up to PER_DOCUMENT of each text
    assert PER_DOCUMENT < 10


def test_phrases_of_two_texts_or_more_are_counted(mined):
    assert Partners(mined).repeated == 10


def test_side_by_side_is_in_either_order(mined):
    partners = Partners(mined)
    assert partners.coordinated == 10
    names = {
        (surface(mined, one), surface(mined, other))
        for one, other in partners.side_by_side(10, np.random.default_rng(0))
    }
    assert names == {("zinc", "iron"), ("iron", "zinc")}
