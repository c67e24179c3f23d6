"""What can be read through the API; every answer is that of the collection."""

from __future__ import annotations

import pytest

from indexer.collection import Collection


@pytest.fixture(scope="module")
def collection(library):
    with Collection.open(home=library) as opened:
        yield opened


def get(web, path, **params):
    answer = web.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_search_gives_what_the_collection_gives(web, collection):
    found = get(web, "/api/search", q="robot arm", mode="words", limit=3)
    expected = collection.search("robot arm", mode="words", limit=3)
    assert [hit["id"] for hit in found["hits"]] == [hit.stored.document.id for hit in expected.hits]
    assert (found["total"], found["limit"], found["offset"]) == (expected.total, 3, 0)
    text = next(f for f in found["hits"][0]["fragments"] if f["field"] == "text")
    assert {text["text"][start:end] for start, end in text["marks"]} <= {"robot", "arm"}


def test_pages_follow_each_other(web):
    all_of_it = [hit["id"] for hit in get(web, "/api/search", limit=21)["hits"]]
    pages = [get(web, "/api/search", limit=8, offset=offset)["hits"] for offset in (0, 8, 16)]
    assert [hit["id"] for page in pages for hit in page] == all_of_it
    assert [len(page) for page in pages] == [8, 8, 5]


def test_several_values_of_a_field_are_alternatives_and_fields_hold_together(web):
    found = get(web, "/api/search", where=["subject=oceans", "subject=markets", "date>=2015"], limit=21)
    assert {hit["meta"]["subject"] for hit in found["hits"]} == {"oceans", "markets"}
    assert {hit["id"] for hit in found["hits"]} == {"d16", "d17", "d19", "d20"}


def test_facets_count_everything_that_matches(web):
    found = get(web, "/api/search", facet=["subject", "topic"], limit=1)
    assert {v["value"]: v["documents"] for v in found["facets"]["subject"]} == dict.fromkeys(
        ("robots", "oceans", "markets"), 7
    )
    assert sum(v["documents"] for v in found["facets"]["topic"]) == 21


def test_facets_stay_open_where_something_is_chosen(web):
    """With search the others of a chosen field are gone; here they can still be added."""
    chosen = {"where": ["subject=oceans", "date>=2015"], "field": ["subject", "tags"]}
    found = get(web, "/api/facets", **chosen)["facets"]
    assert {v["value"]: v["documents"] for v in found["subject"]} == {"robots": 2, "oceans": 2, "markets": 2}
    assert {v["value"]: v["documents"] for v in found["tags"]} == {"all": 2, "oceans": 2}


def test_facets_count_any_word_where_no_document_has_all(web):
    found = get(web, "/api/facets", q="salinity volatility", field="subject")["facets"]["subject"]
    assert {v["value"] for v in found} == {"oceans", "markets"}


def test_why_names_phrases(web):
    hit = get(web, "/api/search", q="sea ice", why=True)["hits"][0]
    assert hit["near"][0]["phrase"] == "sea ice"
    assert "near" not in get(web, "/api/search", q="sea ice")["hits"][0]


def test_a_timeline_has_every_year(web):
    found = get(web, "/api/timeline", where="subject=oceans")
    assert (found["field"], found["unit"]) == ("date", "year")
    assert [(p["name"], p["documents"]) for p in found["periods"]] == [
        (str(year), int(year % 3 == 0)) for year in range(2001, 2020)
    ]


def test_phrases_alone_and_in_context(web):
    alone = get(web, "/api/phrases", phrase="ocean waves", limit=2)
    assert (alone["phrases"][0]["phrase"], alone["phrases"][0]["score"]) == ("ocean waves", 1.0)
    assert alone["mentions"] == []
    near = get(web, "/api/phrases", **{"in": "The [[sea ice]] melts.", "where": "date<2010"})["mentions"]
    assert near[0]["phrase"] == "sea ice"
    assert all(int(one["document"]["id"][1:]) < 10 for one in near)


