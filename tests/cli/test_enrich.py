"""indexer enrich, on an index in memory; with a server: tests/engines/elastic/test_enrich.py."""

from __future__ import annotations

import re
from functools import partial

import pytest
from user_index import UserIndexInMemory

from indexer.collection import Collection
from indexer.engines.elastic.bulk import Action, BulkFailure
from indexer.runs.enrich_watch import Enriching


@pytest.fixture
def index(monkeypatch, corpus) -> UserIndexInMemory:
    index = UserIndexInMemory()
    for record in corpus(60):
        index.put(record["id"], {"text": record["text"]})
    monkeypatch.setattr(Enriching, "_documents", index.opened)
    monkeypatch.setattr("indexer.runs.enrich.check", lambda *_: None)
    return index


@pytest.fixture
def enrich(run, home, index):
    return partial(run, "enrich", "news", "--text-field", "text", home=home)


@pytest.mark.slow
def test_topics_follow_when_another_field_is_read(run, home, index, enrich):
    assert enrich("--topics", "3").stdout.endswith("3 topics found\n60 documents of the index written\n")
    labels = {label for id_ in index.sources for label in index.ours(id_)["topic_labels"]}
    for number, (id_, source) in enumerate(index.sources.items()):
        index.put(id_, {**source, "text": OTHERS[number % 3]})
    shown = enrich()
    assert shown.stderr == "Note: Nearly all texts were replaced, so topics are fitted again.\n"
    assert shown.stdout.endswith("3 topics found\n60 documents of the index written\n")
    assert all(index.ours(id_)["topics"] for id_ in index.sources)
    assert not labels & {label for id_ in index.sources for label in index.ours(id_)["topic_labels"]}


@pytest.mark.slow
def test_documents_that_no_topic_reaches_are_a_warning(home, index, enrich):
    enrich("--topics", "3")
    for number in range(10):
        index.put(f"new{number}", {"text": OTHERS[0]})
    assert enrich().stderr == (
        "Warning: 10 documents got no topic: they are not similar to any. "
        f"Find topics again: indexer --home {home} topics refit\n"
        "Warning: Then run enrich again: it writes the new topics to the index.\n"
    )


@pytest.mark.slow
def test_a_watch_warns_of_what_no_topic_reaches_and_of_what_never_rests(home, index, enrich, monkeypatch):
    def write(seconds: float) -> None:
        if "new0" in index.sources:
            raise KeyboardInterrupt
        for number in range(10):
            index.put(f"new{number}", {"text": OTHERS[0]})
        monkeypatch.setattr(index, "write", changed_meanwhile)

    def changed_meanwhile(wanted):
        return [BulkFailure(Action("update", "news", row.id), 409, "") for row, _ in wanted]

    monkeypatch.setitem(Collection.watch.__kwdefaults__, "pause", write)
    assert enrich("--watch", "--topics", "3").stderr.splitlines()[-5:-2] == [
        "Warning: 10 documents got no topic: they are not similar to any. "
        f"Find topics again: indexer --home {home} topics refit",
        "Warning: Then run enrich again: it writes the new topics to the index.",
        "Warning: 10 documents changed repeatedly during mining. The next run, or --watch, updates them.",
    ]


@pytest.mark.slow
def test_a_watch_says_that_it_watches_and_what_each_look_did(index, enrich, monkeypatch):
    def write(seconds: float) -> None:
        if "new" in index.sources:
            raise KeyboardInterrupt
        index.delete("d00")
        index.put("new", {"text": OTHERS[0]})

    monkeypatch.setitem(Collection.watch.__kwdefaults__, "pause", write)
    shown = enrich("--watch", "--every", "60", "--topics", "3")
    assert shown.stderr.startswith("Following news, every 1 min 0 s. Ctrl-C ends it.\n")
    assert shown.stdout.splitlines()[-2] == "60 documents of the index written"
    assert re.fullmatch(r"\d\d:\d\d:\d\d 1 mined, 1 deleted, 1 written", shown.stdout.splitlines()[-1])
    assert shown.exit_code == 130


OTHERS = (
    "A sourdough starter needs rye flour. The oven spring depends on the dough hydration of the loaf.",
    "Violin strings vibrate. The sound post and the bass bar of a concert violin carry each tone.",
    "Chess openings favour central pawns. A queen gambit or a king attack decides many chess games.",
)
