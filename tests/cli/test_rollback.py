"""indexer rollback, and what other commands say of it: history, topics history, models."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing

import pytest
from small_parts import WideHashEncoder

from indexer.catalog import BundleEntry
from indexer.collection import Collection
from indexer.engines.registry import open_generations
from indexer.pipeline.next_generation import MiningOptions, NextGeneration
from indexer.topics.models.registry import TopicRequest

JUDGED = {
    "accepted": True,
    "reasons": [],
    "checks": [
        {
            "name": "masked phrase found",
            "old": 0.135,
            "new": 0.151,
            "limit": "0.125 or more",
            "verdict": "better",
        },
        {"name": "silhouette", "old": 0.4, "new": None, "limit": "0.37 or more", "verdict": "kept"},
    ],
}


def as_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def swapped(indexed, home):
    """A copy of the indexed home, in which `minilm-base` has taken over with five topics."""
    shutil.copytree(indexed, home)
    with (
        Collection.open(home=home) as collection,
        closing(open_generations(collection.settings)) as generations,
    ):
        recipe = MiningOptions(
            "minilm-base", WideHashEncoder.dims, WideHashEncoder, tagger="auto", taggers=0, keyphrases=10
        )
        run = collection.catalog.start_run("main", "retrain", {})
        with closing(NextGeneration(generations, collection.catalog, "main", run, recipe)) as following:
            following.take_over(following.build(TopicRequest(number=5)))
        collection.catalog.finish_run(run, "finished", {"verdict": "swapped", "reason": "It is better."})
        collection.catalog.save_bundle(
            "main", BundleEntry("minilm-base", "", parent="minilm-phrases", scores=JUDGED)
        )
    return home


def test_rollback_says_what_it_did_and_history_tells_it(run, swapped, corpus, write, tmp_path):
    run("index", write(tmp_path / "more.jsonl", corpus(24)[21:]), home=swapped)
    done = run("rollback", home=swapped)
    assert done.exit_code == 0
    assert "Generation 1 is live after " in done.stderr
    first, second = done.stdout.splitlines()
    assert first == (
        "rolled back: Generation 1 (minilm-phrases) is live again; since it was, 3 documents came or changed "
        "and 0 went."
    )
    assert second.startswith("3 documents mined, 0 failed, in ")
    head, newest, *_, oldest = run("history", home=swapped).stdout.splitlines()
    assert head.split() == ["started", "by", "what", "verdict", "took", "why"]
    assert re.search(r" \S+@\S+  rollback  rolled back  \S+ s  Generation 1 ", newest)
    assert "  retrain   swapped " in oldest
    assert oldest.endswith("It is better.")
    assert as_json(run("search", "--json", home=swapped))["total"] == 24


def test_rollback_as_json(run, swapped):
    report = as_json(run("rollback", "--to", "1", "--json", home=swapped))
    assert (report["verdict"], report["generation"], report["replaced"]) == ("rolled back", 1, 2)
    again = as_json(run("rollback", "--to", "1", "--json", home=swapped))
    assert (again["verdict"], again["run"]) == ("nothing", "")
    refused = run("rollback", home=swapped)
    assert refused.exit_code == 1
    assert refused.stderr.splitlines() == [
        "Error: Generation 1 of 'main' replaced none: there is no way back from it.",
        f"Name one of these: indexer --home {swapped} rollback --to NUMBER (2)",
    ]


def test_topics_history_tells_what_became_of_a_topic(run, swapped):
    listed = {topic["id"] for topic in as_json(run("topics", "--json", home=swapped))}
    born = max(listed)
    kept = min(listed)
    run("topics", "rename", kept, "A name", home=swapped)
    run("rollback", home=swapped)
    found = as_json(run("topics", "history", kept, "--json", home=swapped))
    assert [(e["by"], e["kind"]) for e in found["history"]] == [
        ("index", "born"),
        ("retrain", "kept"),
        ("", "renamed"),
        ("rollback", "kept"),
    ]
    assert found["history"][2]["label"] == "A name"
    assert (found["state"], found["successors"]) == ("live", [kept])
    gone = as_json(run("topics", "history", str(int(born[2:])), "--json", home=swapped))
    assert (gone["state"], gone["history"][0]["by"], gone["history"][-1]["by"]) == (
        "retired",
        "retrain",
        "rollback",
    )
    run("rollback", "--to", "2", home=swapped)
    shown = run("topics", "history", born, home=swapped).stdout.splitlines()
    assert shown[0].startswith(f"{born} ")
    assert ": live, " in shown[0]
    assert [line.split()[2] for line in shown if "came back" in line] == ["rollback"]
    assert run("topics", "history", "t-000099", home=swapped).exit_code == 1


def test_models_tell_where_an_encoder_comes_from_and_what_the_gate_said(run, swapped):
    rows = {row["name"]: row for row in as_json(run("models", "--json", home=swapped))}
    assert (rows["minilm-base"]["used"], rows["minilm-base"]["generations"]) == (True, [2])
    assert (rows["minilm-phrases"]["used"], rows["minilm-phrases"]["generations"]) == (False, [1])
    assert (rows["minilm-phrases"]["parent"], rows["minilm-base"]["parent"]) == ("minilm-base", "")
    assert rows["minilm-base"]["gate"] == JUDGED
    (line,) = [row for row in run("models", home=swapped).stdout.splitlines() if row.startswith("*")]
    assert line.split()[:3] == ["*", "minilm-base", "384"]
    assert "accepted" in line
    shown = run("models", "show", "minilm-base", home=swapped).stdout
    assert "minilm-base: accepted" in shown
    assert shown.splitlines()[-1].split() == ["silhouette", "0.400", "-", "0.37", "or", "more", "kept"]
