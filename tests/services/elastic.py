"""A real Elasticsearch or OpenSearch of each version: started by the first test that asks, stopped at the session's end.

INDEXER_TEST_ELASTICSEARCH_8 and _9, INDEXER_TEST_OPENSEARCH_2 and _3 name servers that run already (with user and
password in the URL, if need be); tests make and remove indices there whose names begin with ``test-``. Otherwise a
server is started.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from services.asking import needs
from services.distribution import VERSIONS, Distribution, Version, unpacked

from indexer.engines.elastic.cluster import connect

STARTED_WITHIN = 240  # seconds; half a minute on a machine with nothing else to do
# The quick compiler is enough for a server that lives for a minute; it has no vector instructions.
SHORT_LIVED = "-Xms512m -Xmx512m -XX:TieredStopAtLevel=1"
GUARD = Path(__file__).parent / "guard.py"

Run = Callable[..., None]

EVERY_VERSION = [
    pytest.param(name, marks=needs(f"elasticsearch-{name}"), id=f"elastic-{name}") for name in VERSIONS
]
EVERY_ELASTICSEARCH = [
    param for param in EVERY_VERSION if VERSIONS[str(param.values[0])].product == "elasticsearch"
]

PLAIN = {
    "discovery.type": "single-node",
    "network.host": "127.0.0.1",
    "http.port": 0,
    "node.portsfile": "true",
    "node.processors": 2,
    "cluster.routing.allocation.disk.threshold_enabled": "false",
    "action.destructive_requires_name": "true",
}
OF_PRODUCT = {"elasticsearch": {"xpack.security.enabled": "false"}, "opensearch": {}}
PREFIX = {"elasticsearch": "ES", "opensearch": "OPENSEARCH"}  # of environment variables


def elasticsearch(name: str) -> str:
    """URL of a server of this version (a key of `VERSIONS`)."""
    version = VERSIONS[name]
    return os.environ.get(version.variable) or _shared(version)


@cache
def _shared(version: Version) -> str:
    stack = ExitStack()
    server = stack.enter_context(started(unpacked(version)))
    atexit.register(stack.close)
    return server.url


def no_indices(url: str, pattern: str) -> None:
    """Remove all indices whose names match. Not every server takes a pattern for that."""
    with closing(connect(url)) as cluster:
        found = list(cluster.ask(cluster.client.indices.get_mapping, index=pattern))
        if found:
            cluster.ask(cluster.client.indices.delete, index=found)


@dataclass
class Server:
    """A server that this process started."""

    url: str
    config: Path
    process: subprocess.Popen[bytes]


@contextmanager
def started(
    distribution: Distribution,
    settings: Mapping[str, Any] | None = None,
    *,
    setup: Callable[[Path, Run], None] | None = None,
    certificates: Path | None = None,
    java: str = SHORT_LIVED,
) -> Iterator[Server]:
    """Start a server with an empty data folder, as another user when we are root; leave nothing behind.

    Args:
        settings: Added to (or replacing) those in `PLAIN` and `OF_PRODUCT`; with a `path.data` of one's own, the data
            stay.
        setup: Called before the start with the configuration folder and a function that runs a program of the
            distribution: name, arguments, and what to type into it.
        certificates: PEM file of the authority, when the server speaks TLS.
        java: Options of the Java machine.
    """
    folder = Path(tempfile.mkdtemp(prefix="indexer-elasticsearch-"))
    try:
        _configure(distribution, folder, {**PLAIN, **OF_PRODUCT[distribution.product], **(settings or {})})
        user = _unprivileged(folder)
        prefix = PREFIX[distribution.product]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            f"{prefix}_JAVA_HOME": str(distribution.java),
            f"{prefix}_PATH_CONF": str(folder / "config"),
            f"{prefix}_TMPDIR": str(folder / "tmp"),
            f"{prefix}_JAVA_OPTS": java,
        }

        def run(program: str, arguments: Sequence[str], given: str = "") -> None:
            subprocess.run(
                [distribution.home / "bin" / program, *arguments],
                input=given, text=True, check=True, capture_output=True, env=environment, cwd=folder, **user,
            )  # fmt: skip

        if setup:
            setup(folder / "config", run)
        output = folder / "output"
        guard = [sys.executable, GUARD, folder, user.get("user", ""), user.get("group", "")]
        with output.open("wb") as log:
            process = subprocess.Popen(
                [*map(str, guard), str(distribution.home / "bin" / distribution.product)],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=environment,
            )  # fmt: skip
        try:
            yield Server(_ready(process, folder, certificates), folder / "config", process)
        finally:
            process.communicate()  # its input ends, and it ends the server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _configure(distribution: Distribution, folder: Path, settings: Mapping[str, Any]) -> None:
    config = folder / "config"
    shutil.copytree(distribution.home / "config", config)
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir()
    places = {"path.data": folder / "data", "path.logs": folder / "logs"}
    lines = [f"{name}: {value}" for name, value in {**places, **settings}.items()]
    (config / f"{distribution.product}.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = (config / "jvm.options").read_text(encoding="utf-8").splitlines()
    # Logs of the garbage collector would go into the distribution, which belongs to somebody else.
    kept = [line for line in options if "gc.log" not in line]
    (config / "jvm.options").write_text("\n".join(kept) + "\n", encoding="utf-8")


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Arguments that start a process as a user who may run Elasticsearch; the folder becomes theirs."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _ready(process: subprocess.Popen[bytes], folder: Path, certificates: Path | None) -> str:
    """Wait until it answers; returns its URL."""
    ports = folder / "logs" / "http.ports"
    end = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < end and process.poll() is None:
        addresses = ports.read_text(encoding="utf-8").split() if ports.is_file() else []
        scheme = "https" if certificates else "http"
        if addresses and _answers(url := f"{scheme}://{addresses[0]}", certificates):
            return url
        time.sleep(0.3)
    output = (folder / "output").read_text(encoding="utf-8", errors="replace")[-3000:]
    raise RuntimeError(f"The server did not start within {STARTED_WITHIN} seconds:\n{output}")


def _answers(url: str, certificates: Path | None) -> bool:
    trusted = ssl.create_default_context(cafile=certificates) if certificates else None
    try:
        health = f"{url}/_cluster/health?wait_for_status=yellow&timeout=2s"
        with urlopen(health, timeout=10, context=trusted):
            return True
    except HTTPError as error:
        return error.code == 401  # security is on: somebody is there to refuse us
    except (URLError, OSError):
        return False
