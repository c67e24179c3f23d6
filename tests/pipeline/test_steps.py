"""What becomes of mined documents that an engine refuses."""

from collections import Counter

import numpy as np
from prometheus_client import REGISTRY

from indexer.engines.base import Refused
from indexer.pipeline.steps import write_chunk
from indexer.records import Document, MinedDocument


class Engine:
    """Takes one of four rows."""

    def write_mined(self, rows):
        assert [row.id for row in rows] == ["good", "changed", "gone", "bad"]
        return [
            Refused("changed", "It has another text.", "changed"),
            Refused("gone", "There is no such document.", "missing"),
            Refused("bad", "The vector has no direction.", "unsound"),
        ]


def mined(id_):
    return MinedDocument(id_, np.ones(2, np.float32), (), (), (), "bundle", "run", f"hash of {id_}")


def counted():
    """Documents that writing is through with, so far."""
    name = "indexer_documents_total"
    return Counter(
        {
            result: REGISTRY.get_sample_value(name, {"stage": "write", "result": result}) or 0
            for result in ("done", "failed")
        }
    )


def test_only_what_is_unsound_becomes_a_problem_of_its_file():
    ids = ["good", "changed", "gone", "bad"]
    documents = [Document(id_, "text", source="a.jsonl:4") for id_ in ids]
    before = counted()
    written = write_chunk(Engine(), [mined(id_) for id_ in ids], documents)
    assert counted() - before == Counter(done=1, failed=1)
    assert written.hashes == {"good": "hash of good"}
    assert (written.changed, written.missing) == (["changed"], ["gone"])
    assert [(problem.facts["document_id"], str(problem)) for problem in written.refused] == [
        ("bad", "a.jsonl:4: The vector has no direction.")
    ]
