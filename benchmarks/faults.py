"""Take something away while workers index, and count: is every document there exactly once, mined, and found by a word?

    python -m benchmarks.faults --data articles.jsonl.gz --documents 3000
    python -m benchmarks.faults --only broker,engine --documents 600

Starts Elasticsearch, PostgreSQL and Redis itself (see tests/services), and `indexer worker`. Exits with 1 when
something was lost, came twice, or was not mined.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpus import SHIPPED, write_sample
from benchmarks.resetting_proxy import resetting
from benchmarks.servers import DEFAULT, ROOT, VERSIONS, Run, Servers, servers
from indexer.catalog.batches import LEASE
from indexer.engines.base import Clause, SearchRequest, WordQuery

AWAY = 60.0  # seconds that Elasticsearch is stopped
RESETS = 0.05  # of the connections
USER, PASSWORDS = "indexer", ("the first password", "the second password")
SECURED = {"xpack.security.enabled": "true", "xpack.security.autoconfiguration.enabled": "false"}
ROLE = """founder:
  cluster: ["monitor"]
  indices:
    - names: ["indexer-*"]
      privileges: ["read", "write", "manage"]
"""
POISON = "zzpoisonzz"
POISONED = ROOT / "benchmarks" / "programs" / "poisoned_worker.py"


def kill_worker(site: Servers, collection: str) -> None:
    """SIGKILL to every process that holds a batch at this moment, three times."""
    with site.opened(collection) as opened:
        for _ in range(3):
            while not (holders := opened.catalog.work(collection).holders):
                time.sleep(0.05)
            for holder in holders:
                os.kill(int(holder.rpartition(":")[2]), signal.SIGKILL)
            time.sleep(2)


def restart_broker(site: Servers, collection: str) -> None:
    site.redis.stop()
    site.redis.start()


def restart_catalog(site: Servers, collection: str) -> None:
    site.postgres.stop()
    site.postgres.start()


def stop_engine(site: Servers, collection: str) -> None:
    site.elastic.stop()
    time.sleep(AWAY)
    site.elastic.start()


def pause_workers(site: Servers, collection: str) -> None:
    """SIGSTOP to every process that holds a batch, until others have taken these over; then they resume."""
    with site.opened(collection) as opened:
        while not (holders := opened.catalog.work(collection).holders):
            time.sleep(0.05)
    stopped = [int(holder.rpartition(":")[2]) for holder in holders]
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    time.sleep(1.2 * LEASE)
    for process in stopped:
        os.kill(process, signal.SIGCONT)


def change_password(site: Servers, collection: str) -> None:
    """Another password on the server first, and in the file of the programs twenty seconds later."""
    users = site.elastic.config / "users"
    hashes = dict(line.split(":", 1) for line in users.read_text(encoding="utf-8").splitlines())
    users.write_text(f"{USER}:{hashes['other']}\n", encoding="utf-8")
    time.sleep(20)
    (site.home / "credentials").write_text(f"{USER}:{PASSWORDS[1]}", encoding="utf-8")


def two_passwords(config: Path, run: Run) -> None:
    """A user, and a second one whose password will be the user's."""
    (config / "roles.yml").write_text(ROLE, encoding="utf-8")
    run("elasticsearch-keystore", ["create"])
    for user, password in zip((USER, "other"), PASSWORDS, strict=True):
        run("elasticsearch-users", ["useradd", user, "-p", password, "-r", "founder"])


@contextmanager
def lossy(site: Servers) -> Iterator[None]:
    """Everybody talks to the server through a proxy that resets 5 % of the connections."""
    with resetting(site.elastic.port, RESETS) as proxy:
        site.more = {"INDEXER_ENGINE": f"http://127.0.0.1:{proxy.port}"}
        try:
            yield
        finally:
            site.more = {}
            print(f"resets: {proxy.resets:,} of {proxy.requests:,} requests", flush=True)


@contextmanager
def known(site: Servers) -> Iterator[None]:
    """Everybody has the password of a file."""
    (site.home / "credentials").write_text(f"{USER}:{PASSWORDS[0]}", encoding="utf-8")
    site.more = {"INDEXER_CREDENTIALS": f"@{site.home / 'credentials'}"}
    yield


@contextmanager
def as_it_is(site: Servers) -> Iterator[None]:
    yield


def nothing(site: Servers, collection: str) -> None:
    pass


