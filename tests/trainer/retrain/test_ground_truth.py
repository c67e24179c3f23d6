"""Labelled examples: what can be used of a file that was written by hand, and what they say of an encoder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hash_encoder import HashEncoder
from small_parts import PlainPreparer

from indexer.common import Floats
from indexer.engines.local import LocalEngine
from indexer.errors import InputError
from indexer.records import Document
from trainer.retrain import ground_truth
from trainer.retrain.ground_truth import (
    MENTIONS,
    QUERIES,
    fingerprint,
    measure_ground_truth,
    read_ground_truth,
)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ground_truth, "MIN_EXAMPLES", 2)
    monkeypatch.setattr(ground_truth, "Preparer", PlainPreparer)


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    opened = LocalEngine(tmp_path / "collection", HashEncoder.dims)
    opened.store(
        [Document("sun", "solar wind storm"), Document("sea", "deep fish"), Document("law", "tax court")]
    )
    return opened


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "gold.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


GOOD = (
    {"query": "solar wind", "documents": ["sun"]},
    {"query": "fish", "documents": ["sea", "gone"]},
    {"mention": "the cell [[membrane]] is thin", "label": "anatomy"},
    {"mention": "a [[blood vessel]]", "label": "anatomy"},
)


def test_both_kinds_stand_in_one_file(tmp_path: Path, engine: LocalEngine) -> None:
    path = written(tmp_path, *GOOD, "")
    found = read_ground_truth(path, engine, "auto")
    assert [(query.text, query.documents) for query in found.queries] == [
        ("solar wind", {"sun"}),
        ("fish", {"sea"}),
    ]
    assert [(m.sentence, m.sentence[m.start : m.end], m.label) for m in found.mentions] == [
        ("the cell membrane is thin", "membrane", "anatomy"),
        ("a blood vessel", "blood vessel", "anatomy"),
    ]
    assert [document.id for document, _ in found.documents] == ["sea", "sun"]
    assert found.problems == (f"{path}:2: \"documents\": there is no document 'gone' in the collection.",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"query": ', "this is not JSON"),
        ('["solar wind"]', "expected an object"),
        ({"text": "solar wind"}, '"query" or "mention" is missing. Found: text.'),
        ({"query": "", "documents": ["sun"]}, '"query" must be a text, not "".'),
        ({"query": "wind"}, '"documents" is missing. Found: query.'),
        ({"query": "wind", "documents": "sun"}, '"documents" must be a list of texts, not "sun".'),
        (
            {"query": "wind", "documents": []},
            '"documents" is empty; it must name what the query should find.',
        ),
        ({"query": "wind", "documents": ["moon"]}, "there is no document 'moon' in the collection."),
        ({"mention": "no marks", "label": "x"}, '"mention" must mark one phrase with [[ and ]]; it marks 0.'),
        (
            {"mention": "[[a]] [[b]]", "label": "x"},
            '"mention" must mark one phrase with [[ and ]]; it marks 2.',
        ),
        ({"mention": "a [[whale]]"}, '"label" is missing. Found: mention.'),
        ({"mention": "a [[whale]]", "label": "animal"}, "\"label\": no other phrase has the label 'animal'."),
    ],
)
def test_a_bad_line_is_named_and_the_rest_is_used(
    tmp_path: Path, engine: LocalEngine, line: object, said: str
) -> None:
    usable = [GOOD[0], {"query": "fish", "documents": ["sea"]}, *GOOD[2:]]
    path = written(tmp_path, *usable, line)
    found = read_ground_truth(path, engine, "auto")
    (problem,) = found.problems
    assert problem.startswith(f"{path}:5: ")
    assert said in problem
    assert (len(found.queries), len(found.mentions)) == (2, 2)


def test_too_few_examples_of_a_kind_are_left_out(tmp_path: Path, engine: LocalEngine) -> None:
    path = written(tmp_path, GOOD[0], *GOOD[2:])
    found = read_ground_truth(path, engine, "auto")
    assert found.queries == ()
    assert len(found.mentions) == 2
    assert found.problems == (f"{path}: 1 queries are too few, and are left out: 2 are needed.",)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this cannot be read"):
        fingerprint(tmp_path / "none.jsonl")


def test_queries_are_scored_by_where_their_documents_stand(tmp_path: Path, engine: LocalEngine) -> None:
    found = read_ground_truth(written(tmp_path, *GOOD), engine, "auto")
    encoder = HashEncoder()
    alone = measure_ground_truth(encoder, found, {})[QUERIES]
    assert alone.tolist() == [1.0, 1.0]  # each finds its own document first
    nearer = {"x": encoder.encode_texts(["solar wind"])[0]}  # the other text has a word more
    assert measure_ground_truth(encoder, found, nearer)[QUERIES].tolist() == pytest.approx(
        [1 / np.log2(3), 1.0]
    )


def test_mentions_are_scored_by_those_of_their_kind(tmp_path: Path, engine: LocalEngine) -> None:
    class Kinds(HashEncoder):
        """Membrane and vessel are near, whale and shark are not; the same phrase is always the same."""

        def _mean(self, text: str) -> Floats:
            at = {
                "membrane": [1, 0, 0],
                "vessel": [0.9, 0.1, 0],
                "whale": [0.8, 0.2, 0],
                "shark": [0, 0.1, 1],
            }
            found = np.zeros(self.dims, np.float32)
            found[:3] = at.get(text, [0, 1, 0])
            return found / np.linalg.norm(found)

    path = written(
        tmp_path,
        {"mention": "thin [[membrane]]", "label": "body"},
        {"mention": "red [[vessel]]", "label": "body"},
        {"mention": "blue [[whale]]", "label": "animal"},
        {"mention": "grey [[whale]]", "label": "animal"},
        {"mention": "white [[shark]]", "label": "animal"},
    )
    values = measure_ground_truth(Kinds(), read_ground_truth(path, engine, "auto"), {})[MENTIONS]
    # Membrane: vessel first, 1. Vessel: membrane is nearer than whale, 1. Each whale, the other left out: vessel,
    # membrane, shark, so 1/3. Shark: whales first (a little nearer than vessel), 1/1 and 2/2.
    assert values.tolist() == pytest.approx([1, 1, 1 / 3, 1 / 3, 1])
