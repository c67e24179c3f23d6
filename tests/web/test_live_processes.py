"""`indexer serve --workers 2`: what one process knows, the other knows, too; and what happens when one is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest
from lxml import html

from indexer.web.api_keys import Keys

pytestmark = pytest.mark.live

CLIENTS = 12  # connections: the system gives each to one of the processes
HTML = {"Accept": "text/html"}


@contextmanager
def server(home, *options):
    """Yields the process and its address."""
    command = [sys.executable, "-m", "indexer.cli", "--home", str(home), "serve", "--port", "0", *options]
    backend = {**os.environ, "INDEXER_BACKEND": "onnx-int8"}  # none is measured
    process = subprocess.Popen(
        command, env=backend, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        yield process, process.stderr.readline().split()[0]
    finally:
        process.terminate()
        process.communicate(timeout=20)


@contextmanager
def connections(address, **options):
    """Clients with a connection each."""
    with ExitStack() as opened:
        yield [
            opened.enter_context(httpx.Client(base_url=address, timeout=60, **options))
            for _ in range(CLIENTS)
        ]


def children(pid):
    """The serving processes: multiprocessing also starts one that cleans up."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(c) for c in found if "spawn_main" in Path(f"/proc/{c}/cmdline").read_text()]


def eventually(condition, seconds=30):
    until = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def test_sessions_limits_tasks_and_counts_are_those_of_the_whole_server(own):
    key = Keys(own).add("me", "write")
    slow = Keys(own).add("slow", "read")
    with (
        server(own, "--workers", "2", "--keys", "--rate", "30") as (_, address),
        connections(address) as clients,
    ):
        page = html.fromstring(clients[0].get("/login", headers=HTML).text)
        form = {"key": key, "next": "/", "token": page.xpath("//input[@name='token']/@value")[0]}
        form_cookie = {**HTML, "Cookie": f"indexer={clients[0].cookies['indexer']}"}
        answer = clients[1].post("/login", data=form, headers=form_cookie)
        session = {**HTML, "Cookie": f"indexer={answer.cookies['indexer']}"}
        pages = [c.get("/topics", headers=session) for c in clients]
        assert [p.status_code for p in pages] == [200] * CLIENTS

        bearer = {"Authorization": f"Bearer {key}"}
        task = clients[0].delete("/api/documents/d00", headers=bearer).json()["id"]
        assert all(c.get(f"/api/tasks/{task}", headers=bearer).status_code == 200 for c in clients)
        last = clients[-1]
        assert eventually(lambda: last.get(f"/api/tasks/{task}", headers=bearer).json()["state"] == "done")

        limited = [c.get("/api/topics", headers={"Authorization": f"Bearer {slow}"}) for c in clients * 32]
        refused = [a.status_code for a in limited].count(429)
        seconds = sum(a.elapsed.total_seconds() for a in limited)
        assert refused >= len(limited) - 90 - 30 * (seconds + 1) > 0

        figures = last.get("/metrics", headers=bearer).text
        counted = re.findall(r'indexer_requests_total\{route="/api/topics",status="(\d+)"\} (\d+)', figures)
        assert {int(status): int(n) for status, n in counted} == {200: len(limited) - refused, 429: refused}


def test_what_the_processes_share_is_removed_at_the_end(own, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with server(own, "--workers", "2") as (_, address):
        assert httpx.get(f"{address}/api/topics", timeout=60).status_code == 200
        assert list(tmp_path.glob("indexer-serve-*"))
    assert not list(tmp_path.glob("indexer-serve-*"))


def test_a_killed_process_is_replaced_and_a_killed_server_leaves_none(own):
    with server(own, "--workers", "2") as (process, address):
        with connections(address) as clients:
            assert {c.get("/api/topics").status_code for c in clients} == {200}
        before = children(process.pid)
        assert len(before) == 2
        os.kill(before[0], signal.SIGSTOP)
        time.sleep(1.2)  # in which the supervisor asks it for a sign of life
        os.kill(before[0], signal.SIGKILL)
        after = eventually(
            lambda: len(found := set(children(process.pid))) == 2 and before[0] not in found and found
        )
        assert after
        with connections(address) as clients:
            assert {c.get("/api/topics").status_code for c in clients} == {200}
        process.kill()
        assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in after))