@dataclass(frozen=True)
class Fault:
    """What is done at a third of the way, and with what settings Elasticsearch is started."""

    act: Callable[[Servers, str], None]
    elastic: Mapping[str, Any]
    poison: bool = False
    around: Callable[[Servers], AbstractContextManager[None]] = as_it_is
    setup: Callable[[Path, Run], None] | None = None


FAULTS = {
    "none": Fault(nothing, {}),
    "worker": Fault(kill_worker, {}),
    "broker": Fault(restart_broker, {}),
    "catalog": Fault(restart_catalog, {}),
    "engine": Fault(stop_engine, {}),
    "poison": Fault(nothing, {}, poison=True),
    "resets": Fault(nothing, {}, around=lossy),
    "paused": Fault(pause_workers, {}),
    "password": Fault(change_password, SECURED, around=known, setup=two_passwords),
    "413": Fault(nothing, {"http.max_content_length": "200kb"}),
    "429": Fault(nothing, {"thread_pool.write.size": 1, "thread_pool.write.queue_size": 1}),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHIPPED, help="JSON Lines, .gz or not")
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--only", default=",".join(FAULTS), help=f"of {', '.join(FAULTS)}")
    parser.add_argument("--elasticsearch", choices=VERSIONS, default=DEFAULT)
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    worst = 0
    plain = [name for name in names if not FAULTS[name].elastic]
    print("fault      documents  lost  twice  not mined  dead  not found  seconds", flush=True)
    if plain:
        with servers(arguments.elasticsearch) as site:
            worst = max(tried(site, name, arguments) for name in plain)
    for name in names:
        if name not in plain:
            with servers(arguments.elasticsearch, FAULTS[name].elastic, FAULTS[name].setup) as site:
                worst = max(worst, tried(site, name, arguments))
    sys.exit(worst)


def tried(site: Servers, name: str, arguments: argparse.Namespace) -> int:
    """One run with one fault; returns 1 when something is wrong in the end."""
    fault, collection = FAULTS[name], f"fault-{name}"
    source = site.home / f"{name}.jsonl"
    write_sample(arguments.data, arguments.documents, source)
    dead = poisoned(source) if fault.poison else set()
    start = time.perf_counter()
    with fault.around(site), site.workers(*([str(POISONED)] if fault.poison else [])):
        running = site.index(collection, source)
        with site.opened(collection) as opened:
            while (
                running.poll() is None
                and opened.catalog.count(collection)["mined"] < arguments.documents // 3
            ):
                time.sleep(0.1)
        if running.poll() is None:
            fault.act(site, collection)
        output, _ = running.communicate()
    seconds = time.perf_counter() - start
    if running.returncode:
        print(f"{name}: the command ended with {running.returncode}\n{output}")
        return 1
    return counted(site, name, collection, source, dead, seconds)


def poisoned(source: Path) -> set[str]:
    """Put into one document what kills the process that encodes it; returns its id."""
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    rows[len(rows) // 2]["text"] += f" {POISON}"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return {rows[len(rows) // 2]["id"]}


def counted(site: Servers, name: str, collection: str, source: Path, dead: set[str], seconds: float) -> int:
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    expected = {row["id"] for row in rows}
    with site.opened(collection) as opened:
        opened.engine.catch_up()
        there = Counter(opened.engine.document_ids())
        mined = {s.document.id for s in opened.documents() if s.bundle}
        failed = {one.document_id for one in opened.dead_letters()}
        states = opened.catalog.count(collection)
        lost_words = 0
        for row in rows[:: max(1, len(rows) // 200)]:
            words = [word for word in row["text"].split() if word.isalpha()][:6]
            query = WordQuery(tuple(Clause(word) for word in words))
            answer = opened.engine.search(SearchRequest(words=query, limit=1_000)).words
            lost_words += answer is None or row["id"] not in answer.ids
    lost, twice = len(expected - there.keys()), sum(number - 1 for number in there.values())
    not_mined = len(expected - mined - dead)
    print(
        f"{name:10} {len(expected):9,} {lost:5} {twice:6} {not_mined:10} {len(failed):5} {lost_words:10} "
        f"{seconds:8.1f}",
        flush=True,
    )
    done = states["done"] == len(expected) - len(dead)
    return int(bool(lost or twice or not_mined or lost_words) or failed != dead or not done)


if __name__ == "__main__":
    main()
