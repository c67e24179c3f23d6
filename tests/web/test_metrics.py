"""Figures for Prometheus, and the dashboard that asks for them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

DASHBOARD = json.loads((Path(__file__).parents[2] / "docs" / "grafana.json").read_text(encoding="utf-8"))
NAME = re.compile(r"\bindexer_\w+")
LABELS = re.compile(r"\bby \(([\w, ]+)\)|[{,](\w+)=")


def samples(web):
    """(name, labels) ► value"""
    answer = web.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(found, name, **labels):
    return found.get((name, tuple(sorted(labels.items()))), 0.0)


def test_the_collection_as_it_stands(web):
    found = samples(web)
    assert value(found, "indexer_documents_in_state", collection="main", state="done") == 21
    assert value(found, "indexer_topics", collection="main") == 3
    assert value(found, "indexer_generation", collection="main") == 1
    assert value(found, "indexer_worth_a_retrain", collection="main") == 0
    assert value(found, "indexer_dead_letters", collection="main", stage="read") == 0


def test_searches_are_timed_by_mode_and_requests_by_route(web):
    before = samples(web)
    for _ in range(2):
        web.get("/api/search", params={"q": "ice", "mode": "words"})
    web.get("/api/topics/none")
    web.get("/api/nothing/at/all")
    after = samples(web)

    def more(name, **labels):
        return value(after, name, **labels) - value(before, name, **labels)

    assert more("indexer_search_seconds_count", mode="words") == 2
    assert more("indexer_search_seconds_count", mode="both") == 0
    assert more("indexer_requests_total", route="/api/search", status="200") == 2
    assert more("indexer_requests_total", route="/api/topics/{id}", status="404") == 1
    assert more("indexer_requests_total", route="other", status="404") == 1
    assert more("indexer_request_seconds_count", route="/api/search") == 2


def test_documents_are_counted_by_stage(client):
    from web_client import ended

    before = samples(client)
    lines = b'{"id": "ok", "text": "Sea ice melts."}\n{broken\n'
    ended(client, client.post("/api/files", files={"file": ("two.jsonl", lines)}).json())
    after = samples(client)

    def more(stage, result):
        told = {"stage": stage, "result": result}
        return value(after, "indexer_documents_total", **told) - value(
            before, "indexer_documents_total", **told
        )

    assert [more(stage, "done") for stage in ("read", "store", "prepare", "encode", "write")] == [
        1,
        1,
        1,
        1,
        1,
    ]
    assert [more(stage, "failed") for stage in ("read", "store", "prepare", "encode", "write")] == [
        1,
        0,
        0,
        0,
        0,
    ]
    assert value(after, "indexer_dead_letters", collection="main", stage="read") == 1
    for name in (
        "indexer_encode_seconds_count",
        "indexer_batch_documents_count",
        "indexer_batch_documents_sum",
    ):
        assert value(after, name) - value(before, name) == 1


def asked():
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    queries += [one["definition"] for one in DASHBOARD["templating"]["list"] if "definition" in one]
    return queries


@pytest.fixture(scope="module")
def after_a_search(web):
    """Text of all figures, and the samples in it."""
    web.get("/api/search", params={"q": "ice"})
    return web.get("/metrics").text, samples(web)


@pytest.mark.parametrize("query", asked())
def test_every_query_of_the_dashboard_names_a_figure_that_there_is(after_a_search, query):
    text, found = after_a_search
    there = {name for name, _ in found}
    # Of what has labels nobody can know before it is counted, only the type is told.
    typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    named = set(NAME.findall(query))
    assert named
    assert {name for name in named if name not in there and name not in typed} == set()


UNSEEN = ("indexer_queue_messages{", "indexer_drift{")  # without a broker, and with nothing new


@pytest.mark.parametrize("query", [query for query in asked() if not query.startswith(UNSEEN)])
def test_every_query_of_the_dashboard_names_labels_that_there_are(after_a_search, query):
    names = set(NAME.findall(query))
    there = {label for name, labels in after_a_search[1] if name in names for label, _ in labels}
    wanted = {one for found in LABELS.findall(query) for one in re.split(", ?", "".join(found))}
    assert wanted <= there | ({"le"} if "_bucket" in query else set())


def test_the_dashboard_has_its_panels_side_by_side():
    places = [tuple(panel["gridPos"].values()) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places) >= 15
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)
