"""Everything that workers need, in one place: engine, catalog, broker and home, and a source to index."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from services.ports import wait_until

from indexer.collection import Collection
from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.pipeline.run import RunReport
from indexer.settings import Settings, load_settings

TESTS = Path(__file__).parents[1]
FRAGILE = TESTS / "workers" / "fragile_worker.py"
PATIENCE = 400  # seconds; far more than any test takes, also beside other programs

TERMS = ("robot arm", "motion planning", "ocean waves", "sea ice", "stock market", "option prices", "tax law")


def articles(number: int) -> list[dict[str, str]]:
    """Short documents, each with a word of its own."""
    made = []
    for at in range(number):
        a, b, c = (TERMS[(at + k) % len(TERMS)] for k in range(3))
        text = f"We study the {a} of a system. The {b} depends on the {c}. Station unique{at:04} reports."
        made.append({"id": f"d{at:04}", "title": f"On {a} and {b}", "text": text})
    return made


def written(path: Path, records: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@dataclass
class Site:
    """Where a test works."""

    home: Path
    places: Mapping[str, str] = field(default_factory=dict)  # settings by name

    @property
    def settings(self) -> Settings:
        return load_settings(home=self.home, **self.places)

    @contextmanager
    def workers(self, *queues: str, **behaviour: object) -> Iterator[subprocess.Popen[bytes]]:
        """Worker processes with small parts; see `fragile_worker.py` for what they can be made to do."""
        said = {"home": str(self.home), "log_level": "info", **self.places}
        environment = {
            **os.environ,
            **{f"INDEXER_{name.upper()}": value for name, value in said.items()},
            **{f"FRAGILE_{name.upper()}": str(value) for name, value in behaviour.items()},
            "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS), str(TESTS / "support")]),
        }
        with (self.home.parent / "workers.log").open("ab") as log:
            supervisor = subprocess.Popen(
                [sys.executable, str(FRAGILE), *queues], env=environment, stdout=log, stderr=log
            )
        try:
            yield supervisor
        finally:
            supervisor.send_signal(signal.SIGTERM)
            try:
                supervisor.wait(60)
            except subprocess.TimeoutExpired:
                supervisor.kill()
                supervisor.wait()

    @contextmanager
    def opened(self) -> Iterator[Collection]:
        with Collection.open(self.settings) as collection:
            yield collection

    @contextmanager
    def indexing(self, source: Path) -> Iterator[Future[RunReport]]:
        """The command, beside the test; one that does not end is left behind, and fails the test."""
        running: Future[RunReport] = Future()

        def index() -> None:
            try:
                with self.opened() as collection:
                    running.set_result(collection.index([source], topics=2))
            except Exception as error:
                running.set_exception(error)

        beside = threading.Thread(target=index, daemon=True)
        beside.start()
        yield running
        beside.join(PATIENCE)
        assert not beside.is_alive(), "the run does not end"

    def wait_for(self, reached: Callable[[Collection], object], what: str) -> None:
        with self.opened() as collection:
            wait_until(lambda: bool(reached(collection)), PATIENCE, what)

    def kill_a_worker(self) -> int:
        """SIGKILL to one that holds a batch at this moment; returns its process id."""
        pid = 0

        def kill(collection: Collection) -> bool:
            nonlocal pid
            for holder in collection.catalog.work(collection.name).holders:
                pid = int(holder.rpartition(":")[2])
                os.kill(pid, signal.SIGKILL)
                return True
            return False

        self.wait_for(kill, "a worker at work")
        return pid

    def check(self, documents: list[dict[str, str]], *, dead: tuple[str, ...] = ()) -> None:
        """Every document is there exactly once, can be found by its own word, and all but the dead ones are done."""
        with self.opened() as collection:
            ids = [record["id"] for record in documents]
            assert list(collection.engine.document_ids()) == sorted(ids)
            states = collection.catalog.count(collection.name)
            assert states == {"stored": len(dead), "mined": 0, "done": len(ids) - len(dead)}
            assert {letter.document_id for letter in collection.dead_letters()} == set(dead)
            info = collection.engine.info()
            assert (info.documents, info.mined) == (len(ids), len(ids) - len(dead))
            assert collection.catalog.work(collection.name).documents == 0
            for record in documents[:: max(1, len(documents) // 12)]:
                word = record["text"].split("unique")[1][:4]
                found = collection.engine.search(SearchRequest(words=WordQuery((Clause(f"unique{word}"),))))
                assert found.words is not None
                assert found.words.ids == (record["id"],)
            mined = [stored for stored in collection.documents() if stored.keyphrases and stored.bundle]
            assert len(mined) == len(ids) - len(dead)
