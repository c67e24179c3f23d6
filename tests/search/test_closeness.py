"""What counts as close: measured with queries of random letters, and kept in a file."""

import json

import numpy as np
import pytest
from hash_encoder import HashEncoder

from indexer.engines.base import Ranking, SearchAnswer
from indexer.search.closeness import MEANINGLESS, cosine_by_chance, meaningless


class Engine:
    """Finds the nearest documents at these cosines, in turns."""

    def __init__(self, documents, *cosines):
        self.documents, self.cosines, self.asked = documents, cosines, 0

    def search(self, request):
        if request.vector is None:
            return SearchAnswer(Ranking((), (), self.documents), None, {})
        self.asked += 1
        cosine = self.cosines[self.asked % len(self.cosines)]
        return SearchAnswer(None, Ranking(("d",), (cosine,), self.documents), {})


def test_it_is_the_mean_and_a_good_one_and_a_half_standard_deviations(tmp_path):
    engine = Engine(10, 0.2, 0.4)  # mean .3, standard deviation .1
    assert cosine_by_chance(engine, HashEncoder(), tmp_path / "kept.json") == pytest.approx(0.3 + 0.1645)
    assert engine.asked == MEANINGLESS


def test_it_is_kept_until_the_collection_or_the_encoder_is_another(tmp_path):
    memory, encoder = tmp_path / "some" / "kept.json", HashEncoder()
    first = cosine_by_chance(Engine(100, 0.2), encoder, memory)
    assert cosine_by_chance(Engine(199, 0.9), encoder, memory) == first
    assert cosine_by_chance(Engine(201, 0.9), encoder, memory) == pytest.approx(0.9)
    assert cosine_by_chance(Engine(100, 0.2), encoder, memory) == pytest.approx(0.2)
    memory.write_text(json.dumps({**json.loads(memory.read_text()), "bundle": "another"}))
    assert cosine_by_chance(Engine(100, 0.3), encoder, memory) == pytest.approx(0.3)
    memory.write_text("[")
    assert cosine_by_chance(Engine(100, 0.4), encoder, memory) == pytest.approx(0.4)


def test_an_empty_collection_has_no_cosine(tmp_path):
    assert cosine_by_chance(Engine(0, 0.0), HashEncoder(), tmp_path / "kept.json") == 0.0


def test_the_queries_have_letters_only_and_are_the_same_each_time():
    assert meaningless() == meaningless()
    assert len(set(meaningless())) == MEANINGLESS
    assert all(word.isalpha() and word.isascii() for query in meaningless() for word in query.split())
    assert np.mean([len(query.split()) for query in meaningless()]) > 1
