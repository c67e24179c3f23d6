"""Random operations on one collection, and what must be true of it afterwards.

Several processes may work on one collection at once. Each one has documents of its own, so it knows exactly which of them
are there; topics belong to all, so only the first process names and merges them.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from indexer.collection import Collection
from indexer.errors import CatalogError, NotFound, QueryError
from indexer.runs.repair import compare
from trainer.retrain.report import RetrainOptions

PATIENCE = 300.0  # seconds that another process may hold the lock
BUDGET = 5.0  # seconds of training
MOST = 160  # documents of a process

Result = TypeVar("Result")


@dataclass
class Actor:
    """A process that works on the collection.

    Attributes:
        texts: What its documents can be made of.
        documents: Its documents that must be there, by id.
        names: Names that it gave to topics, by id.
        log: Receives each operation with its result and seconds.
    """

    collection: Collection
    number: int
    source: Path
    texts: Sequence[str]
    log: Callable[[str, str, float], None] = lambda what, result, seconds: None
    retrain_every: float = float("inf")  # seconds
    retrained: float = 0.0
    fewest: int = 20  # documents: a topic model and a training need some
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    made: int = 0

    def add(self, number: int) -> None:
        for _ in range(number):
            self.made += 1
            self._write(f"p{self.number}-{self.made}")

    def _write(self, id_: str) -> None:
        """Give a document a text that no other one has, by a word that leads to it."""
        self.made += 1
        text = self.texts[self.made % len(self.texts)]
        word = f"marker{self.number}x{self.made}"
        self.documents[id_] = {"id": id_, "text": f"{text} The {word} was seen.", "word": word}

    def change(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            self._write(id_)

    def index(self, **options: Any) -> None:
        lines = (json.dumps({"id": d["id"], "text": d["text"]}) + "\n" for d in self.documents.values())
        self.source.write_text("".join(lines), encoding="utf-8")
        self.done("index", lambda: self.collection.index([self.source], delete_missing=True, **options))

    def done(self, what: str, action: Callable[[], Result]) -> Result:
        """Do it, as soon as no other process is writing."""
        begun = time.perf_counter()
        waits = 0
        while True:
            try:
                result = action()
            except CatalogError as error:
                if "holder" not in error.facts or time.perf_counter() - begun > PATIENCE:
                    raise
                waits += 1
                time.sleep(0.3)
            else:
                self.log(what, f"after {waits} waits", time.perf_counter() - begun)
                return result


class Operations(RuleBasedStateMachine):
    """What a process does, in any order. `actor` is set by whoever runs it."""

    actor: Actor

    @property
    def collection(self) -> Collection:
        return self.actor.collection

    @rule(number=st.integers(1, 12))
    def add(self, number: int) -> None:
        self.actor.add(number if len(self.actor.documents) < MOST else 1)
        self.actor.index()

    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        self.actor.change(data.draw(self.some()))
        self.actor.index()

    @rule()
    def index_again(self) -> None:
        self.actor.index()

    @precondition(lambda self: len(self.actor.documents) > self.actor.fewest)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        ids = data.draw(self.some())
        words = [self.actor.documents.pop(id_)["word"] for id_ in ids]
        self.actor.done("delete", lambda: self.collection.delete(ids))
        for word in words:
            assert not self.collection.search(word, mode="words").hits

    @precondition(lambda self: len(self.actor.documents) > self.actor.fewest)
    @rule(data=st.data())
    def leave_out(self, data: st.DataObject) -> None:
        for id_ in data.draw(self.some()):
            del self.actor.documents[id_]
        self.actor.index()

    @rule(topics=st.sampled_from([None, 3, 5]))
    def refit(self, topics: int | None) -> None:
        self.actor.index(refit=True, topics=topics)

    @rule(data=st.data())
    def search(self, data: st.DataObject) -> None:
        for id_ in data.draw(self.some()):
            document = self.actor.documents[id_]
            found = self.collection.search(document["word"], mode="words")
            assert [hit.stored.document.id for hit in found.hits] == [id_]
            assert self.collection.document(id_).document.text == document["text"]

    @rule(mode=st.sampled_from(["meaning", "both"]))
    def search_by_meaning(self, mode: Any) -> None:
        begun = time.perf_counter()
        found = self.collection.search("new measurements of a magnetic field", mode=mode)
        assert found.hits
        rows = self.collection.phrases("magnetic field", limit=3)
        assert all(row.documents for row, _ in rows)
        self.actor.log(f"search by {mode}", f"{len(found.hits)} found", time.perf_counter() - begun)

    @precondition(lambda self: self.actor.number == 0)
    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        topics = self.collection.topics()
        if not topics:
            return
        topic = data.draw(st.sampled_from(range(len(topics))))
        self.actor.made += 1
        label = f"Named {self.actor.made}"
        try:
            self.actor.done("rename", lambda: self.collection.rename_topic(topics[topic].id, label))
        except (NotFound, QueryError):
            assert topics[topic].id not in self._labels(), "a topic that is there was not found"
        else:
            self.actor.names[topics[topic].id] = label

    @precondition(lambda self: self.actor.number == 0)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        topics = self.collection.topics()
        if len(topics) < 2:
            return
        first, second = data.draw(st.permutations(range(len(topics))))[:2]
        ids = topics[first].id, topics[second].id
        try:
            self.actor.done("merge", lambda: self.collection.merge_topics(ids[0], [ids[1]]))
        except (NotFound, QueryError):
            assert not set(ids) <= self._labels().keys(), "topics that are there were not found"

    @rule()
    def names_stay(self) -> None:
        labels = self._labels()
        for id_, label in self.actor.names.items():
            assert labels.get(id_, label) == label

    @precondition(lambda self: time.monotonic() - self.actor.retrained > self.actor.retrain_every)
    @rule(force=st.booleans())
    def retrain(self, force: bool) -> None:
        self.actor.retrained = time.monotonic()
        options = RetrainOptions(budget=BUDGET, force=force)
        self.actor.done("retrain", lambda: self.collection.retrain(options))

    @precondition(lambda self: self.actor.retrained)
    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        known = self.collection.catalog.generations(self.collection.name)
        complete = [
            one.number for one in self.collection.generations() if one.state == "kept" and one.number in known
        ]
        if complete:
            number = data.draw(st.sampled_from(complete))
            self.actor.done("rollback", lambda: self.collection.rollback(number))

    def some(self) -> st.SearchStrategy[list[str]]:
        return st.lists(st.sampled_from(sorted(self.actor.documents)), min_size=1, max_size=5, unique=True)

    def _labels(self) -> dict[str, str]:
        return {topic.id: topic.label for topic in self.collection.topics()}


def check(collection: Collection, expected: dict[str, str]) -> None:
    """Check a collection that no process is writing to.

    Args:
        expected: The text of each document that must be there, by id.
    """
    collection.engine.catch_up()  # Elasticsearch shows rows of other processes a moment later
    stored = {one.document.id: one for one in collection.documents()}
    texts = {id_: one.document.text for id_, one in stored.items()}
    assert texts == expected, sorted(set(texts.items()) ^ set(expected.items()))[:3]
    assert not compare(collection.engine, collection.catalog, collection.name).found
    assert not collection.engine.damage(deep=True).found
    sizes = Counter(weight.topic_id for one in stored.values() for weight in one.topics)
    topics = collection.topics()
    assert {topic.id: topic.size for topic in topics if topic.size} == dict(sizes)
    assert collection.engine.info().without_topic == sum(not one.topics for one in stored.values())
    _check_phrases(collection, list(stored))
    work = collection.work()
    assert work.idle, work


def _check_phrases(collection: Collection, stored: Sequence[str]) -> None:
    """Phrase rows are exactly the keyphrases, and what two documents mention."""
    mentioned = defaultdict(set)
    for row in collection.engine.mentions(stored):
        mentioned[row.phrase_id].add(row.document_id)
    there = {row.phrase_id: row for row in collection.engine.phrases(list(collection.engine.phrase_ids()))}
    wrong = [row.phrase for id_, row in there.items() if row.documents != len(mentioned[id_])]
    assert not wrong, wrong[:3]
    assert {id_ for id_, documents in mentioned.items() if len(documents) > 1} <= there.keys()
