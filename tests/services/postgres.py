"""PostgreSQL: the one that INDEXER_TEST_POSTGRES names (SQLAlchemy URL; its tables are emptied!), or one of our own."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from services.asking import missing
from services.guarded import Guarded


def postgres() -> str:
    """URL of a database for the whole session; it may hold rows of other tests."""
    if find_spec("psycopg") is None:
        missing("psycopg is not installed: pip install 'indexer[postgres]'.")
    return os.environ.get("INDEXER_TEST_POSTGRES") or url_of(_shared())


@cache
def _shared() -> Guarded:
    server = started_postgres()
    atexit.register(server.remove)
    return server


def find_initdb() -> Path | None:
    """The program that makes a data folder; Debian has it in no PATH."""
    on_path = shutil.which("initdb")
    found = [Path(on_path)] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1] if found else None


def started_postgres() -> Guarded:
    """A server of one's own with an empty database, which may be stopped; remove it in the end."""
    initdb = find_initdb()
    if initdb is None:
        missing(
            "There is no PostgreSQL (15 or later) here: apt-get install postgresql. Or name a running one: "
            "INDEXER_TEST_POSTGRES=postgresql+psycopg://…"
        )
    programs = initdb.resolve().parent
    user = "postgres" if os.geteuid() == 0 else ""  # PostgreSQL refuses to run as root
    server = Guarded(
        "postgres",
        lambda folder, port: _command(programs, folder, port),
        user=user,
        answers=_answers,
        stop_signal=signal.SIGINT,  # the others would wait for the clients, or for a recovery at the next start
    )
    # A language that does not sort by code point, so that a forgotten collation shows.
    language = ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en")
    subprocess.run(
        [initdb, "-D", server.folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync", *language],
        check=True, user=user or None, cwd=server.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    server.start()
    return server


def _command(programs: Path, folder: Path, port: int) -> list[str]:
    settings = [
        f"port={port}",
        "listen_addresses=127.0.0.1",
        "fsync=off",
        f"unix_socket_directories={folder}",
    ]
    return [str(programs / "postgres"), "-D", str(folder / "data"), *(x for s in settings for x in ("-c", s))]


def _answers(port: int) -> bool:
    import psycopg

    try:
        psycopg.connect(
            host="127.0.0.1", port=port, user="tester", dbname="postgres", connect_timeout=2
        ).close()
    except psycopg.OperationalError:  # it starts, or recovers
        return False
    return True


def url_of(server: Guarded) -> str:
    return f"postgresql+psycopg://tester:secret@127.0.0.1:{server.port}/postgres"
