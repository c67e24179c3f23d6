"""Every test of the catalog runs on SQLite, and with `-m live` on PostgreSQL as well.

PostgreSQL is the server that INDEXER_TEST_POSTGRES names (SQLAlchemy URL; its tables are emptied!), or a
temporary one; see `services/postgres.py`.
"""

from __future__ import annotations

import os
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import services.postgres
from services.asking import asked_for, needs
from sqlalchemy import create_engine, text

from indexer.catalog import Catalog
from indexer.catalog.tables import Base

LIVE = pytest.param("postgres", marks=needs("postgres"))


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog with the schema and no rows, to be copied: making the schema is the slow part."""
    file = tmp_path_factory.mktemp("catalog") / "empty.sqlite"
    Catalog.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> str:
    """URL of a database."""
    if not asked_for(request.config):
        pytest.skip("Needs PostgreSQL: run with -m live.")
    return services.postgres.postgres()


@pytest.fixture(params=["sqlite", LIVE])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A catalog without rows. Tests open it as often as they like."""
    if request.param == "sqlite":
        file = tmp_path / "catalog.sqlite"
        shutil.copy(request.getfixturevalue("empty_sqlite"), file)
        return f"sqlite:///{file}"
    address: str = request.getfixturevalue("postgres")
    Catalog.open(address).close()
    engine = create_engine(address)
    with engine.begin() as connection:
        connection.execute(text(f"TRUNCATE {', '.join(Base.metadata.tables)}"))
    engine.dispose()
    return address


@pytest.fixture
def start_process() -> Callable[[Callable[[], object]], Callable[[], int]]:
    """Does the work in a process of its own, which then just ends. Returns what waits for that."""
    if not hasattr(os, "fork"):
        pytest.skip("There is no fork on this system.")

    def start(work: Callable[[], object]) -> Callable[[], int]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: the parent has threads
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        return lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    return start


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    with Catalog.open(url) as opened:
        yield opened
