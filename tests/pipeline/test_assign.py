"""Topics and keyphrases that a document gets when it is written: those that it would get when it is read again."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from contract_rows import DIMS, axis, between, document, mention, mined

from indexer.engines.local import LocalEngine
from indexer.pipeline.assign import Assigner
from indexer.topics.fits import NamedFit


class InOrder:
    """A fit by which the phrases of a document are of one topic after another: their order shows in what it says."""

    def assign(self, vectors, document):
        return SimpleNamespace(topic=np.arange(len(vectors)))

    def own_topic(self, vector, allowed):
        return None


IDS = ("t-000001", "t-000002", "t-000003", "t-000004")
ASSIGNER = Assigner(NamedFit("run-2", InOrder(), IDS, None), "run-2", keyphrases=10)  # type: ignore[arg-type]


def test_phrases_are_assigned_in_the_order_in_which_an_engine_returns_them(tmp_path):
    of = document("a", "The valve, the heat pump, the boiler and the house.")
    scores = {"valve": 0.2, "pump": 0.5, "boiler": 0.5, "house": 0.9}
    rows = tuple(
        mention("a", name, between(0, n, 30), score=score) for n, (name, score) in enumerate(scores.items())
    )
    new = mined("a", axis(1), mentions=rows, of=of)
    engine = LocalEngine(tmp_path / "collection", DIMS)
    engine.store([of])
    at_once = ASSIGNER.final(new, of, engine)
    assert {row.phrase: row.topic for row in at_once.mentions} == {
        "house": "t-000001", "boiler": "t-000002", "pump": "t-000003", "valve": "t-000004"
    }  # fmt: skip
    assert engine.write_mined([new]) == []
    (stored,) = engine.documents(["a"], vectors=True)
    later = ASSIGNER.refinement(of, stored.vector, list(engine.mentions(["a"])))
    engine.close()
    assert (at_once.keyphrases, at_once.topics) == (later.keyphrases, later.topics)
    assert later.mention_topics == {row.phrase_id: row.topic for row in at_once.mentions}


@pytest.mark.parametrize("vector", [0 * axis(0), np.nan * axis(0)])
def test_what_an_engine_would_refuse_stays_as_it_was_mined(vector):
    of = document("a", "The valve.")
    for new in (mined("a", vector), mined("a", axis(0), mentions=(mention("a", "valve", vector),))):
        assert ASSIGNER.final(new, of, None) is new  # type: ignore[arg-type]  # no engine is asked
