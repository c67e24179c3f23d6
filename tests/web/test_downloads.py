"""Files from the page and from the API."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter

import pytest
from lxml import html


def rows(answer):
    assert answer.status_code == 200, answer.text
    assert answer.content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def test_all_that_is_found_by_words(web):
    answer = web.get(
        "/api/export/search/csv", params={"q": "results", "where": "date>=2015", "mode": "words"}
    )
    assert (
        answer.headers["content-disposition"]
        == "attachment; filename=\"results.csv\"; filename*=UTF-8''results.csv"
    )
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    found = rows(answer)
    assert {row["id"] for row in found} == {f"d{i}" for i in range(15, 21)}
    assert [row["rank"] for row in found] == ["1", "2", "3", "4", "5", "6"]
    assert {row["meta.subject"] for row in found} == {"robots", "oceans", "markets"}


def test_by_meaning_the_nearest(web, monkeypatch):
    monkeypatch.setattr("indexer.search.search.NEAREST", 4)
    found = web.get(
        "/api/export/search/jsonl", params={"q": "ocean waves", "mode": "meaning"}
    ).text.splitlines()
    best = web.get("/api/search", params={"q": "ocean waves", "mode": "meaning", "limit": 4}).json()["hits"]
    assert [json.loads(line)["id"] for line in found] == [hit["id"] for hit in best]


def test_the_page_saves_what_it_shows(web):
    shown = html.fromstring(
        web.get("/?f.subject=oceans&from=2010&mode=words", headers={"Accept": "text/html"}).text
    )
    link = shown.xpath("//span[@class='export']/a[.='CSV']/@href")[0]
    assert {row["id"] for row in rows(web.get(link))} == {"d10", "d13", "d16", "d19"}


def test_it_has_what_the_page_lists_and_says_by_what_it_was_found(web):
    listed = web.get("/api/search", params={"q": "tides", "limit": 21}).json()
    assert (listed["total"], listed["listed"]) == (4, 21)
    shown = html.fromstring(web.get("/?q=tides", headers={"Accept": "text/html"}).text)
    (export,) = shown.xpath("//span[@class='export']")
    assert " ".join(export.text_content().split()).startswith("Save these 21 as CSV")
    for path in (export.xpath("a[.='CSV']/@href")[0], "/api/export/search/csv?q=tides"):
        found = rows(web.get(path))
        assert [row["id"] for row in found] == [hit["id"] for hit in listed["hits"]]
        assert Counter(row["found_by"] for row in found) == {"both": 4, "meaning": 17}
        assert {row["score"] for row in found} == {""}  # made of ranks alone
        assert list(found[0])[:6] == ["title", "meta.date", "topics", "keyphrases", "beginning", "id"]


def test_what_no_document_has_can_be_saved_where_the_nearest_are_listed(web):
    shown = html.fromstring(web.get("/?q=nowhere", headers={"Accept": "text/html"}).text)
    (link,) = shown.xpath("//span[@class='export']/a[.='CSV']/@href")
    assert len(rows(web.get(link))) == 21
    nothing = html.fromstring(web.get("/?q=nowhere&mode=words", headers={"Accept": "text/html"}).text)
    assert nothing.xpath("//span[@class='export']") == []


@pytest.mark.parametrize(
    ("query", "simple", "whole"),
    [
        ("", "documents", "documents"),
        ('"sea ice" -x/../y', "sea-ice-x-y", "sea-ice-x-y"),
        ("Wärme", "Wrme", "W%C3%A4rme"),
        ("海", "documents", "%E6%B5%B7"),
        ('a"\r\nX: y', "a-X-y", "a-X-y"),
    ],
)
def test_the_name_of_a_file_is_the_query(web, query, simple, whole):
    answer = web.get("/api/export/search/jsonl", params={"q": query, "mode": "words"})
    name = f"attachment; filename=\"{simple}.jsonl\"; filename*=UTF-8''{whole}.jsonl"
    assert answer.headers["content-disposition"] == name


def test_topics(web):
    for path in ("/api/export/topics/csv", "/export/topics/csv"):
        found = rows(web.get(path))
        assert [row["label"] for row in found] == [topic["label"] for topic in web.get("/api/topics").json()]


def test_parquet(web):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(web.get("/api/export/topics/parquet").content))
    assert table.column("id").to_pylist() == [topic["id"] for topic in web.get("/api/topics").json()]


def test_parquet_needs_a_package(web, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = web.get("/api/export/topics/parquet")
    assert answer.status_code == 501
    assert answer.json()["detail"] == "Parquet needs the extra 'parquet'. Not installed: pyarrow."
    assert "pip" not in answer.json()["hint"]  # that is for who looks after the server, in the log


def test_other_kinds_are_refused(web):
    assert web.get("/api/export/topics/xlsx").status_code == 422
    assert web.get("/api/export/search/csv", params={"where": "subjekt=x"}).status_code == 400