def test_other_phrases_for_a_query(web, monkeypatch):
    monkeypatch.setattr("indexer.search.related.NEAR", 0.4)  # the encoder of these tests knows letters only
    assert [one["phrase"] for one in get(web, "/api/other-phrases", q="robot arm")] == ["mobile robot"]
    assert get(web, "/api/other-phrases", q="-robot arm") == get(web, "/api/other-phrases") == []
    assert get(web, "/api/other-phrases", q="which robot arm moves along a path") == []


@pytest.mark.parametrize("given", [{"topic": "1"}, {"keyphrase": "tides"}, {"where": "date>2010"}])
def test_filters_of_a_phrase_alone_are_refused(web, given):
    """A phrase without context belongs to no document that they could leave out."""
    answer = web.get("/api/phrases", params={"phrase": "tides", **given})
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    refused = "Filters (topic, keyphrase, where, hide_duplicates) do not apply to a phrase alone."
    assert answer.json()["detail"] == refused
    assert "in=" in answer.json()["hint"]


def test_topics_with_details_history_and_neighbours(web, collection):
    topics = get(web, "/api/topics")
    assert [(t["id"], t["documents"]) for t in topics] == [(t.id, t.size) for t in collection.topics()]
    one = get(web, f"/api/topics/{topics[0]['id']}", documents=2)
    assert len(one["top_documents"]) == 2
    assert {near["id"] for near in one["neighbours"]} == {t["id"] for t in topics[1:]}
    assert [event["kind"] for event in one["history"]] == ["born"]
    history = get(web, f"/api/topics/{topics[0]['label']}/history")
    assert (history["id"], history["state"]) == (topics[0]["id"], "live")


def test_the_map_has_every_topic_inside_the_picture(web):
    found = get(web, "/api/map")
    assert len(found["topics"]) == 3
    for spot in found["topics"]:
        assert spot["radius"] < spot["x"] < found["width"] - spot["radius"]
        assert spot["radius"] < spot["y"] < found["height"] - spot["radius"]


def test_a_document_and_what_is_near_it(web):
    found = get(web, "/api/documents/d04")
    assert (found["meta"]["subject"], found["meta"]["date"]) == ("oceans", "2004-03-05")
    keyphrase = found["keyphrases"][0]
    place = keyphrase["places"][0]
    assert found[place["field"]][place["start"] : place["end"]] == keyphrase["text"]
    near = get(web, "/api/similar", document="d04", limit=20)
    assert sorted(one["id"] for one in near) == [f"d{i:02d}" for i in range(21) if i != 4]
    assert near[0]["meta"]["subject"] == "oceans"
    assert near == sorted(near, key=lambda one: -one["similarity"])
    assert get(web, "/api/why", document="d04")["topics"][0]["label"] == found["topics"][0]["label"]


def test_keyphrases_of_a_posted_text(web):
    answer = web.post("/api/keyphrases", json={"text": "Tidal power comes from ocean waves.", "limit": 2})
    assert answer.status_code == 200
    assert {one["text"] for one in answer.json()} <= {"Tidal power", "ocean waves", "Tidal power comes"}
    assert len(answer.json()) == 2


def test_status_counts(web):
    found = get(web, "/api/status")
    assert (found["documents"], found["topics"]) == ({"stored": 0, "mined": 0, "done": 21}, 3)
    assert [run["kind"] for run in found["last_runs"]] == ["index"]
    assert get(web, "/api/dead-letters") == []
    assert [one["state"] for one in get(web, "/api/generations")] == ["live"]
    assert get(web, "/api/history") == []


def test_health(web):
    assert get(web, "/health/live") == {"status": "ok"}
    assert get(web, "/api/phrases", phrase="tides")["phrases"]  # waits for the encoder
    assert get(web, "/health/ready") == {"status": "ok"}


def test_the_description_names_every_route_and_its_problems(web):
    described = get(web, "/openapi.json")
    assert {"/api/search", "/api/topics/{id}", "/api/tasks/{id}", "/metrics"} <= described["paths"].keys()
    problem = described["paths"]["/api/search"]["get"]["responses"]["422"]["content"]
    assert list(problem) == ["application/problem+json"]
    assert "detail" in described["components"]["schemas"]["Problem"]["properties"]
