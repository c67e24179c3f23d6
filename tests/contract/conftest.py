"""Every engine runs the same tests: the embedded one always, Elasticsearch with `-m live` or REQUIRE_SERVICES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from contract_rows import DIMS, axis, between, document, keyphrase, mined
from services.asking import asked_for
from services.elastic import EVERY_VERSION, elasticsearch, no_indices

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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize by server only when servers are requested: hundreds of skipped variants would slow collection."""
    if "opener" in metafunc.fixturenames:
        servers = EVERY_VERSION if asked_for(metafunc.config) else []
        metafunc.parametrize("opener", ["local", *servers], indirect=True, scope="session")


@pytest.fixture(scope="session")
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens an empty collection of one kind of engine."""
    with _local() if request.param == "local" else _elastic(request.param) as opener:
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


@pytest.fixture(scope="session")
def energy(opener: Opener, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Six small documents about energy and law, to be asked only: all tests of an engine share them."""
    with opener(tmp_path_factory.mktemp("energy")) as opened:
        _fill(opened.engine)
        before = opened.engine.documents(list("abcdef"))
        yield opened.engine
        assert opened.engine.documents(list("abcdef")) == before


@pytest.fixture
def own_energy(engine: Engine) -> Engine:
    """The same for one test, to change."""
    _fill(engine)
    return engine


def _fill(engine: Engine) -> None:
    engine.store(
        [
            document(
                "a", "The heat pump runs in winter.", "Heating", lang="en", year=2019, tags=["home", "heat"]
            ),
            document("b", "A pump moves water; heat is lost.", "Water", lang="en", year=2021, tags=["home"]),
            document("c", "Steuerrecht für Wärmepumpen", "Recht", lang="de", year=2020, date="2020-05-01"),
            document("d", "Running costs of solar panels", "Solar", lang="en", year=2021, date="2021-02-03"),
            document("e", "The naïve café owner pays tax.", "Tax law", price=9.5, open=True),
            document("f", "Nothing here.", "", lang="fr", price=10, open=False),
        ]
    )
    engine.write_mined(
        [
            mined("a", axis(0), topics=(("t-000001", 0.9),), keyphrases=(keyphrase("Heat pump"),)),
            mined("b", between(0, 1, 60), topics=(("t-000001", 0.5), ("t-000002", 0.2))),
            mined("c", between(0, 1, 30), topics=(("t-000003", 1.0),), keyphrases=(keyphrase("heat pump"),)),
            mined("d", axis(1), keyphrases=(keyphrase("solar panel"), keyphrase("cost"))),
            mined("e", axis(2), topics=(("t-000003", 1.0),), keyphrases=(keyphrase("tax law"),)),
        ]
    )  # "f" is stored, not mined
