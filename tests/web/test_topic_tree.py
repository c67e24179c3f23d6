"""Topics in a tree, on the page and in the API."""

from __future__ import annotations

import re
import shutil

import pytest
from web_client import ended, made, serving, written

from indexer.collection import Collection


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    """A home with four topics in two groups, one of which may be a topic by itself."""
    home = tmp_path_factory.mktemp("tree") / "home"
    with Collection.open(home=home) as collection:
        collection.index([written(home.parent / "made.jsonl", made(60))], levels="2,4")
    return home


@pytest.fixture
def tree(nested):
    with Collection.open(home=nested, create=False) as collection:
        return collection.topic_tree()


@pytest.fixture
def parent(tree):
    return next(topic for topic in tree.roots if tree.subtopics(topic.id))


@pytest.fixture(scope="module")
def web(nested):
    with serving(nested) as client:
        yield client


def test_the_api_nests_topics(web, tree, parent):
    nodes = web.get("/api/topics/tree").json()
    assert [node["id"] for node in nodes] == [topic.id for topic in tree.roots]
    below = next(node for node in nodes if node["id"] == parent.id)["subtopics"]
    assert [(node["id"], node["parent"]) for node in below] == [
        (topic.id, parent.id) for topic in tree.subtopics(parent.id)
    ]
    assert {topic["id"] for topic in web.get("/api/topics").json()} == {topic.id for topic in tree.leaves}
    details = web.get(f"/api/topics/{parent.id}").json()
    assert ([node["id"] for node in details["subtopics"]], details["path"]) == (
        [topic.id for topic in tree.subtopics(parent.id)],
        [],
    )
    assert web.get(f"/api/topics/{below[0]['id']}").json()["path"] == [parent.id]
    facets = web.get("/api/search", params={"topic": parent.id, "facet": "topic_path"}).json()["facets"]
    assert facets["topic_path"][0] == {"value": parent.id, "label": parent.label, "documents": parent.size}


def boxes(page):
    """The topics to narrow by, with their depth and whether they are chosen."""
    found = re.findall(
        r'<label(?: class="below(\d)")?><input type="checkbox" form="search" name="topic" value="([^"]+)"( checked)?',
        page,
    )
    return [(id_, int(depth or 0), bool(checked)) for depth, id_, checked in found]


def test_the_page_offers_the_top_and_opens_what_is_chosen(web, tree, parent):
    assert boxes(web.get("/").text) == [(topic.id, 0, False) for topic in tree.roots]
    some = tree.subtopics(parent.id)[0]
    opened = boxes(web.get("/", params={"topic": some.id}).text)
    assert (some.id, 1, True) in opened
    assert {id_ for id_, depth, _ in opened if depth} == {topic.id for topic in tree.subtopics(parent.id)}
    whole = web.get("/", params={"topic": parent.id}).text
    assert (parent.id, 0, True) in boxes(whole)
    assert f"{parent.size:,} documents" in whole


def test_the_page_of_topics_shows_them_under_their_parents(web, tree, parent):
    page = web.get("/topics").text
    assert f'<a href="/topics/{parent.id}">' in page
    assert page.index(f'href="/topics/{parent.id}"') < page.index(
        f'<tr data-topic="{tree.below(parent.id)[0]}"'
    )
    shown = web.get(f"/topics/{parent.id}").text
    assert all(f'href="/topics/{topic.id}"' in shown for topic in tree.subtopics(parent.id))
    assert f'<a href="/topics/{parent.id}"><bdi>' in web.get(f"/topics/{tree.below(parent.id)[0]}").text


def test_parents_are_renamed_and_merged_by_forms_and_the_api(tmp_path, nested):
    home = shutil.copytree(nested, tmp_path / "home")
    with Collection.open(home=home) as collection:
        collection.index([], levels="3,6", refit=True)
        tree = collection.topic_tree()
    parent = tree.parents[0]
    leaf = next(topic for topic in tree.leaves if topic.parent != parent.id)
    with serving(home) as client:
        answer = client.patch(f"/api/topics/{parent.id}", json={"label": "Mine"})
        assert (answer.status_code, answer.json()["label"]) == (200, "Mine")
        asked = client.get(f"/topics/{leaf.id}/merge", params={"into": parent.id})
        assert asked.status_code == 200
        task = client.post(f"/api/topics/{leaf.id}/merge", json={"into": parent.id}).json()
        done = ended(client, task)
        assert done["state"] == "failed"
        assert "one without cannot be merged" in done["error"]
