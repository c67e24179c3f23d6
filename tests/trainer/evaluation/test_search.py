"""Queries, scores, and the whole task, on a few documents."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner
from hash_encoder import HashEncoder

from indexer.cli import main
from indexer.records import Document
from trainer.evaluation.search import known_items, phrase_queries, scores, without_syntax

TERMS = ["robot arm", "ocean waves", "stock market", "tax law", "heat pump", "solar wind"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: HashEncoder())
    monkeypatch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
    monkeypatch.setattr("indexer.collection.TAGGERS", 0)


@pytest.fixture
def data(tmp_path):
    records = [
        {
            "id": f"d{i:02}",
            "title": f"Report {i} on the {TERMS[i % 6]}",
            "text": f"Station {i} saw the {TERMS[i % 6]}.",
        }
        for i in range(18)
    ]
    return write(tmp_path / "docs.jsonl", records)


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def run(*args):
    return CliRunner().invoke(main, ["evaluate", "search", *map(str, args)])


# -- scores -------------------------------------------------------------------------------------------------


def test_scores_by_hand():
    # right ones at ranks 2 and 4, a third one missed
    found = scores(["a", "X", "b", "Y"], {"X", "Y", "Z"})
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert found["recall@10"] == pytest.approx(2 / 3)
    assert found["MRR@10"] == 0.5
    assert found["nDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_what_comes_after_the_tenth_hit_does_not_count():
    hits = [f"h{i}" for i in range(10)]
    assert set(scores([*hits, "X"], {"X"}).values()) == {0.0}
    assert set(scores([*hits[:9], "X"], {"X"}).values()) == {1.0, 0.1, 1 / math.log2(11)}


def test_all_hits_right_is_a_full_ndcg_with_more_right_ones_than_hits():
    hits = [f"h{i}" for i in range(10)]
    found = scores(hits, {*hits, *(f"more{i}" for i in range(10))})
    assert (found["recall@10"], found["MRR@10"], found["nDCG@10"]) == (0.5, 1.0, pytest.approx(1.0))


# -- queries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "query"),
    [
        (
            'On "deep" nets - a -survey of C*-algebras and foo*',
            "On deep nets a survey of C*-algebras and foo",
        ),
        ("state-of-the-art", "state-of-the-art"),
        ('"*"', ""),
        ("ALL OR NOTHING, AND NOT MORE", "ALL or NOTHING, and not MORE"),
    ],
)
def test_a_title_is_searched_for_as_words(title, query):
    assert without_syntax(title) == query


def test_a_title_that_two_documents_have_is_no_known_item():
    titled = [("a", "Heat Pumps"), ("b", "heat pump"), ("c", "Tax law"), ("d", "")]
    queries = list(known_items([Document(id_, "text", title) for id_, title in titled]))
    assert [(q.text, q.relevant) for q in queries] == [("Tax law", {"c"})]


def test_phrases_of_titles_and_the_documents_that_contain_them():
    titles = {"a": "A study of heat pumps", "b": "New heat-pump systems", "c": "Sea", "d": ""}
    documents = [Document(id_, "text", title) for id_, title in titles.items()]
    queries = {q.text.lower(): q.relevant for q in phrase_queries(documents, "shipped")}
    assert queries["heat pumps"] == {"a", "b"}
    assert not queries.keys() & {"sea", ""}


def test_keyphrases_come_before_the_title():
    documents = [
        Document("a", "text", "On sea ice", {"keyphrases": ["heat pumps", "energy"]}),
        Document("b", "text", "On heat pumps", {"keyphrases": ["heat", "pump"]}),
        Document("c", "text", "On heat pumps"),
    ]
    queries = phrase_queries(documents, "shipped")
    assert [(q.text, q.relevant) for q in queries] == [("heat pumps", {"a", "c"})]


def test_no_more_queries_than_asked_for():
    documents = [Document(f"d{i}", "text", "", {"keyphrases": [f"phrase {i}"]}) for i in range(5)]
    assert len(phrase_queries(documents, "shipped", most=3)) == 3


# -- the task -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_evaluate_search(data, tmp_path):
    result = run("--data", data, "--json", "--home", tmp_path / "home")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["task"] == "search"
    assert found["bundle"] == HashEncoder.bundle
    assert (found["documents"], found["known item queries"], found["phrase queries"]) == (18, 18, 6)
    assert found["relevant"] == {"known item": 1.0, "phrase": 3.0}
    assert list(found["rows"]) == [
        f"{k}, {m}" for k in ("known item", "phrase") for m in ("words", "meaning", "both")
    ]
    # the words occur in the texts of these three documents only
    assert {name: f["mean"] for name, f in found["rows"]["phrase, words"].items()} == {
        "recall@10": 1.0, "MRR@10": 1.0, "nDCG@10": 1.0,
    }  # fmt: skip
    assert found["metrics"] == found["rows"]["known item, both"]
    again = run("--data", data, "--home", tmp_path / "home")
    assert "known item, meaning" in again.stdout
    assert "recall@10" in again.stdout
    assert not (tmp_path / "home" / "collections").exists()


def test_a_file_without_titles_cannot_be_searched_so(tmp_path):
    file = write(tmp_path / "docs.jsonl", [{"id": "a", "text": "A heat pump."}])
    result = run("--data", file, "--home", tmp_path / "home")
    assert result.exit_code == 1
    assert "docs.jsonl: no document has a title" in result.stderr


@pytest.mark.slow
def test_a_record_without_text_is_left_out(data, tmp_path):
    with data.open("a") as lines:
        lines.write('{"id": "x"}\n')
    result = run("--data", data, "--home", tmp_path / "home")
    assert result.exit_code == 0
    assert "docs.jsonl: 18 documents" in result.stdout


def test_a_phrase_that_ends_inside_a_word_is_not_a_query():
    """A title in LaTeX: the tagger's phrase Bolzano-Weierstra is in no title as whole words."""
    documents = [Document("a", "", r"The cohesive principle and the Bolzano-Weierstra{\ss} principle")]
    assert all(query.relevant for query in phrase_queries(documents, "shipped"))
    documents += [Document("b", "", r"On the Bolzano-Weierstra{\ss}")]
    assert all(query.relevant for query in phrase_queries(documents, "shipped"))
