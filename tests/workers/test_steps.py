"""What a worker does with a batch, without a broker: a real catalog and engine, and small parts for the heavy ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import closing, suppress
from pathlib import Path
from shutil import copytree

import pytest
from fake_model import fake_model, saying
from services.ports import wait_until
from small_parts import PlainPreparer, WideHashEncoder
from workers_site import FRAGILE, PATIENCE, TESTS, articles, written

from indexer.catalog import LedgerEntry
from indexer.collection import Collection
from indexer.engines.registry import open_generations
from indexer.errors import EngineUnavailable, NotFound
from indexer.pipeline.next_generation import MiningOptions, NextGeneration
from indexer.records import Document
from indexer.topics.models.registry import TopicRequest
from workers import maintenance, steps
from workers.messages import Message
from workers.resources import Resources

SMALL_CHUNK = 8


class Encoder(WideHashEncoder):
    """Does what `on_encode` says to the texts of a chunk, before it encodes them."""

    on_encode = staticmethod(lambda texts: None)

    def encode(self, windows):
        self.on_encode([window.text for window in windows])
        return super().encode(windows)


class Tray:
    """A broker without one: messages lie here until `work` does what they say."""

    def __init__(self):
        self.messages: deque[Message] = deque()
        self.most = 0

    def check(self):
        pass

    def send(self, catalog, messages):
        self.messages += messages
        self.most = max(self.most, len(self.messages))
        catalog.mark_sent([message.batch for message in messages])
        return len(messages)

    def sweep(self, catalog):
        """As the real one does when all messages are lost."""
        return self.send(catalog, [Message(w.state, w.collection, w.id) for w in catalog.waiting()])

    def depth(self, queue):
        return len(self.messages)


@pytest.fixture
def encoder(monkeypatch):
    made = Encoder()
    monkeypatch.setattr("models.load.load_encoder", lambda *_, **__: made)
    monkeypatch.setattr("indexer.text.pool._preparer", PlainPreparer)
    monkeypatch.setattr("indexer.collection.TAGGERS", 0)
    monkeypatch.setattr("workers.messages.CHUNK", SMALL_CHUNK)
    monkeypatch.setattr("workers.steps.backoff", lambda tries: 0.0)
    return made


@pytest.fixture
def tray():
    return Tray()


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory):
    """Made once, to be copied: the schema of the catalog is the slow part."""
    home = tmp_path_factory.mktemp("empty") / "home"
    Collection.open(home=home).close()
    return home


@pytest.fixture
def collection(tmp_path, empty_home, encoder, tray, monkeypatch):
    """A collection whose commands hand their documents to workers: us, while the command waits."""
    monkeypatch.setattr("workers.pool.Sender", lambda settings: tray)
    copytree(empty_home, tmp_path / "home")
    with Collection.open(home=tmp_path / "home", broker="memory://", batches_ahead=3) as opened:
        resources = Resources(opened.settings, "encode")
        monkeypatch.setattr("workers.pool.POLL_INTERVAL_S", 0.0)
        monkeypatch.setattr("workers.pool.SWEEP_INTERVAL_S", 0.0)
        monkeypatch.setattr("workers.pool.sleep", lambda seconds: work(resources, tray))
        yield opened
        resources.close()


def work(resources, tray, most=10_000):
    """What workers do until there is no message, or so many are done."""
    for _ in range(most):
        if not tray.messages:
            return
        message = tray.messages.popleft()
        tray.send(resources.catalog, steps.work(resources, message.state, message.batch))


def state(collection):
    documents = {
        s.document.id: (s.document.content_hash, s.keyphrases, s.topics, s.bundle)
        for s in collection.documents()
    }
    mentions = [
        (m.document_id, m.phrase, m.places, m.score, m.topic, m.vector.tobytes())
        for m in collection.engine.mentions(sorted(documents))
    ]
    topics = sorted((t.id, t.label, t.size, t.phrases) for t in collection.topics())
    return documents, mentions, topics, sorted(collection.engine.phrase_ids())


@pytest.fixture
def source(tmp_path):
    return written(tmp_path / "a.jsonl", articles(40))


@pytest.mark.slow
def test_workers_and_one_process_end_in_the_same_state(collection, source, tmp_path, monkeypatch):
    monkeypatch.setattr("indexer.pipeline.run.CHUNK", SMALL_CHUNK)
    with Collection.open(home=tmp_path / "alone") as alone:
        alone.index([source], topics=3)
        report = collection.index([source], topics=3)
        assert (report.new, report.mined, report.failed) == (40, 40, 0)
        assert report.bundle == Encoder.bundle
        assert state(collection) == state(alone)
    assert collection.index([source]).nothing_changed


@pytest.mark.slow
def test_who_has_worked_before_works_on_the_generation_that_is_live_now(collection, source, tmp_path):
    collection.index([source], topics=3)
    recipe = MiningOptions(
        collection.settings.bundle, Encoder.dims, Encoder, tagger="auto", taggers=0, keyphrases=10
    )
    run = collection.catalog.start_run("main", "retrain", {})
    with (
        closing(open_generations(collection.settings)) as generations,
        closing(NextGeneration(generations, collection.catalog, "main", run, recipe)) as following,
    ):
        following.take_over(following.build(TopicRequest(number=3)))
    with Collection.open(collection.settings) as again:
        report = again.index([written(tmp_path / "b.jsonl", articles(48)[40:])])
        assert (report.new, report.mined) == (8, 8)
        assert again.status().documents == {"stored": 0, "mined": 0, "done": 48}
        assert again.document("d0047").bundle == Encoder.bundle


def test_no_more_batches_are_out_than_the_settings_say(collection, source, tray):
    tray.sweep = lambda catalog: 0
    collection.index([source], topics=2)
    assert 0 < tray.most <= 3


def test_without_workers_all_is_done_here(collection, source, tray):
    assert collection.index([source], topics=2, workers=False).mined == 40
    assert tray.most == 0


def test_messages_hold_no_text(collection, source, tray):
    collection.index([source], topics=2, wait=False)
    assert {(m.state, m.collection, len(m.batch)) for m in tray.messages} == {("prepare", "main", 26)}


def test_messages_that_were_lost_are_sent_again(collection, source, tray, monkeypatch):
    lost = [tray.messages.clear, tray.messages.popleft]
    encode = steps.STEPS["encode"]

    def encode_and_lose(resources, claim):
        if lost and tray.messages:
            lost.pop()()
        return encode(resources, claim)

    monkeypatch.setitem(steps.STEPS, "encode", encode_and_lose)
    assert collection.index([source], topics=2).mined == 40
    assert not lost


def test_a_message_that_comes_twice_is_done_once(collection, source, tray, encoder):
    collection.index([source], topics=2, wait=False)
    tray.messages.extend([*tray.messages, Message("encode", "main", "unheard")])
    resources = Resources(collection.settings, "encode")
    work(resources, tray)
    resources.close()
    assert collection.catalog.count("main")["mined"] == 3 * SMALL_CHUNK
    assert collection.catalog.run(collection.catalog.runs("main")[0].id).counts["mined"] == 3 * SMALL_CHUNK


@pytest.mark.slow
def test_a_text_that_changes_on_the_way_is_mined_as_it_is_in_the_end(collection, source, encoder):
    changes = deque(["when it is encoded"])

    def change(texts):
        if changes and any("unique0003" in text for text in texts):
            changes.pop()
            new = Document("d0003", "Deep sea fish live near hydrothermal vents.")
            collection.engine.store([new])
            collection.catalog.record("main", [LedgerEntry("d0003", new.content_hash)])

    encoder.on_encode = change
    assert collection.index([source], topics=2).mined == 40
    assert not changes
    assert any("vent" in row.phrase for row in collection.engine.mentions(["d0003"]))
    assert collection.document("d0003").document.text.startswith("Deep sea")


@pytest.mark.slow
def test_a_text_that_changed_between_prepare_and_encode_is_prepared_again(collection, source, monkeypatch):
    prepare = steps.STEPS["prepare"]
    changes = deque(["once"])

    def prepare_and_change(resources, claim):
        following = prepare(resources, claim)
        if changes and "d0003" in claim.ids:
            changes.pop()
            collection.engine.store([Document("d0003", "Short.")])
        return following

    monkeypatch.setitem(steps.STEPS, "prepare", prepare_and_change)
    collection.index([source], topics=2)
    assert collection.document("d0003").document.text == "Short."
    assert collection.engine.info().mined == 40


@pytest.mark.slow
def test_a_document_that_is_removed_meanwhile_is_no_problem(collection, source, encoder):
    encoder.on_encode = lambda texts: collection.engine.delete(["d0007"])
    report = collection.index([source], topics=2)
    assert (report.mined, report.failed) == (39, 0)
    assert collection.dead_letters() == []


@pytest.mark.slow
def test_a_document_that_cannot_be_encoded_takes_no_other_with_it(collection, source, encoder):
    def refuse(texts):
        if any("unique0005" in text for text in texts):
            raise RuntimeError("too odd")

    encoder.on_encode = refuse
    report = collection.index([source], topics=2)
    assert (report.mined, report.failed) == (39, 1)
    (letter,) = collection.dead_letters()
    assert (letter.document_id, letter.stage) == ("d0005", "encode")
    assert "too odd" in report.problems[0]
    encoder.on_encode = lambda texts: None
    assert collection.index([source], topics=2).nothing_changed  # it might kill its worker again
    assert collection.retry().mined == 1
    assert collection.dead_letters() == []


@pytest.mark.slow
def test_a_dead_document_with_another_text_is_tried_again(collection, source, encoder, tmp_path):
    def refuse(texts):
        if any("unique0005" in text for text in texts):
            raise RuntimeError("too odd")

    encoder.on_encode = refuse
    collection.index([source], topics=2)
    records = articles(40)
    records[5]["text"] = "The robot arm is mended."
    report = collection.index([written(tmp_path / "a.jsonl", records)])
    assert (report.changed, report.mined) == (1, 1)
    assert collection.dead_letters() == []


@pytest.mark.slow
def test_while_the_engine_is_away_batches_are_put_off_and_nothing_is_buried(collection, source, monkeypatch):
    away = deque([True] * 20)
    write = steps.write_chunk

    def sometimes(engine, rows, documents):
        if away:
            away.pop()
            raise EngineUnavailable("There is no answer.")
        return write(engine, rows, documents)

    monkeypatch.setattr("workers.steps.write_chunk", sometimes)
    report = collection.index([source], topics=2)
    assert (report.mined, report.failed) == (40, 0)
    assert not away


@pytest.mark.slow
def test_what_fails_again_and_again_is_divided_until_only_the_culprit_is_left(
    collection, source, monkeypatch
):
    decide = steps.mined

    def odd(document, *rest):
        if document.id == "d0011":
            raise KeyError("a bug")
        return decide(document, *rest)

    monkeypatch.setattr("workers.steps.mined", odd)
    monkeypatch.setattr("workers.steps.logger.exception", lambda *_, **__: None, raising=False)
    report = collection.index([source], topics=2)
    assert (report.mined, report.failed) == (39, 1)
    (letter,) = collection.dead_letters()
    assert letter.document_id == "d0011"
    assert "KeyError: 'a bug'" in letter.reason


@pytest.mark.slow
def test_a_document_that_kills_its_worker_is_buried_and_nothing_else(collection, source, tray, monkeypatch):
    """The worker is a thread of ours here, so its death is that it neither goes on nor gives back what it holds."""
    encode = steps.STEPS["encode"]
    deaths = []

    def die(resources, claim):
        if "d0020" in claim.ids:
            deaths.append(claim.ids)
            resources.catalog.renew_claim(claim, lease=0.0)
            monkeypatch.setattr(resources.catalog, "release", lambda *_, **__: None)
            raise SystemExit
        return encode(resources, claim)

    def work_on(seconds):
        with Resources(collection.settings, "encode").catalog as catalog:
            resources = Resources(collection.settings, "encode")
            resources.__dict__["catalog"] = catalog
            with suppress(SystemExit):
                work(resources, tray)

    monkeypatch.setitem(steps.STEPS, "encode", die)
    monkeypatch.setattr("workers.pool.sleep", work_on)
    report = collection.index([source], topics=2)
    assert (report.mined, report.failed) == (39, 1)
    assert [len(ids) for ids in deaths] == [SMALL_CHUNK, SMALL_CHUNK, 1, 1]
    (letter,) = collection.dead_letters()
    assert letter.document_id == "d0020"
    assert "crashed on this document" in letter.reason


@pytest.mark.slow
def test_a_maintaining_worker_feeds_and_finishes_a_run_that_nobody_waits_for(collection, source, tray):
    report = collection.index([source], topics=3, wait=False)
    assert (report.left_to_workers, report.nothing_changed) == (40, False)
    resources = Resources(collection.settings, "maintain")
    with collection.catalog.lock("main", "somebody"):  # who waits finishes it
        for _ in range(3):
            work(resources, tray)
            maintenance.maintain(resources, tray)
        assert collection.catalog.run(report.run).state == "running"
    maintenance.maintain(resources, tray)
    resources.close()
    run = collection.catalog.run(report.run)
    assert (run.state, run.counts["mined"], run.counts["topics"]) == (
        "finished",
        40,
        len(collection.topics()),
    )
    assert collection.catalog.count("main")["done"] == 40
    assert len(collection.topics()) == 3


@pytest.mark.slow
def test_a_maintaining_worker_has_topics_named_by_the_model_of_its_settings(collection, source, tray):
    collection.index([source], topics=3, wait=False)
    with fake_model() as fake:
        fake.says = lambda shown: saying(shown["phrases"][1].upper())
        named = {"naming_url": fake.url, "naming_model": "small"}
        with closing(Resources(collection.settings.model_copy(update=named), "maintain")) as resources:
            work(resources, tray)
            maintenance.maintain(resources, tray)
            work(resources, tray)
            maintenance.maintain(resources, tray)
    assert len(fake.requests) == 3
    assert "model" in {collection.why_name(topic.id).origin for topic in collection.topics()}


def test_a_run_without_workers_ends_one_that_no_worker_ever_took(collection, source, tray):
    left = collection.index([source], wait=False).run
    report = collection.index([source], topics=3, workers=False)
    assert (report.unchanged, report.mined) == (40, 40)
    catalog = collection.catalog
    assert (catalog.run(left).state, catalog.run(left).counts["new"]) == ("interrupted", 40)
    assert catalog.work("main").documents == 0
    with pytest.raises(NotFound, match="replaced none"):  # nobody is in its way any more
        collection.rollback()
    catalog.mark("main", ["d0000"], state="stored")
    assert catalog.create_batches(left, 1, max_open=9) == []  # by a worker that looked before
    resources = Resources(collection.settings, "encode")
    work(resources, tray)  # the messages of then
    resources.close()
    assert catalog.count("main") == {"stored": 1, "mined": 0, "done": 39}


def test_a_run_that_a_worker_is_at_is_left_to_it(collection, source, tray):
    left = collection.index([source], wait=False).run
    claim = collection.catalog.claim(tray.messages[0].batch, "prepare")
    collection.index([source], topics=3, workers=False)
    assert [run.id for run in collection.catalog.open_runs("main")] == [left]
    assert collection.catalog.renew_claim(claim)


@pytest.mark.slow
def test_a_second_signal_gives_the_batch_in_hand_back(collection, source, tray, monkeypatch):
    monkeypatch.setattr("workers.messages.CHUNK", 1)
    collection.index([source], wait=False)
    resources = Resources(collection.settings, "prepare")
    work(resources, tray, most=1)
    resources.close()
    batch = tray.messages[-1].batch
    environment = {
        **os.environ,
        **{"INDEXER_HOME": str(collection.settings.home), "INDEXER_BROKER": "memory://"},
        **{"FRAGILE_FIRST": batch, "FRAGILE_SECONDS": "600"},
        "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS), str(TESTS / "support")]),
    }
    worker = subprocess.Popen([sys.executable, str(FRAGILE), "encode", "encode-1"], env=environment)
    try:
        wait_until(lambda: collection.catalog.work("main").held["encode"] == 1, PATIENCE, "a batch in hand")
        time.sleep(0.5)
        worker.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert worker.poll() is None
        worker.send_signal(signal.SIGQUIT)
        worker.wait(60)
    finally:
        worker.kill()
        worker.wait()
    claim = collection.catalog.claim(batch, "encode")
    assert (claim.deaths, claim.failures, claim.tries) == (0, 0, 1)
    assert collection.dead_letters() == []


def test_candidates_are_offsets_and_the_same_phrases_come_back():
    document = Document("a", "The heat pumps of Heat Pump makers.", "On heat")
    (prepared,) = PlainPreparer().prepare([document])
    candidate = steps.to_candidate(document, prepared)
    assert steps.to_prepared(document, candidate) == prepared
    assert "heat" not in repr(candidate).replace(candidate.content_hash, "")


def test_a_worker_that_looks_in_another_place_forgets_and_buries_nothing(
    collection, source, tray, tmp_path: Path
):
    collection.index([source], topics=2, wait=False)
    elsewhere = collection.settings.model_copy(update={"home": tmp_path / "elsewhere"})
    resources = Resources(elsewhere, "prepare")
    work(resources, tray, most=3)
    resources.close()
    assert collection.catalog.count("main")["stored"] == 40
    assert collection.dead_letters() == []
    assert "There is no collection" in collection.catalog.work("main").problems[0]


@pytest.mark.slow
def test_crew_says_so_when_nobody_works(collection, source, tray, monkeypatch, capsys):
    monkeypatch.setattr("workers.pool.NO_WORKER_S", -1.0)
    stages = []
    collection.index([source], topics=2, progress=lambda stage, done, total: stages.append(stage))
    assert "mine: no worker is busy" in stages
    said = capsys.readouterr()
    assert f"{said.out}{said.err}".count("no_worker") == 1
