"""Every engine goes through the same tests: the embedded one always, Elasticsearch with `-m live`.

To add an engine, add a function to `ENGINES` that gives what opens an empty collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from contract_rows import DIMS
from services.asking import asked_for
from services.elastic import elasticsearch, no_indices

from indexer.engines.base import Engine
from indexer.engines.elastic import ElasticEngine
from indexer.engines.elastic.cluster import connect
from indexer.engines.elastic.generations import ElasticGenerations
from indexer.engines.generations import Generations
from indexer.engines.local import LocalEngine
from indexer.engines.local.generations import LocalGenerations, live_folder


@dataclass(frozen=True)
class Opened:
    """An empty collection, and the generations of it."""

    engine: Engine
    generations: Generations


Opener = Callable[[Path], AbstractContextManager[Opened]]


@contextmanager
def _local() -> Iterator[Opener]:
    @contextmanager
    def opened(folder: Path) -> Iterator[Opened]:
        root = folder / "collection"
        engine = LocalEngine(root, DIMS, live=partial(live_folder, root))
        yield Opened(engine, LocalGenerations(root))
        engine.close()

    yield opened


@contextmanager
def _elastic(version: str) -> Iterator[Opener]:
    numbers = count(1)

    @contextmanager
    def opened(folder: Path) -> Iterator[Opened]:
        url = elasticsearch(version)
        prefix = f"test-{folder.name[:40].lower()}-{next(numbers)}"
        engine = ElasticEngine(connect(url), prefix, "main", DIMS)
        generations = ElasticGenerations(lambda: connect(url), prefix, "main")
        yield Opened(engine, generations)
        engine.close()
        generations.close()
        no_indices(url, f"{prefix}-*")

    yield opened


ENGINES: dict[str, Callable[[], AbstractContextManager[Opener]]] = {
    "local": _local,
    "elastic-8.19": lambda: _elastic("8.19"),
    "elastic-9.2": lambda: _elastic("9.2"),
}


@pytest.fixture(
    scope="session",  # so that pytest runs all tests of one engine before the next: a server takes seconds to start
    params=[name if name == "local" else pytest.param(name, marks=pytest.mark.live) for name in ENGINES],
)
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens an empty collection of one kind of engine."""
    if request.param != "local" and not asked_for(request.config):
        pytest.skip("Needs Elasticsearch: run with -m live.")
    with ENGINES[request.param]() as opener:
        yield opener


@pytest.fixture
def opened(opener: Opener, tmp_path: Path) -> Iterator[Opened]:
    with opener(tmp_path) as opened:
        yield opened


@pytest.fixture
def engine(opened: Opened) -> Engine:
    """An empty collection."""
    return opened.engine


@pytest.fixture
def generations(opened: Opened) -> Generations:
    """The generations of the empty collection: one."""
    return opened.generations
