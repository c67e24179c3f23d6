"""Wrong input is answered by problem details, and never by a traceback."""

from __future__ import annotations

import re

import pytest


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/search?limit=0", 422, "limit"),
        ("/api/search?limit=many", 422, "limit"),
        ("/api/search?mode=guess", 422, "mode"),
        ("/api/search?offset=9999&limit=10", 400, "10,000"),
        ("/api/search?where=year", 400, "The condition 'year' is not FIELD, operator, value."),
        ("/api/search?where=year=2014&where=", 400, "The condition '' is not FIELD, operator, value."),
        ("/api/search?topic=3&topic=", 422, "topic.2"),
        ("/api/search?where=subjekt=x", 400, "subjekt"),
        ("/api/search?facet=nothing", 400, "nothing"),
        ("/api/search?topic=t-999999", 404, "t-999999"),
        ("/api/documents/nowhere", 404, "nowhere"),
        ("/api/topics/none", 404, "none"),
        ("/api/phrases", 400, "phrase"),
        ("/api/phrases?phrase=%20%21", 400, "letter"),
        ("/api/phrases?in=nothing%20marked", 400, "marked"),
        ("/api/similar", 422, "document"),
        ("/api/search?topik=3", 422, "Unknown parameter 'topik'. Did you mean topic?"),
        ("/api/topics?limit=3", 422, "Unknown parameter 'limit'. Known: sort, ascending, hidden."),
        ("/api/export/search/csv?query=x", 422, "query"),
        ("/api/status?Q=1", 422, "'Q'"),
        ("/api/documents/d04?text=1", 422, "'text'"),
        ("/api/search?where=date>=banana", 400, "'banana' is not a date"),
        ("/api/timeline?where=date<2014-13", 400, "'2014-13' is not a date"),
        ("/api/export/search/csv?where=date>soon", 400, "'soon' is not a date"),
        ("/api/tasks/none", 404, "none"),
        ("/api/nothing", 404, "Not Found"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(web, path, status, said):
    answer = web.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["type"]) == (status, "about:blank")
    assert problem["request"] == answer.headers["x-request-id"]
    assert said in str(problem)


@pytest.mark.parametrize(
    "path",
    [
        "/api/search?q=ice&mode=words&topic=1&keyphrase=tides&where=date>=2014&facet=tags&facet_size=3&limit=2&offset=1&why=1",
        "/api/search?where=date>2014-03-02T10:00&where=subject>=m",
        "/api/phrases?in=the+[[sea+ice]]&where=date<2015&limit=1",
        "/health/live?probe=1",
    ],
)
def test_what_is_described_is_taken(web, path):
    assert web.get(path).status_code == 200


def test_a_hint_goes_with_it(web):
    assert web.get("/api/search?where=subjekt=x").json()["hint"] == "Did you mean subject?"


def test_another_method_is_refused_with_those_that_there_are(web):
    answer = web.delete("/api/topics")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert answer.json()["title"] == "Method Not Allowed"
    assert web.put("/api/topics/t-000001").headers["allow"] == "DELETE, GET, PATCH"
    assert web.put("/api/topics/t-000001/history").headers["allow"] == "GET"
    assert web.put("/api/documents/a/b").headers["allow"] == "GET"


def test_what_nobody_expected_is_told_without_details(web, monkeypatch):
    def broken(self):
        raise RuntimeError("it is secret")

    monkeypatch.setattr("indexer.collection.Collection.topics", broken)
    answer = web.get("/api/topics")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["request"]


def test_without_its_engine_the_server_is_not_ready(web, monkeypatch):
    from indexer.errors import EngineUnavailable

    def away(self):
        raise EngineUnavailable("No answer.")

    assert web.get("/api/phrases", params={"phrase": "tides"}).status_code == 200  # the encoder is there
    assert web.get("/health/ready").status_code == 200
    monkeypatch.setattr("indexer.engines.local.LocalEngine.fields", away)
    assert web.get("/health/ready").status_code == 503


def test_an_engine_that_is_away_says_when_to_come_back(web, monkeypatch):
    from indexer.errors import EngineUnavailable

    def away(self):
        raise EngineUnavailable("No answer.", hint="Is it up?")

    monkeypatch.setattr("indexer.collection.Collection.topics", away)
    answer = web.get("/api/topics")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json()["hint"] == "The server's log says more; ask its administrator."


