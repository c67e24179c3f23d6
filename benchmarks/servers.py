"""Elasticsearch, PostgreSQL and Redis for benchmarks of workers: those of the tests, each of which can be stopped.

Elasticsearch is 9.2 by default: before Java 21 it multiplies vectors one number at a time, and builds
their graphs several times slower.

They are started as `tests/services` says: programs of this machine, and Elasticsearch by Maven.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import services.postgres  # noqa: E402
import services.redis  # noqa: E402
from services.distribution import VERSIONS, unpacked  # noqa: E402
from services.elastic import Run, started  # noqa: E402
from services.guarded import Guarded  # noqa: E402
from services.ports import free_port  # noqa: E402

from indexer.collection import Collection  # noqa: E402
from indexer.settings import load_settings  # noqa: E402

DEFAULT = "9.2"
PASSED_ON = ("INDEXER_THREADS", "INDEXER_BACKEND", "INDEXER_VECTOR_INDEX")
JAVA = "-Xms2g -Xmx2g"  # with the compiler that knows vector instructions, which short tests do without


class Elastic:
    """A server on one port that keeps its data when it is stopped; in a folder of the caller, if one is given."""

    def __init__(
        self,
        version: str,
        settings: Mapping[str, Any],
        setup: Callable[[Path, Run], None] | None = None,
        data: Path | None = None,
    ) -> None:
        self._distribution = unpacked(VERSIONS[version])
        self.port = free_port()
        self.data = data or Path(tempfile.mkdtemp(prefix="indexer-elastic-data-"))
        self.data.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(self.data, "nobody")
        self._settings = {**settings, "http.port": self.port, "path.data": str(self.data)}
        self._setup = setup
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        server = started(self._distribution, self._settings, setup=self._setup, java=JAVA)
        self.config = self._stack.enter_context(server).config

    def stop(self) -> None:
        self._stack.close()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)


@dataclass
class Servers:
    """What one benchmark works with."""

    elastic: Elastic
    postgres: Guarded
    redis: Guarded
    home: Path
    more: dict[str, str] = field(default_factory=dict)  # environment

    def environment(self, collection: str, *, broker: bool = True) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("INDEXER_")}
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return {
            **inherited,
            **kept,
            "INDEXER_HOME": str(self.home),
            "INDEXER_ENGINE": self.elastic.url,
            "INDEXER_DATABASE": services.postgres.url_of(self.postgres),
            "INDEXER_BROKER": services.redis.url_of(self.redis) if broker else "",
            "INDEXER_COLLECTION": collection,
            "INDEXER_LOG_LEVEL": "info",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "support")]),
            **self.more,
        }

    def opened(self, collection: str) -> Collection:
        said = self.environment(collection)
        names = ["home", "engine", "database", "broker", "collection"]
        names += ["credentials"] if "INDEXER_CREDENTIALS" in said else []
        return Collection.open(load_settings(**{name: said[f"INDEXER_{name.upper()}"] for name in names}))

    def index(
        self, collection: str, source: Path, *options: str, broker: bool = True
    ) -> subprocess.Popen[str]:
        """The command, as a person would give it."""
        return subprocess.Popen(
            [sys.executable, "-m", "indexer.cli", "index", str(source), "--json", *options],
            env=self.environment(collection, broker=broker), stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    @contextmanager
    def workers(self, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """`indexer worker`, or another program in its place."""
        program = command or ("-m", "indexer.cli", "worker")
        with (self.home / "workers.log").open("ab") as log:
            running = subprocess.Popen(
                [sys.executable, *program], env=self.environment("main"), stdout=log, stderr=log
            )
        try:
            yield running
        finally:
            running.terminate()
            running.wait()


@contextmanager
def servers(
    version: str, settings: Mapping[str, Any] | None = None, setup: Callable[[Path, Run], None] | None = None
) -> Iterator[Servers]:
    """All three, in an empty home; nothing is left behind.

    Args:
        version: Of Elasticsearch.
        settings: Of Elasticsearch.
        setup: See `services.elastic.started`.
    """
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="indexer-benchmark-")))
        engine = Elastic(version, settings or {}, setup)
        stack.callback(engine.remove)
        engine.start()
        postgres = services.postgres.started_postgres()
        stack.callback(postgres.remove)
        redis = services.redis.started_redis()
        stack.callback(redis.remove)
        yield Servers(engine, postgres, redis, home)
