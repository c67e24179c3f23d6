import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future

import pytest

from indexer.errors import InputError
from indexer.records import Document
from indexer.text import pool
from indexer.text.pool import Packed, PreparePool
from indexer.text.prepare import Preparer

DOCUMENTS = [
    Document("a", "Deep neural networks recognise speech.", "Speech recognition", {"year": 1999}),
    Document("b", ""),
    Document("c", "Heat pumps save energy. Solar panels do, too.\n\nCold \ud800 countries."),
]
CHUNKS = [DOCUMENTS[:2], DOCUMENTS[2:], []]


@pytest.fixture(autouse=True)
def loaded(preparer, monkeypatch):
    """In this process, use the tagger that is loaded already."""
    monkeypatch.setattr(pool, "_preparer", lambda tagger: preparer)


def test_packed_outcomes_come_out_as_they_went_in(preparer):
    outcomes = [*preparer.prepare(DOCUMENTS), InputError("broken")]
    unpacked = Packed.pack(outcomes, 0.5).unpack()
    assert unpacked[:3] == outcomes[:3]
    assert str(unpacked[3]) == "broken"


@pytest.mark.slow
def test_a_pool_gives_what_one_process_gives_and_survives_its_worker(preparer):
    expected = [preparer.prepare(chunk) for chunk in CHUNKS]
    with PreparePool(1, "shipped") as pool:
        found = list(pool.prepare_chunks(CHUNKS, ahead=2))
        assert [chunk for chunk, _, _ in found] == CHUNKS
        assert [outcomes for _, outcomes, _ in found] == expected
        assert all(seconds >= 0 for _, _, seconds in found)

        (worker,) = pool._executor._processes
        os.kill(worker, signal.SIGKILL)
        assert [outcomes for _, outcomes, _ in pool.prepare_chunks(CHUNKS[:1])] == expected[:1]


@pytest.mark.slow
def test_a_document_that_takes_too_long_is_a_problem_and_the_next_is_tagged(preparer):
    with PreparePool(1, "shipped", seconds=1e-6) as pool:
        ((_, (problem,), _),) = pool.prepare_chunks([DOCUMENTS[:1]])
        assert str(problem) == "document 'a': tagging it takes more than 0 seconds (tagging_timeout)."
        pool._seconds = 60.0
        ((_, outcomes, _),) = pool.prepare_chunks([DOCUMENTS])
        assert outcomes == preparer.prepare(DOCUMENTS)


def test_a_process_is_ended_while_no_thread_of_it_gets_a_turn():
    code = (
        "import re\n"
        "from indexer.processes import killed_after\n"
        "with killed_after(0.2): re.match('(a*)*b', 'a' * 40)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == -signal.SIGALRM


def test_no_more_chunks_are_read_than_are_in_flight():
    class Instant:
        """Stands for the executor: answers at once, in this process."""

        def submit(self, function, *args):
            future = Future()
            future.set_result(function(*args))
            return future

        def shutdown(self, **_):
            pass

    read = []

    def chunks():
        for number in range(10):
            read.append(number)
            yield [Document(str(number), "Heat pumps save energy.")]

    with PreparePool(2) as pool:
        pool._executor = Instant()
        for done, _ in enumerate(pool.prepare_chunks(chunks(), ahead=3)):
            assert len(read) <= done + 3
    assert len(read) == 10


def test_a_document_that_fails_does_not_take_the_others_along(preparer, monkeypatch):
    prepare = Preparer.prepare

    def fail_on_c(self, documents):
        if any(document.id == "c" for document in documents):
            raise ValueError("[E999] no such state")
        return prepare(self, documents)

    monkeypatch.setattr(Preparer, "prepare", fail_on_c)
    with PreparePool(0) as pool:
        ((_, outcomes, _),) = pool.prepare_chunks([DOCUMENTS])
    assert outcomes[:2] == preparer.prepare(DOCUMENTS[:2])
    assert isinstance(outcomes[2], InputError)
    assert (
        str(outcomes[2]) == "document 'c': the text could not be tagged (ValueError: [E999] no such state)."
    )


def test_a_worker_ends_when_its_parent_is_killed(monkeypatch):
    code = (
        "import os, subprocess, sys, time\n"
        "child = 'from indexer import processes; processes.POLL_INTERVAL_S = 0.05; processes._watch(%d)' % os.getpid()\n"
        "print(subprocess.Popen([sys.executable, '-c', child]).pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    assert is_running(worker)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 20
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(worker)


def is_running(pid):
    """A zombie that nobody has fetched yet has ended, too."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
