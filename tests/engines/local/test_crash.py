"""Kill -9 at any moment leaves every document as it was or as it was meant to be."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.engines.local import LocalEngine
from tests.engines.local import writer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX")

HERE = Path(__file__).parent
VECTOR = {"atol": 2e-3}


def check(folder: Path) -> int:
    """Everything in the collection fits together; returns how many documents are mined."""
    with closing(LocalEngine(folder, writer.DIMS)) as engine:
        with engine._connections.writing() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.execute("INSERT INTO words(words, rank) VALUES ('integrity-check', 1)")
        stored = engine.documents(list(engine.document_ids()), vectors=True)
        topics, words = Counter(), Counter()
        for row in stored:
            version = row.document.meta["version"]
            assert row.document == writer.document(row.document.id, version)
            words[f"version{version}"] += 1
            if row.vector is None:
                assert (row.keyphrases, row.topics, engine.mentions([row.document.id])) == ((), (), [])
                continue
            expected = writer.mined(row.document.id, version)
            assert (row.run, row.keyphrases, row.topics) == (
                expected.run,
                expected.keyphrases,
                expected.topics,
            )
            np.testing.assert_allclose(row.vector, expected.vector, **VECTOR)
            mentions = {mention.phrase: mention for mention in engine.mentions([row.document.id])}
            assert mentions.keys() == {mention.phrase for mention in expected.mentions}
            for mention in expected.mentions:
                assert mentions[mention.phrase].topic == mention.topic
                np.testing.assert_allclose(mentions[mention.phrase].vector, mention.vector, **VECTOR)
            topics[row.topics[0].topic_id] += 1
        for row in engine.phrases(list(engine.phrase_ids())):
            np.testing.assert_allclose(row.vector, writer.vector(row.phrase, row.documents), **VECTOR)
        answer = engine.search(SearchRequest(facets=("topic",)))
        assert dict(answer.facets["topic"]) == topics
        for word, times in words.items():
            found = engine.search(SearchRequest(words=WordQuery((Clause(word),)))).words
            assert found.total == times
        return topics.total()


@pytest.mark.slow
def test_a_writer_killed_again_and_again(tmp_path):
    """Each time it opens what the last one left behind."""
    chance = random.Random(11)
    done = 0
    for start in (0, 1000, 2000, 3000):
        process = subprocess.Popen(
            [sys.executable, HERE / "writer.py", tmp_path / "c", str(start)],
            stdout=subprocess.PIPE,
            cwd=HERE.parents[2],
        )
        with process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(0.05 + 0.4 * chance.random())
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        done = check(tmp_path / "c")
    assert done > 20


MOMENTS = {
    "before any vector": "vectors.VectorFile.write",
    "between vectors and tables": "phrase_rows.insert_mentions",
    "before the commit": "facets.replace_codes",
    "with a new file half written": "vectors._write_all",
    "between new file and switch": "compaction._rewrite_phrases",
    "between switch and removal": "vectors.Vectors.remove_unused",
}


@pytest.mark.slow
@pytest.mark.parametrize("place", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("times", [1, 3])
def test_killed_at_the_worst_moment(tmp_path, place, times):
    """In a forked child, at the n-th call of a function, once it has done its work if it is a write."""
    with closing(LocalEngine(tmp_path / "c", writer.DIMS)) as engine:
        writer.write(engine, 1, range(1, 4))
    before = check(tmp_path / "c")
    child = os.fork()
    if child == 0:
        try:
            die_in(place, times)
            writer.write(LocalEngine(tmp_path / "c", writer.DIMS), 50, range(50, 70))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)  # only when nothing killed it
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    after = check(tmp_path / "c")
    assert after >= before - 2 * 7
    with closing(LocalEngine(tmp_path / "c", writer.DIMS)) as engine:
        engine.compact()
        left = {path.name for path in (tmp_path / "c").glob("*.f16")}
        with engine._connections.reading() as connection:
            assert left <= {name for (name,) in connection.execute("SELECT name FROM vector_files")}
    assert check(tmp_path / "c") == after


def die_in(place: str, times: int) -> None:
    """Make the `times`-th call of a function of the engine the end of this process."""
    import indexer.engines.local as package
    from indexer.engines.local import document_rows, phrase_rows

    *path, name = place.split(".")
    owner = package
    for part in path:
        owner = getattr(owner, part)
    original = getattr(owner, name)
    calls = 0

    def deadly(*args: object) -> object:
        nonlocal calls
        calls += 1
        result = original(*args) if name != "remove_unused" else None
        if calls == times:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    for module in (owner, document_rows, phrase_rows):
        if getattr(module, name, None) is original:
            setattr(module, name, deadly)
