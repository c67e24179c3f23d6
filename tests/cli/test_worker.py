"""What can be said of workers without any: messages, and status."""

from __future__ import annotations

import json

import pytest
from celery import Celery
from kombu.transport.memory import Transport

from indexer.catalog.batches import BatchOutcome

BROKER = "redis://:secret@127.0.0.1:9/0"  # nobody listens there


def test_worker_needs_a_broker(run, home):
    result = run("worker", home=home)
    assert result.exit_code == 2
    assert "There is no broker" in result.stderr
    assert "INDEXER_BROKER" in result.stderr


@pytest.mark.parametrize("queue", ["encoding", "", "encode,", "prepare,encoder"])
def test_worker_knows_its_queues(run, home, queue):
    result = run("worker", "--queue", queue, home=home)
    assert result.exit_code == 2
    assert ("there is no queue" in result.stderr) == (queue != "encode,")


@pytest.mark.slow
@pytest.mark.parametrize("command", [["worker", "--wait", "0"], ["index"]])
def test_a_broker_that_is_away_is_named_without_its_password(
    run, home, tmp_path, corpus, write, monkeypatch, command
):
    monkeypatch.setenv("INDEXER_BROKER", BROKER)
    source = [write(tmp_path / "a.jsonl", corpus())] if command == ["index"] else []
    result = run(*command, *source, home=home)
    assert result.exit_code == 1
    assert "The broker at redis://:***@127.0.0.1:9/0 does not answer" in result.stderr
    assert "secret" not in result.output
    if source:
        result = run(*command, *source, "--no-workers", "--topics", "3", home=home)
        assert "21 documents mined" in result.stdout


