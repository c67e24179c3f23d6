"""Near duplicates on the command line: of 21 documents d06, d12 and d18 have the text of d00, and so on up to d05."""

from __future__ import annotations

import csv
import json
from functools import partial

import pytest


@pytest.fixture
def ask(run, compared):
    home, _ = compared
    return partial(run, home=home)


def test_a_run_says_how_many_it_has_found(compared):
    _, said = compared
    assert "15 near duplicates found" in said


def test_hits_totals_and_counts_leave_them_out_on_request(ask):
    options = ("search", "robot", "--mode", "words", "--facet", "subject", "--json", "--limit", "21")
    every = json.loads(ask(*options).stdout)
    one_of_each = json.loads(ask(*options, "--hide-duplicates").stdout)
    assert every["total"] == len(every["hits"]) == 7
    assert {hit["id"] for hit in one_of_each["hits"]} == {"d00", "d03"}
    assert one_of_each["total"] == 2
    assert one_of_each["facets"]["subject"] == [{"value": "robots", "label": "robots", "documents": 2}]
    near = json.loads(ask("search", "robot", "--mode", "meaning", "--hide-duplicates", "--json").stdout)
    assert {hit["duplicate_of"] for hit in near["hits"]} == {None}
    assert near["listed"] == 6


def test_they_are_counted_and_searched_by_their_original(ask):
    shown = ask("search", "--facet", "duplicate_of", "--limit", "1").stdout
    assert shown.splitlines()[-6:-3] == ["    3  d00", "    3  d01", "    3  d02"]
    assert shown.splitlines()[-3:] == ["    2  d03", "    2  d04", "    2  d05"]
    found = json.loads(ask("search", "--where", "duplicate_of=d00", "--json").stdout)
    assert [hit["id"] for hit in found["hits"]] == ["d06", "d12", "d18"]


def test_a_hit_says_of_what_it_is_one(ask):
    assert "near duplicate of d00" in ask("search", "--where", "duplicate_of=d00", "--limit", "1").stdout


def test_a_document_names_its_near_duplicates_and_they_name_it(ask):
    assert "duplicates  d06, d12, d18" in ask("show", "d00").stdout
    assert "duplicate of  d00" in ask("show", "d06").stdout
    original, copy = (json.loads(ask("show", id_, "--json").stdout) for id_ in ("d00", "d06"))
    assert (original["duplicate_of"], original["duplicates"]) == (None, ["d06", "d12", "d18"])
    assert (copy["duplicate_of"], copy["duplicates"]) == ("d00", [])


def test_a_file_has_them_as_a_column(ask, tmp_path):
    ask("search", "robot arm", "--mode", "words", "--output", "found.csv")
    with (tmp_path / "found.csv").open(encoding="utf-8-sig") as file:
        originals = {row["id"]: row["duplicate_of"] for row in csv.DictReader(file)}
    assert originals["d00"] == ""
    assert originals["d06"] == "d00"


def test_similar_mentions_leave_them_out_on_request(ask):
    given = ("phrases", "--in", "the [[robot arm]] of a system", "--json", "--limit", "20")
    every = json.loads(ask(*given).stdout)
    one_of_each = json.loads(ask(*given, "--hide-duplicates").stdout)
    assert {row["document"]["id"] for row in one_of_each} < {row["document"]["id"] for row in every}
    assert {row["document"]["id"] for row in one_of_each} <= {f"d0{number}" for number in range(6)}


def test_without_the_setting_there_are_none(read):
    assert json.loads(read("search", "--hide-duplicates", "--json").stdout)["total"] == 21
