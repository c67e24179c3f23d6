"""Files from the page and from the API."""

from __future__ import annotations

import csv
import io
import json

import pytest
from lxml import html


def rows(answer):
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_all_that_is_found_by_words(web):
    answer = web.get("/api/export/search/csv", params={"q": "results", "where": "date>=2015"})
    assert answer.headers["content-disposition"] == 'attachment; filename="documents.csv"'
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    found = rows(answer)
    assert {row["id"] for row in found} == {f"d{i}" for i in range(15, 21)}
    assert [row["rank"] for row in found] == ["1", "2", "3", "4", "5", "6"]
    assert {row["meta.subject"] for row in found} == {"robots", "oceans", "markets"}


def test_by_meaning_the_nearest(web, monkeypatch):
    monkeypatch.setattr("indexer.web.downloads.NEAREST", 4)
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


def test_topics(web):
    for path in ("/api/export/topics/csv", "/export/topics/csv"):
        found = rows(web.get(path))
        assert [row["label"] for row in found] == [topic["label"] for topic in web.get("/api/topics").json()]


def test_parquet(web):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(web.get("/api/export/topics/parquet").content))
    assert table.column("id").to_pylist() == [topic["id"] for topic in web.get("/api/topics").json()]


def test_parquet_needs_a_package(web, monkeypatch):
    monkeypatch.setattr("indexer.exports.find_spec", lambda name: None)
    answer = web.get("/api/export/topics/parquet")
    assert answer.status_code == 501
    assert answer.json()["detail"] == "Parquet needs pyarrow, which is not installed."
    assert "pip" not in answer.json()["hint"]  # that is for who looks after the server, in the log


def test_other_kinds_are_refused(web):
    assert web.get("/api/export/topics/xlsx").status_code == 422
    assert web.get("/api/export/search/csv", params={"where": "subjekt=x"}).status_code == 400
