"""The topics of a few documents, measured; agreement by hand."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from hash_encoder import HashEncoder

from indexer.cli import main
from indexer.errors import InputError
from trainer.evaluation.documents import mine, read_documents
from trainer.evaluation.topics import topic_agreement

SUBJECTS = {
    "space": "The solar wind comes from the solar corona, and the magnetic field of the earth protects us.",
    "law": "Tax law sets the income tax rate, and a tax court decides about every disputed tax bill.",
    "sea": "Deep sea fish live near hydrothermal vents, where the ocean floor feeds marine bacteria.",
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: HashEncoder())
    monkeypatch.setattr("models.bundle.Bundle.dims", HashEncoder.dims)
    monkeypatch.setattr("indexer.collection.TAGGERS", 0)


def write(path, *, label=True):
    names = list(SUBJECTS)
    records = [
        {
            "id": f"d{i:02}",
            "title": f"Report {i}",
            "text": SUBJECTS[names[i % 3]],
            **({"label": names[i % 3]} if label else {}),
        }
        for i in range(24)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def run(*args):
    return CliRunner().invoke(main, ["evaluate", "topics", *map(str, args)])


@pytest.mark.slow
def test_agreement_by_hand():
    labels = ["a", "a", "b", "b"]
    assert topic_agreement(labels, ["1", "1", "2", "2"]).mean == pytest.approx(1.0)
    assert topic_agreement(labels, ["1", "1", None, None]).mean == pytest.approx(1.0)  # one group
    assert topic_agreement(labels, ["1", "1", "1", "1"]).mean == pytest.approx(0.0)
    # H(labels) = ln 2, H(topics) = 1.5 ln 2, shared ln 2: 1 / 1.25
    assert topic_agreement(labels, ["1", "1", "2", None]).mean == pytest.approx(0.8)


@pytest.mark.slow
def test_evaluate_topics(tmp_path):
    data = write(tmp_path / "docs.jsonl")
    result = run("--data", data, "--topics", 3, "--json", "--home", tmp_path / "home")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["task"] == "topics"
    assert found["bundle"] == HashEncoder.bundle
    assert (found["documents"], found["topics"], found["labels"], found["asked"]) == (24, 3, 3, "3")
    figures = {name: figure["mean"] for name, figure in found["metrics"].items()}
    # three texts, eight times each: their phrases stand together only
    assert figures["npmi"] == 1.0
    assert figures["nmi"] == 1.0
    assert figures["without_topic"] == 0.0
    assert 0 < figures["diversity"] <= 1
    assert found["rows"]["K-means on document vectors"]["nmi"]["mean"] == 1.0
    assert len(found["by_topic"]) == 3
    assert not (tmp_path / "home" / "collections").exists()


@pytest.mark.slow
def test_without_labels_there_is_no_agreement(tmp_path):
    result = run(
        "--data", write(tmp_path / "docs.jsonl", label=False), "--limit", 18, "--home", tmp_path / "home"
    )
    assert "docs.jsonl: 18 documents" in result.stdout
    assert "NPMI" in result.stdout
    assert "NMI with" not in result.stdout


@pytest.mark.slow
def test_one_label_is_named_and_not_scored(tmp_path):
    data = write(tmp_path / "docs.jsonl")
    data.write_text(re.sub('"label": "[a-z]+"', '"label": "all"', data.read_text()))
    result = run("--data", data, "--topics", 3, "--home", tmp_path / "home")
    assert result.exit_code == 0, result.output
    assert "NMI with" not in result.stdout
    assert "Every document has the label 'all': there is no agreement to measure." in result.stdout


def test_a_record_that_cannot_be_indexed_is_left_out_and_not_counted(tmp_path):
    data = write(tmp_path / "docs.jsonl")
    known = len(read_documents(data))
    with data.open("a") as lines:
        lines.write('{"id": "empty", "text": ""}\n{\n')
    assert len(read_documents(data)) == known


def test_a_limit_takes_documents_of_every_label(tmp_path):
    path = tmp_path / "sorted.jsonl"
    records = [
        {"id": f"{label}{i}", "text": "Solar wind.", "label": label} for label in "abcd" for i in range(50)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    found = read_documents(path, limit=40)
    assert {document.meta["label"] for document in found} == set("abcd")
    assert len(found) == 40
    whole = [document.id for document in read_documents(path)]
    assert [document.id for document in found] == [id_ for id_ in whole if id_ in {d.id for d in found}]


def test_an_empty_file_is_an_error(tmp_path):
    (tmp_path / "docs.jsonl").write_text("")
    with pytest.raises(InputError, match=r"docs.jsonl: there is no document in it\."):
        read_documents(tmp_path / "docs.jsonl")


def test_a_document_that_cannot_be_mined_is_named_by_its_own_line(tmp_path, monkeypatch):
    """Otherwise the figures would silently be those of other documents."""
    from indexer.collection import Collection

    class Fussy(HashEncoder):
        def encode(self, windows):
            if any("corona" in window.text for window in windows):
                raise ValueError("no coronas")
            return super().encode(windows)

    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: Fussy())
    documents = read_documents(write(tmp_path / "docs.jsonl"))
    with (
        Collection.open(home=tmp_path / "home") as collection,
        pytest.raises(InputError, match=r"docs.jsonl:1: cannot be encoded: no coronas"),
    ):
        mine(collection, documents)
