import gzip
import json

import numpy as np
import pytest

from indexer.errors import InputError, NotEnoughData
from indexer.records import Document
from trainer.base.corpus import FoundPhrases, Mined, found_in, given_mentions, mine


def test_mentions_come_back_with_their_sentence(tmp_path):
    mine(
        [
            FoundPhrases("Änne likes a heat pump.", ((13, 22),)),
            FoundPhrases("Two heat pumps run.", ((4, 14),)),
        ],
        tmp_path,
    )
    mined = Mined.open(tmp_path)
    found = [mined.mention(row) for row in range(2)]
    assert [(s, s[a:b]) for s, (a, b) in found] == [
        ("Änne likes a heat pump.", "heat pump"),
        ("Two heat pumps run.", "heat pumps"),
    ]
    assert np.diff(mined.phrases).tolist() == [2]  # one normal form
    assert mined.size == 2


def test_a_sentence_is_taken_once_however_it_is_punctuated(tmp_path):
    mined = mine(
        [FoundPhrases("The heat pump!", ((4, 13),)), FoundPhrases("the  heat pump", ((5, 14),))], tmp_path
    )
    assert mined.size == 1


def test_named_side_by_side_survives_the_sorting(tmp_path):
    mined = mine(
        [
            FoundPhrases("zinc and apples", ((0, 4), (9, 15)), ((0, 1),)),
            FoundPhrases("apples rot", ((0, 6),)),
        ],
        tmp_path,
    )
    ((a, b),) = mined.together.tolist()
    assert [s[x:y] for s, (x, y) in (mined.mention(a), mined.mention(b))] == ["zinc", "apples"]


def test_nothing_to_learn_from_is_an_error(tmp_path):
    with pytest.raises(NotEnoughData):
        mine([], tmp_path)


def test_the_fingerprint_is_that_of_the_texts(tmp_path):
    one = mine([FoundPhrases("a heat pump", ((2, 11),))], tmp_path / "one")
    same = mine([FoundPhrases("a heat pump", ((2, 11),))], tmp_path / "same")
    other = mine([FoundPhrases("a heat pump", ((2, 6),))], tmp_path / "other")
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_phrases_are_those_that_indexing_finds():
    text = "Deep neural networks and decision trees are compared. Nothing else."
    (found, *_) = found_in([Document("d", text)], workers=0)
    assert [found.sentence[a:b] for a, b in found.mentions] == ["Deep neural networks", "decision trees"]
    assert found.together == ((0, 1),)


def test_given_mentions_are_grouped_by_sentence(tmp_path):
    path = tmp_path / "spans.jsonl.gz"
    lines = [
        {"sentence": "Rome and Oslo", "start": 9, "end": 13, "label": "never read"},
        {"sentence": "Rome and Oslo", "start": 0, "end": 4},
    ]
    with gzip.open(path, "wt") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    assert list(given_mentions([path])) == [FoundPhrases("Rome and Oslo", ((0, 4), (9, 13)), ((0, 1),))]


def test_a_bad_line_is_named(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text(
        '{"sentence": "Rome", "start": 0, "end": 4}\n{"sentence": "Rome", "start": 2, "end": 9}\n'
    )
    with pytest.raises(InputError, match=r"spans\.jsonl:2: 2 to 9 is not a part of the sentence"):
        list(given_mentions([path]))
