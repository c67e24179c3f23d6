"""Topics shaped by forms and by the API: split, moved, undone; and the vocabulary."""

from __future__ import annotations

import shutil

import pytest
from web_client import ended, made, serving, written
from web_pages import HTML, one, seen, send, text

from indexer.collection import Collection


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    home = tmp_path_factory.mktemp("shaping") / "home"
    with Collection.open(home=home) as collection:
        collection.index([written(home.parent / "made.jsonl", made(60))], levels="2,4")
    return home


@pytest.fixture
def client(tmp_path, nested):
    with serving(shutil.copytree(nested, tmp_path / "home")) as client:
        yield client


def shape(client):
    return {
        one["id"]: (one["label"], one["documents"], one["parent"]) for one in client.get("/api/topics").json()
    }


def done(client, answer):
    assert answer.status_code == 202, answer.text
    task = ended(client, answer.json())
    assert task["state"] == "done", task["error"]
    return task["result"]


def test_a_topic_is_split_moved_and_both_are_undone_by_the_api(client):
    before = shape(client)
    id_ = next(id_ for id_, (_, _, parent) in before.items() if parent)
    parts = done(client, client.post(f"/api/topics/{id_}/split", json={"parts": 2}))["topics"]
    assert parts[0] == id_
    assert sum(shape(client)[part][1] for part in parts) == before[id_][1]
    split = shape(client)
    assert done(client, client.post(f"/api/topics/{parts[1]}/move", json={}))["topic"] == parts[1]
    assert shape(client)[parts[1]][2] is None
    assert done(client, client.post("/api/topics/undo"))["act"] == "move"
    assert shape(client) == split
    assert done(client, client.post("/api/topics/undo"))["of"] == parts
    assert shape(client) == before
    nothing = client.post("/api/topics/undo")
    assert (nothing.status_code, nothing.json()["detail"]) == (404, "There is nothing to undo.")


def test_the_page_has_forms_for_it(client):
    before = shape(client)
    id_ = next(id_ for id_, (_, _, parent) in before.items() if parent)
    path = f"/topics/{id_}"
    assert seen(client, "/topics").xpath("//form[@action='/topics/undo']") == []
    sent(client, send(client, seen(client, path), f"{path}/move", parent=""))
    assert shape(client)[id_][2] is None
    undo = one(seen(client, "/topics"), "//form[@action='/topics/undo']")
    assert text(one(undo, ".//bdi")) == f"move of “{before[id_][0]}”"
    sent(client, send(client, seen(client, "/topics"), "/topics/undo"))
    assert shape(client) == before
    sent(client, send(client, seen(client, path), f"{path}/split", parts="3"))
    assert len(shape(client)) == len(before) + 2


def sent(client, answer):
    assert answer.status_code == 200, answer.text
    for task in client.get("/api/tasks").json():
        assert ended(client, task)["state"] == "done"


def test_terms_are_added_listed_and_removed_by_the_api(client):
    terms = [
        {"label": "Science", "key": "s"},
        {"label": "Ocean waves", "synonyms": ["sea ice", "tides"], "broader": "s"},
        {"label": "Tax law", "broader": "Science"},
    ]
    done(client, client.post("/api/vocabulary", json={"terms": terms, "strict": True}))
    listed = client.get("/api/vocabulary").json()
    assert [(term["key"], term["broader"]) for term in listed] == [
        ("s", ""),
        ("Ocean waves", "s"),
        ("Tax law", "s"),
    ]
    assert listed[1]["synonyms"] == ["sea ice", "tides"]
    assert {label for label, _, _ in shape(client).values()} == {"Ocean waves", "Tax law"}
    assert listed[1]["documents"] == shape(client)[listed[1]["topic"]][1] > 0
    done(client, client.delete("/api/vocabulary/tax law"))
    assert [term["key"] for term in client.get("/api/vocabulary").json()] == ["s", "Ocean waves"]
    assert client.delete("/api/vocabulary/tax law").status_code == 404


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ([{"label": "a1"}, {"label": "A1"}], "term 2: 'A1' is in the vocabulary twice."),
        ([{"label": "a1", "broader": "b1"}], "term 1: the broader term 'b1' is not among the terms."),
        ([{"label": " ! "}], "term 1: the label is empty."),
    ],
)
def test_a_wrong_term_is_named_and_none_is_added(client, terms, said):
    answer = client.post("/api/vocabulary", json={"terms": terms})
    assert (answer.status_code, said in answer.text) == (422, True), answer.text
    assert client.get("/api/vocabulary").json() == []


def test_what_is_rising_is_added_by_the_api(client):
    answer = client.post("/api/topics/rising", json={})
    assert (answer.status_code, answer.json()["detail"]) == (404, "No subject is rising.")


def test_a_topic_is_hidden_by_its_form_and_shown_again_by_the_api(client):
    topics = shape(client)
    id_ = next(iter(topics))
    path = f"/topics/{id_}"
    form = seen(client, path).xpath(f"//form[@action='{path}/mark'][.//button='Hide it']")[0]
    token = form.xpath("input[@name='token']/@value")[0]
    client.post(f"{path}/mark", data={"token": token, "mark": "hidden"}, headers=HTML)
    assert shape(client).keys() == topics.keys() - {id_}
    assert client.get("/api/topics", params={"hidden": True}).json()[0].keys() >= {"mark", "id"}
    assert {one["id"] for one in client.get("/api/topics?hidden=1").json()} == topics.keys()
    page = seen(client, "/topics")
    assert page.xpath("//p[starts-with(., 'Hidden')]/a/@href") == [path]
    assert page.xpath(f"//tr[@data-topic='{id_}']") == []
    assert "hidden by a user" in text(one(seen(client, path), "//p[@class='lead']"))
    answer = client.patch(f"/api/topics/{id_}", json={"mark": ""})
    assert (answer.status_code, answer.json()["mark"]) == (200, None)
    assert shape(client).keys() == topics.keys()
    assert client.patch(f"/api/topics/{id_}", json={}).status_code == 422


def test_the_page_shows_what_is_rising_and_makes_it_a_topic(client, nested, tmp_path):
    bakery = "In bakery {} a sourdough starter needs rye flour, and the oven spring depends on the dough hydration."
    assert seen(client, "/topics").xpath("//*[@id='rising']") == []
    bread = [{"id": f"bread{i}", "text": bakery.format(i)} for i in range(18)]
    done(client, client.post("/api/documents", json=bread))
    (rising,) = client.get("/api/topics/rising").json()
    shown = one(seen(client, "/topics"), "//section[@aria-labelledby='rising']")
    assert text(one(shown, ".//li/bdi")) == rising["label"]
    sent(client, send(client, seen(client, "/topics"), "/topics/rising"))
    assert rising["label"] in [label for label, _, _ in shape(client).values()]
    assert client.get("/api/topics/rising").json() == []
