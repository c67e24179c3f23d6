"""Test collections with judgements: their files, the measures by hand, and the whole task."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hash_encoder import HashEncoder

from indexer.cli import main
from indexer.cli.app import App
from indexer.errors import InputError
from indexer.records import Document
from indexer.search.closeness import closeness_file
from indexer.search.query import parse_words
from trainer.evaluation.judged_search import (
    JudgedCollection,
    by_bm25s,
    by_reciprocal_rank,
    found,
    judged,
    read_test_collection,
)

CORPUS = [
    {"_id": "1", "title": "Solar wind", "text": "The solar wind blows from the sun."},
    {"_id": "2", "title": "Heat pumps", "text": "A heat pump warms a house in winter."},
    {"_id": "3", "title": "Tax law", "text": ""},
    {"_id": "4", "title": "Sea", "text": "Ocean waves move in the wind."},
]
QUERIES = [
    {"_id": "q1", "text": "What is the wind of the sun like?"},
    {"_id": "q2", "text": "warm houses"},
    {"_id": "q3", "text": "not judged"},
    {"_id": "q4", "text": " "},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\t1\t2\nq1\t4\t1\nq2\t2\t1\nq2\t3\t0\nq4\t1\t1\n"


@pytest.fixture
def folder(tmp_path):
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "qrels.tsv").write_text(QRELS, "utf-8")
    return tmp_path


def test_the_files_are_read(folder):
    data = read_test_collection(folder)
    assert [document.id for document in data.documents] == ["1", "2", "3", "4"]
    assert list(data.queries) == ["q1", "q2"]  # the third has no judgement, the fourth no text
    assert data.judgements["q1"] == {"1": 2, "4": 1}
    assert data.judgements["q2"] == {"2": 1, "3": 0}


def test_a_collection_aside_leaves_nothing_in_the_home(tmp_path):
    app = App()
    app.flags = {"home": str(tmp_path)}
    kept = closeness_file(tmp_path, "main")
    kept.parent.mkdir()
    kept.write_text("mine")
    with app.aside(app.settings()) as collection:
        other = closeness_file(tmp_path, collection.name)
        other.write_text("{}")
    assert kept.read_text() == "mine"
    assert not other.exists()


def test_judgements_may_be_in_a_folder(folder):
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    assert len(read_test_collection(folder).queries) == 2


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("qrels.tsv", "q1\t1\n", r"qrels\.tsv:1: expected query-id, corpus-id, score .* found 'q1\\t1'"),
        ("qrels.tsv", QRELS + "q1\t1\tgood\n", r"qrels\.tsv:7: expected"),
        ("qrels.tsv", "q1\t1\t0\n", "no question has a relevant document"),
        ("queries.jsonl", '{"_id": "q1"}\n', r'queries\.jsonl:1: "text" is missing'),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder, name, text, said):
    (folder / name).write_text(text, "utf-8")
    with pytest.raises(InputError, match=said):
        read_test_collection(folder)


def test_a_missing_file_is_named(folder):
    (folder / "queries.jsonl").unlink()
    with pytest.raises(InputError, match=r"there is no queries\.jsonl or queries\.jsonl\.gz"):
        read_test_collection(folder)


def test_measures_by_hand():
    judgements = {"a": {"x": 2, "y": 1, "z": 0}, "b": {"x": 1}}
    measured = judged(JudgedCollection([], {"a": "", "b": ""}, judgements), [["z", "y", "x"], []])
    # a: gains 0, 1, 2 at ranks 1, 2, 3; the best order has 2, 1. b: nothing was found.
    ndcg = (1 / math.log2(3) + 2 / math.log2(4)) / (2 / math.log2(2) + 1 / math.log2(3))
    assert measured["nDCG@10"] == pytest.approx([ndcg, 0])
    assert measured["recall@100"] == pytest.approx([1, 0])
    assert measured["MAP"] == pytest.approx([(1 / 2 + 2 / 3) / 2, 0])


class Strict:
    """A collection that reads a query as the product does, and has one document."""

    def search(self, text, *, mode, facets, limit):
        parse_words(text)
        self.asked = text
        return SimpleNamespace(hits=[SimpleNamespace(stored=SimpleNamespace(document=Document("1", text)))])


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("the sun OR wind of the sea", "the sun or wind of the sea"),
        ("wind " * 1_000, ("wind " * 800).strip() + " "),
        ('the "sun" and the sea', 'the "sun" and the sea'),
    ],
)
def test_a_question_that_is_no_query_is_asked_without_syntax(question, asked):
    collection = Strict()
    assert found(collection, question, "words") == ["1"]
    assert collection.asked == asked


def test_fusion_by_reciprocal_rank_by_hand():
    # a: 1/61 + 1/62; b: 1/62; c: 1/61
    assert by_reciprocal_rank(["a", "b"], ["c", "a"]) == ["a", "c", "b"]


def test_bm25s_ranks_what_has_the_words():
    documents = [Document(row["_id"], row["text"], row["title"]) for row in CORPUS]
    assert by_bm25s(documents, ["warm houses", "solar wind", "nowhere"]) == [["2"], ["1", "4"], []]


@pytest.mark.slow
def test_the_table_of_a_test_collection(folder, monkeypatch):
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: HashEncoder())
    monkeypatch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
    monkeypatch.setattr("indexer.collection.TAGGERS", 0)
    monkeypatch.setattr(  # importing it takes ten seconds
        "trainer.evaluation.judged_search.by_sentence_transformers",
        lambda documents, queries: [[documents[0].id] for _ in queries],
    )
    result = CliRunner().invoke(main, ["evaluate", "search", "--data", str(folder), "--json"])
    assert result.exit_code == 0, result.output
    table = json.loads(result.stdout)
    assert (table["documents"], table["questions"]) == (4, 2)
    rows = table["rows"]
    assert rows["words"]["recall@100"]["mean"] == 1.0
    assert rows["MiniLM"]["MAP"]["mean"] == 0.25  # the first of two documents of one question
    assert rows["meaning - MiniLM"]["MAP"]["mean"] == pytest.approx(rows["meaning"]["MAP"]["mean"] - 0.25)
    low, high = table["intervals"]["both - bm25s and MiniLM"]["nDCG@10"]
    assert low <= rows["both - bm25s and MiniLM"]["nDCG@10"]["mean"] <= high


def test_a_folder_without_a_corpus_and_a_sample_of_judgements_are_refused(folder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    result = CliRunner().invoke(main, ["evaluate", "search", "--data", str(empty)])
    assert (result.exit_code, "no corpus.jsonl" in result.output) == (2, True)
    result = CliRunner().invoke(main, ["evaluate", "search", "--data", str(folder), "--limit", "2"])
    assert (result.exit_code, "--limit belongs to a file" in result.output) == (2, True)