@pytest.mark.slow
def test_status_is_told_without_the_broker(read, monkeypatch):
    monkeypatch.setenv("INDEXER_BROKER", BROKER)
    result = read("status", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["work"]["queues"]["prepare"] is None


@pytest.mark.slow
def test_status_names_the_broker_that_is_away(read, monkeypatch):
    monkeypatch.setenv("INDEXER_BROKER", BROKER)
    text = " ".join(read("status").stdout.split())
    assert "problem The broker at redis://:***@127.0.0.1:9/0 does not answer." in text
    assert "documents 21" in text


def test_watching_ends_when_nothing_is_with_the_workers(read):
    assert read("status", "--watch").stdout == "the workers have no work\n"
    assert read("status", "--watch", "--json").exit_code == 2


def test_status_says_what_is_with_the_workers(run, home, tmp_path, corpus, write):
    from indexer.collection import Collection

    run("index", write(tmp_path / "a.jsonl", corpus()), "--topics", "3", home=home)
    with Collection.open(home=home) as collection:
        collection.catalog.mark("main", ["d01", "d02", "d03"], state="stored")
        open_run = collection.catalog.start_run("main", "index", {}, detached=True)
        held, away, _ = collection.catalog.create_batches(open_run, 1, max_open=3)
        collection.catalog.claim(held, "prepare")
        claim = collection.catalog.claim(away, "prepare")
        collection.catalog.release(claim, delay=60, error="Elasticsearch is away.")
        shown = " ".join(run("status", home=home).stdout.split())
    assert "3 documents left; prepare 1 waiting, 1 at work; encode 0 waiting, 0 at work; 1 postponed" in shown
    assert "Elasticsearch is away." in shown


@pytest.fixture
def broker(monkeypatch, tmp_path):
    """One in memory, for this test alone; gives what its queues are called before their own names."""
    prefix = tmp_path.name.replace("_", "-")
    monkeypatch.setenv("INDEXER_INDEX_PREFIX", prefix)
    monkeypatch.setenv("INDEXER_BROKER", "memory://")
    monkeypatch.setattr("workers.messages.ANSWER", 0.05)
    yield prefix
    Transport.global_state.clear()


@pytest.fixture
def waiting(run, home, tmp_path, corpus, write):
    """A collection of which two documents wait for workers, in a batch each; gives the run."""
    from indexer.collection import Collection

    run("index", write(tmp_path / "a.jsonl", corpus()), "--topics", "3", "--no-workers", home=home)
    with Collection.open(home=home) as collection:
        collection.catalog.mark("main", ["d01", "d02"], state="stored")
        begun = collection.catalog.start_run("main", "index", {}, detached=True)
        collection.catalog.create_batches(begun, 1, max_open=2)
    return begun


def test_status_says_that_no_worker_answers_for_what_waits(run, home, broker, waiting):
    shown = " ".join(run("status", home=home).stdout.split())
    nobody = f"no worker answers for prepare; start one: indexer --home {home} worker --queue prepare"
    assert f"no worker {nobody}" in shown


def test_a_worker_that_answers_for_another_queue_is_of_no_use(run, home, broker, waiting, monkeypatch):
    def answering(*queues):
        said = {"w@host": [{"name": name} for name in queues]}
        monkeypatch.setattr(
            "celery.app.control.Inspect.active_queues",
            lambda inspect: said if inspect.timeout == 0.05 else None,
        )
        return "no worker answers for prepare" in " ".join(run("status", home=home).stdout.split())

    assert answering(f"{broker}.encode", "other.prepare")
    assert not answering(f"{broker}.encode", f"{broker}.prepare")


def test_nobody_is_missing_where_somebody_is_at_work(run, home, broker, waiting):
    from indexer.collection import Collection

    with Collection.open(home=home) as collection:
        collection.catalog.claim(next(iter(collection.catalog.waiting())).id, "prepare")
        assert "no worker" not in run("status", home=home).stdout


def test_without_a_broker_nobody_can_be_asked(run, home, waiting):
    shown = " ".join(run("status", home=home).stdout.split())
    assert "no worker prepare: INDEXER_BROKER is not set here, so no worker can be asked" in shown


def test_status_says_that_a_run_is_being_finished(run, home, broker, waiting, monkeypatch):
    from indexer.collection import Collection

    def looks(seconds):
        collection.catalog.finish_run(waiting, "finished", {})

    with Collection.open(home=home) as collection:
        collection.catalog.mark("main", ["d01", "d02"], state="mined")
        for batch in collection.catalog.waiting():
            claim = collection.catalog.claim(batch.id, "prepare")
            collection.catalog.finish_batch(claim, BatchOutcome({}, ""))
        shown = " ".join(run("status", home=home).stdout.split())
        assert "finishing all is mined; keyphrases, topics and phrase rows follow" in shown
        assert "no worker answers for maintain" in shown
        with collection.catalog.lock("main", "indexer worker"):
            shown = " ".join(run("status", home=home).stdout.split())
            assert "phrase rows follow: indexer worker (pid " in shown
            assert "no worker" not in shown
            monkeypatch.setattr("indexer.cli.status.time.sleep", looks)
            first, second = run("status", "--watch", home=home).stdout.splitlines()
    assert first.startswith("all is mined; keyphrases, topics and phrase rows follow: indexer worker (pid ")
    assert second == "the workers have no work"


@pytest.mark.slow
def test_a_retrain_that_is_with_workers_is_shown(run, home, tmp_path, corpus, write, monkeypatch):
    from indexer.collection import Collection

    def looks(seconds):
        with Collection.open(home=home) as collection:
            collection.catalog.finish_run(begun, "finished", {})

    run("index", write(tmp_path / "a.jsonl", corpus()), "--topics", "3", home=home)
    with Collection.open(home=home) as collection:
        begun = collection.catalog.start_run("main", "retrain", {}, detached=True)
        collection.catalog.detach_run(begun, {"reason": "Workers are busy: train, 2 of 3."})
    prefix = tmp_path.name.replace("_", "-")  # queues in memory outlive a test
    monkeypatch.setenv("INDEXER_INDEX_PREFIX", prefix)
    monkeypatch.setenv("INDEXER_BROKER", "memory://")
    with Celery(broker="memory://").connection() as connection:
        for queue in ("train", "maintain"):
            connection.SimpleQueue(f"{prefix}.{queue}").put("a message")
    shown = " ".join(run("status", home=home).stdout.split())
    assert "Workers are busy: train, 2 of 3." in shown
    assert "train 1 message; maintain 1 message" in shown
    monkeypatch.setattr("indexer.cli.status.time.sleep", looks)
    lines = run("status", "--watch", home=home).stdout.splitlines()
    assert "train 1 message; maintain 1 message" in lines[0]
    assert lines[1].endswith(": Workers are busy: train, 2 of 3.")
    assert lines[2:] == ["the workers have no work"]
    Transport.global_state.clear()


@pytest.mark.slow
def test_status_says_who_retrains(run, home, tmp_path, corpus, write):
    from indexer.collection import Collection

    run("index", write(tmp_path / "a.jsonl", corpus()), "--topics", "3", home=home)
    with Collection.open(home=home) as collection, collection.catalog.lock("main@retrain", "indexer retrain"):
        assert "retraining indexer retrain (pid" in " ".join(run("status", home=home).stdout.split())


@pytest.mark.slow
def test_doctor_looks_at_the_broker(read, monkeypatch):
    monkeypatch.setenv("INDEXER_BROKER", BROKER)
    result = read("doctor", "--json")
    assert '"check": "broker"' in result.stdout
    assert "secret" not in result.output
