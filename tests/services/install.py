"""Installs what the live tests need and this machine lacks: ``python -m services.install``, as root, on Debian or Ubuntu.

Elasticsearch itself is fetched by the first test that needs it; see `distribution.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import services.rabbitmq
from services.browser import find_browser
from services.distribution import VERSIONS
from services.java import find_jdk
from services.postgres import find_initdb

APT = ("apt-get", "-qq", "-o", "Dpkg::Use-Pty=0")


def lacking() -> Iterator[str]:
    """Packages of what is neither here nor named by INDEXER_TEST_…"""
    own = [v for v in VERSIONS.values() if not os.environ.get(v.variable)]
    if own and shutil.which("mvn") is None:
        yield "maven"
    for version in own:
        if find_jdk(version.oldest_java, version.newest_java) is None:
            yield f"openjdk-{version.oldest_java}-jdk-headless"
    if not os.environ.get("INDEXER_TEST_POSTGRES") and find_initdb() is None:
        yield "postgresql"
    if not os.environ.get("INDEXER_TEST_REDIS") and shutil.which("redis-server") is None:
        yield "redis-server"
    if not services.rabbitmq.PROGRAM.exists():
        yield "rabbitmq-server"
    if find_browser() is None:
        yield "chromium"


def main() -> str | int:
    """Install; returns what is wrong, or 0."""
    wanted = list(lacking())
    if not wanted:
        return 0
    line = f"apt-get install {' '.join(wanted)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return f"The live tests need more programs, and only root with apt can install them here: {line}"
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*APT, "update"], env=quiet, check=True)
    install = [*APT, "install", "--yes", "--no-install-recommends", *wanted]
    done = subprocess.run(install, env=quiet)
    return f"This failed: {line}" if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
