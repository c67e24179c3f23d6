"""Workers with a real broker, catalog and engine, each of which is taken away while they work.

Every test ends with the same question: is every document there exactly once, mined, and found by its own word?
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from urllib.request import urlopen

import pytest
import services.postgres
import services.rabbitmq
import services.redis
from prometheus_client.parser import text_string_to_metric_families
from services.asking import asked_for, needs
from services.elastic import elasticsearch, no_indices
from services.guarded import Guarded
from services.ports import free_port, wait_until
from workers_site import PATIENCE, Site, articles, written

from indexer.collection import Collection
from indexer.engines.elastic import ElasticEngine

pytestmark = needs("elasticsearch-8.19")

ALL = ("prepare", "encode", "maintain")
NUMBERS = count(1)
SAMPLE = 40  # documents that topics are fitted to


@pytest.fixture(scope="module")
def postgres(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    if not asked_for(request.config):
        pytest.skip("Needs PostgreSQL: run with -m live.")
    server = services.postgres.started_postgres()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def redis(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    if not asked_for(request.config):
        pytest.skip("Needs Redis: run with -m live.")
    server = services.redis.started_redis()
    yield server
    server.remove()


@pytest.fixture
def site(
    tmp_path: Path, postgres: Guarded, redis: Guarded, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    """A collection of its own in Elasticsearch, with batches of eight documents so that there are many."""
    monkeypatch.setattr("workers.messages.CHUNK", 8)
    monkeypatch.setattr("workers.messages.UNDERWAY", 1.0)
    monkeypatch.setattr("workers.pool.SWEEP_INTERVAL_S", 0.5)
    monkeypatch.setattr("indexer.pipeline.topic_fit.SAMPLE_DOCUMENTS", SAMPLE)
    name = f"workers-{next(NUMBERS)}-{os.getpid()}"
    url = elasticsearch("8.19")
    yield Site(
        tmp_path / "home",
        {
            "engine": url,
            "database": services.postgres.url_of(postgres),
            "broker": services.redis.url_of(redis),
            "collection": name,
            "index_prefix": f"test-{name}",
        },
    )
    no_indices(url, f"test-{name}-*")


def has_mined_some(collection: Collection) -> bool:
    """Whether the workers have begun; they may have finished before they are looked at."""
    states = collection.catalog.count(collection.name)
    return states["mined"] + states["done"] > 10


def test_documents_go_the_whole_way_through_several_workers(site: Site, tmp_path: Path) -> None:
    documents = articles(120)
    source = written(tmp_path / "a.jsonl", documents)
    with site.workers("prepare", "encode", "encode", seconds=0.05), site.indexing(source) as running:
        report = running.result(PATIENCE)
    assert (report.new, report.mined, report.failed, report.left_to_workers) == (120, 120, 0, 0)
    assert report.topics
    site.check(documents)
    with site.opened() as collection:
        assert [run.state for run in collection.catalog.runs(collection.name)] == ["finished"]


def test_workers_write_further_documents_with_their_topics(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[str] = []  # documents that the command writes a second time, to give them topics
    refine = ElasticEngine.refine
    monkeypatch.setattr(
        ElasticEngine, "refine", lambda engine, rows: again.extend(r.id for r in rows) or refine(engine, rows)
    )
    documents = articles(240)
    with site.workers("prepare", "encode", seconds=0.1):
        with site.indexing(written(tmp_path / "a.jsonl", documents)) as running:
            report = running.result(PATIENCE)
        assert (report.mined, report.new_fit) == (240, True)
        assert SAMPLE <= len(again) < 240
        again.clear()
        more = [record | {"id": f"more-{record['id']}"} for record in articles(20)]
        with site.opened() as collection:
            collection.index([written(tmp_path / "b.jsonl", more)])
        assert again == []
    with site.opened() as collection:
        twins = collection.engine.documents([record["id"] for record in more])
        first = collection.engine.documents([record["id"] for record in documents[:20]])
        assert [(d.topics, d.keyphrases) for d in twins] == [(d.topics, d.keyphrases) for d in first]
        assert all(stored.topics for stored in twins)


def test_one_address_shows_the_figures_of_all_processes(site: Site, tmp_path: Path) -> None:
    port = free_port()
    source = written(tmp_path / "a.jsonl", articles(40))
    with site.workers("prepare", "encode", "encode", metrics=port), site.indexing(source) as running:
        running.result(PATIENCE)
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            families = text_string_to_metric_families(answer.read().decode())
            found = {
                (sample.name, *sorted(sample.labels.values())): sample.value
                for one in families
                for sample in one.samples
            }
    for stage in ("prepare", "encode", "write"):
        assert found["indexer_documents_total", "done", stage] == 40
    assert found["indexer_batch_documents_sum",] == 40
    assert found["indexer_encode_seconds_count",] == found["indexer_batch_documents_count",] >= 5


def test_a_worker_is_killed_while_it_works(site: Site, tmp_path: Path) -> None:
    documents = articles(100)
    source = written(tmp_path / "a.jsonl", documents)
    with site.workers(*ALL, seconds=0.3), site.indexing(source) as running:
        for _ in range(3):
            site.kill_a_worker()
        report = running.result(PATIENCE)
    assert (report.mined, report.failed) == (100, 0)
    site.check(documents)


def test_rabbitmq_is_a_broker_too(site: Site, tmp_path: Path) -> None:
    broker = services.rabbitmq.started_rabbitmq()
    try:
        beside = replace(site, places={**site.places, "broker": services.rabbitmq.url_of(broker)})
        documents = articles(60)
        source = written(tmp_path / "a.jsonl", documents)
        with beside.workers(*ALL, seconds=0.3), beside.indexing(source) as running:
            beside.kill_a_worker()
            report = running.result(PATIENCE)
        assert (report.mined, report.failed) == (60, 0)
        beside.check(documents)
    finally:
        broker.remove()


def test_the_broker_is_restarted_and_has_forgotten_everything(
    site: Site, tmp_path: Path, redis: Guarded
) -> None:
    documents = articles(100)
    source = written(tmp_path / "a.jsonl", documents)
    with site.workers(*ALL, seconds=0.3), site.indexing(source) as running:
        site.wait_for(has_mined_some, "the first mined documents")
        redis.stop()
        redis.start()
        report = running.result(PATIENCE)
    assert (report.mined, report.failed) == (100, 0)
    site.check(documents)


def test_the_catalogs_server_is_restarted(site: Site, tmp_path: Path, postgres: Guarded) -> None:
    documents = articles(100)
    source = written(tmp_path / "a.jsonl", documents)
    with site.workers(*ALL, seconds=0.3), site.indexing(source) as running:
        site.wait_for(has_mined_some, "the first mined documents")
        postgres.stop()
        postgres.start()
        report = running.result(PATIENCE)
    assert (report.mined, report.failed) == (100, 0)
    site.check(documents)


@pytest.mark.parametrize(("word", "stage"), [("killer", "encode"), ("tagkiller", "prepare")])
def test_a_document_that_kills_its_worker_is_found_and_buried(
    site: Site, tmp_path: Path, word: str, stage: str
) -> None:
    documents = articles(30)
    documents[13]["text"] += f" This one is a {word} indeed."
    source = written(tmp_path / "a.jsonl", documents)
    with site.workers(*ALL), site.indexing(source) as running:
        report = running.result(PATIENCE)
    assert (report.mined, report.failed) == (29, 1)
    assert "crashed on this document" in report.problems[0]
    site.check(documents, dead=("d0013",))
    with site.opened() as collection:
        (letter,) = collection.dead_letters()
        assert (letter.stage, letter.source) == (stage, f"{source}:14")


def test_who_is_told_to_stop_finishes_the_batch_in_hand(site: Site, tmp_path: Path) -> None:
    documents = articles(64)
    source = written(tmp_path / "a.jsonl", documents)
    with site.indexing(source) as running:
        with site.workers(*ALL, seconds=0.5) as supervisor:
            site.wait_for(lambda c: c.catalog.work(c.name).held["encode"], "an encoder at work")
            supervisor.send_signal(signal.SIGTERM)
            assert supervisor.wait(60) == 0
        with site.opened() as collection:
            work = collection.catalog.work(collection.name)
            assert not any(work.held.values())
            assert work.documents
        with site.workers(*ALL):
            assert running.result(PATIENCE).mined == 64
    site.check(documents)


def test_workers_finish_what_a_command_does_not_wait_for(site: Site, tmp_path: Path) -> None:
    documents = articles(60)
    source = written(tmp_path / "a.jsonl", documents)
    site.places = {**site.places, "batches_ahead": "2"}  # the command cuts two batches, workers the rest
    with site.opened() as collection:
        report = collection.index([source], topics=2, wait=False)
    assert (report.new, report.mined, report.left_to_workers) == (60, 0, 60)
    assert not report.nothing_changed
    with site.workers(*ALL):
        site.wait_for(lambda c: c.catalog.run(report.run).state == "finished", "the end of the run")
    site.check(documents)


def test_a_command_that_is_killed_leaves_the_rest_to_the_workers(site: Site, tmp_path: Path) -> None:
    documents = articles(60)
    source = written(tmp_path / "a.jsonl", documents)
    pid = os.fork()
    if pid == 0:  # the command
        try:
            with site.opened() as collection:
                collection.index([source], topics=2)
        finally:
            os._exit(1)
    with site.workers(*ALL, seconds=0.3):
        site.wait_for(has_mined_some, "the first mined documents")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with site.opened() as collection:
            wait_until(lambda: not collection.catalog.open_runs(), PATIENCE, "the end of the run")
    site.check(documents)