@pytest.mark.parametrize(
    "path",
    [
        "/topics/nothing",
        "/api/topics/zzzzzz",
        "/api/search?offset=9999&limit=10",
        "/api/phrases?in=nothing%20marked",
        "/phrases?in=nothing+marked",
        "/?where=year",
        "/?where=subjekt%3Dx&from=soon",
        "/document?id=nowhere",
    ],
)
def test_hints_name_no_command(web, path):
    answer = web.get(path, headers={} if "/api/" in path else {"Accept": "text/html"})
    assert answer.status_code in (400, 404)
    assert not re.search(r"indexer (topics|phrases|index|search)|--\w|INDEXER_", answer.text)


def test_a_mark_is_explained_in_words_of_the_page(web):
    hint = web.get("/api/phrases?in=nothing%20marked").json()["hint"]
    assert hint == "For example: the cell [[membrane]] is thin."


def test_a_request_keeps_the_id_it_brings(web):
    assert (
        web.get("/health/live", headers={"X-Request-ID": "from-me.1"}).headers["x-request-id"] == "from-me.1"
    )
    forged = web.get("/health/live", headers={"X-Request-ID": "two words"}).headers["x-request-id"]
    assert len(forged) == 16


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"text": "x", "unknown": 1}, "unknown"),
        ({"title": "no text"}, "text"),
        ({"text": ""}, "text"),
        ({"text": "x", "limit": 0}, "limit"),
        ([], "body"),
        ("text", "body"),
    ],
)
def test_a_wrong_body_says_which_field(web, body, where):
    answer = web.post("/api/keyphrases", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["where"] == where


def test_a_body_that_is_too_large_is_not_read(web):
    answer = web.post("/api/keyphrases", json={"text": "x" * 1_000_001})
    assert (answer.status_code, answer.json()["detail"]) == (413, "The body is larger than 1,000,000 bytes.")


def test_a_body_of_unknown_length_is_read_up_to_the_limit(web):
    def parts():
        for _ in range(200):
            yield b"x" * 10_000

    answer = web.post("/api/keyphrases", content=parts(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_nothing_is_said_to_other_sites(web):
    answer = web.get("/api/topics", headers={"Origin": "https://elsewhere.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({"text": ""}, {"text": "String should have at least 1 character"}),
        ({"title": "x"}, {"text": "Field required"}),
        ({"text": "x", "size": 1}, {"size": "Extra inputs are not permitted"}),
        ([], {"body": "List should have at least 1 item after validation, not 0"}),
        (
            [{"text": "x"}, {"text": "y", "meta": {"nested": {"a": 1}, "str": {}, "good": [1]}}],
            dict.fromkeys(
                ("2.meta.nested", "2.meta.str", "2.meta.good"),  # counted from 1, as `detail` does
                "Input should be text, a number, true, false, null or a list of texts",
            ),
        ),
    ],
)
def test_a_wrong_field_is_named_once_as_those_know_it_who_wrote_it(web, body, wrong):
    answer = web.post("/api/documents", json=body)
    assert answer.status_code == 422
    assert {error["where"]: error["what"] for error in answer.json()["errors"]} == wrong
    assert len(answer.json()["errors"]) == len(wrong)


def test_a_file_that_is_missing_is_named(web):
    for sent in ({"data": {"name": "x"}}, {"files": {"other": ("a.md", b"x")}}, {}):
        (error,) = web.post("/api/files", **sent).json()["errors"]
        assert (error["where"], error["what"]) == ("file", "Field required")


@pytest.mark.parametrize("label", ["", "  "])
def test_an_empty_name_is_refused_in_words(web, label):
    answer = web.patch("/api/topics/1", json={"label": label})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"where": "label", "what": "A name should not be empty"}]


def test_a_wrong_parameter_is_named(web):
    (error,) = web.get("/api/search?limit=many").json()["errors"]
    assert error["where"] == "limit"


@pytest.mark.parametrize("path", ["/api/documents", "/api/keyphrases", "/api/retrain"])
def test_what_says_that_it_is_no_json_is_refused_as_that(web, path):
    answer = web.post(path, content='{"text": "x"}', headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415
    assert "text/plain" in answer.json()["detail"]
    assert "application/json" in answer.json()["hint"]
    right = {"Content-Type": "application/json; charset=utf-8"}
    assert web.post("/api/keyphrases", content='{"text": "x"}', headers=right).status_code == 200
