import numpy as np
import pytest

from models.tokens import TokenizerFile
from trainer.base.corpus import FoundPhrases, mine
from trainer.base.pairs import Mix, PairSampler, view_all

SENTENCES = [
    "the heat pump is warm and safe .",
    "a warm house , a heat pump and a solid state battery .",
    "the cell membrane is thin .",
    "the solid state battery is safe , and the cell membrane is warm .",
    "the house is thin .",
]
PHRASES = ["heat pump", "solid state battery", "cell membrane", "house"]


@pytest.fixture(scope="module")
def words(base):
    return TokenizerFile(base / "tokenizer.json")


@pytest.fixture(scope="module")
def mined(tmp_path_factory):
    found = []
    for sentence in SENTENCES:
        spans = sorted((sentence.index(p), sentence.index(p) + len(p)) for p in PHRASES if p in sentence)
        found.append(FoundPhrases(sentence, tuple(spans), ((0, 1),) if len(spans) > 1 else ()))
    return mine(found, tmp_path_factory.mktemp("mined"))


def surfaces(words, view):
    return [int(i) for i in view.ids[view.first : view.last]]


def test_views_pool_the_mention_and_masks_hide_it(words):
    text, span = "the heat pump is warm", (4, 13)
    plain, masked = view_all(words, [(text, span, False), (text, span, True)])
    assert surfaces(words, plain) == words.ids(["heat pump"])[0].tolist()
    assert surfaces(words, masked) == [words.mask, words.mask]
    assert plain.ids[0] == words.prefix[0]
    assert plain.ids[-1] == words.suffix[0]
    assert np.array_equal(np.delete(plain.ids, [2, 3]), np.delete(masked.ids, [2, 3]))


def test_a_long_view_keeps_its_mention(words):
    text = "the " * 100 + "heat pump" + " is" * 100
    (view,) = view_all(words, [(text, (400, 409), False)])
    assert surfaces(words, view) == words.ids(["heat pump"])[0].tolist()
    assert len(view.ids) <= 66


def test_a_batch_is_the_same_each_time_and_another_one_is_not(words, mined):
    def ids(sampler, number):
        batch = sampler.batch(number)
        return [view.ids.tolist() for view in [*batch.anchors, *batch.positives]]

    one, other = (PairSampler(Mix([mined], [1.0]), words, size=4, seed=7) for _ in range(2))
    assert ids(one, 3) == ids(other, 3)
    assert ids(one, 3) != ids(one, 4)


def test_pairs_are_of_one_phrase_and_a_batch_has_each_phrase_once(words, mined):
    sampler = PairSampler(Mix([mined], [1.0], coordination=0), words, size=4, seed=0)
    for number in range(20):
        phrases = sampler.batch(number).phrases
        assert all(anchor == positive for anchor, positive in phrases)
        assert len(set(phrases)) == len(phrases) == 4


def test_siblings_are_never_shown_together(words, mined):
    sampler = PairSampler(Mix([mined], [1.0], coordination=1), words, size=2, seed=0)
    for number in range(20):
        batch = sampler.batch(number)
        assert all(anchor != positive for anchor, positive in batch.phrases)
        for anchor, positive, (_, name) in zip(batch.anchors, batch.positives, batch.phrases, strict=True):
            sibling = words.ids([name])[0].tolist()
            assert surfaces(words, positive) in (sibling, [words.mask] * len(sibling))
            shown = anchor.ids.tolist()
            assert all(shown[at : at + len(sibling)] != sibling for at in range(len(shown)))


def test_a_batch_comes_from_one_source(words, mined, tmp_path):
    other = mine(
        [FoundPhrases(f"{word} is thin .", ((0, len(word)),)) for word in ("warm", "safe")], tmp_path
    )
    sampler = PairSampler(Mix([mined, other], [0.5, 0.5], coordination=0), words, size=2, seed=0)
    kinds = {frozenset(p in ("warm", "safe") for p, _ in sampler.batch(n).phrases) for n in range(20)}
    assert kinds == {frozenset([True]), frozenset([False])}
