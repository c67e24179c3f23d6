"""Every test of the catalog runs on SQLite, and with `-m live` on PostgreSQL as well.

PostgreSQL is the server that INDEXER_TEST_POSTGRES names (SQLAlchemy URL; its tables are emptied!), or a
temporary one, made from the programs on this machine (version 15 or later).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from indexer.catalog import Catalog
from indexer.catalog.tables import Base

LIVE = pytest.param("postgres", marks=pytest.mark.live)


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog with the schema and no rows, to be copied: making the schema is the slow part."""
    file = tmp_path_factory.mktemp("catalog") / "empty.sqlite"
    Catalog.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty database."""
    if "live" not in request.config.option.markexpr:
        pytest.skip("Needs PostgreSQL: run with -m live.")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'indexer[postgres]'")
    if url := os.environ.get("INDEXER_TEST_POSTGRES"):
        yield url
        return
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None:
        pytest.skip("There is no PostgreSQL here: set INDEXER_TEST_POSTGRES, or install its server programs.")
    yield from _temporary_server(Path(initdb).parent)


def _temporary_server(programs: Path) -> Iterator[str]:
    user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="indexer-postgres-"))
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def call(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, "-D", data, *arguments],
            check=True,
            user=user,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    try:
        # A language that does not sort by code point, so that a forgotten collation shows.
        language = ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en")
        call("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync", *language)
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"
        call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://tester:secret@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
