"""Redis: the one that INDEXER_TEST_REDIS names, or one of our own, which forgets everything when it is stopped."""

from __future__ import annotations

import atexit
import os
import shutil
from functools import cache

from services.asking import missing
from services.guarded import Guarded


def redis() -> str:
    """URL of a server for the whole session."""
    return os.environ.get("INDEXER_TEST_REDIS") or url_of(_shared())


@cache
def _shared() -> Guarded:
    server = started_redis()
    atexit.register(server.remove)
    return server


def started_redis() -> Guarded:
    """A server of one's own, which may be stopped; remove it in the end."""
    program = shutil.which("redis-server")
    if program is None:
        missing(
            "There is no Redis here: apt-get install redis-server. Or name a running one: INDEXER_TEST_REDIS=redis://…"
        )
    options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = Guarded("redis", lambda folder, port: [program, "--port", str(port), *options])
    server.start()
    return server


def url_of(server: Guarded) -> str:
    return f"redis://127.0.0.1:{server.port}/0"
