"""indexer compare: one file, every finder, the same documents."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import invoked, made, written


@pytest.fixture
def data(tmp_path):
    return written(tmp_path / "texts.jsonl", made(30))


@pytest.mark.slow
def test_every_finder_is_a_column(data, tmp_path):
    done = invoked("compare", "--data", data, "--show", "2", home=tmp_path / "home")
    assert done.exit_code == 0
    first, *_ = done.stdout.splitlines()
    assert "clusters" in first
    assert "documents" in first
    assert "On robot arm and motion planning" in done.stdout
    assert done.stdout.count("# ") >= 4  # two documents, two finders


@pytest.mark.slow
def test_choices_are_told_to_programs(data, tmp_path):
    asked = (
        "compare",
        "--data",
        data,
        "--topics",
        "clusters:2",
        "--topics",
        "documents:3",
        "--show",
        "2",
        "--json",
    )
    one, other = json.loads(invoked(*asked, home=tmp_path / "home").stdout)
    assert (one["finder"], other["finder"]) == ("clusters:2", "documents:3")
    assert (len(one["topics"]), len(other["topics"])) == (2, 3)
    assert [d["id"] for d in one["documents"]] == [d["id"] for d in other["documents"]] == ["d00", "d15"]
    assert all(len(d["topics"]) <= 1 for d in other["documents"])  # a document is in one cluster
    assert not (tmp_path / "home" / "collections").exists()


def test_an_unknown_finder_is_refused(data, tmp_path):
    refused = invoked("compare", "--data", data, "--topics", "magic", home=tmp_path)
    assert refused.exit_code == 2
    assert "one of clusters" in refused.stderr
