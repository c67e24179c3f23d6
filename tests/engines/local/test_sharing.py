"""Several threads and several processes on one collection."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from contract_rows import DIMS, axis, between, document, keyphrase, mention, mined, phrase

from indexer.engines.base import Clause, SearchRequest, WordQuery
from indexer.engines.local import LocalEngine
from tests.engines.local import writer


@pytest.mark.slow
def test_threads_search_while_one_writes(engine):
    """All documents of one call become visible together, with their vectors."""
    stop = threading.Event()

    def search() -> int:
        searches = 0
        while not stop.is_set() or not searches:
            words = engine.search(SearchRequest(words=WordQuery((Clause("plain"),)), facets=("batch",)))
            assert words.words.total % 10 == 0
            assert all(count == 10 for _, count in words.facets["batch"])
            meaning = engine.search(SearchRequest(vector=axis(1))).meaning
            assert meaning.total % 10 == 0
            assert len(set(meaning.ids)) == len(meaning.ids)
            assert all(row.vector[2] == 1 for row, _ in engine.nearest_mentions(axis(2)))
            searches += 1
        return searches

    with ThreadPoolExecutor(4) as pool:
        searching = [pool.submit(search) for _ in range(4)]
        try:
            for batch in range(12):
                ids = [f"{batch}-{number}" for number in range(10)]
                engine.store([document(id_, batch=batch) for id_ in ids])
                engine.write_mined(
                    [mined(id_, axis(1), mentions=(mention(id_, "x", axis(2)),)) for id_ in ids]
                )
                if batch % 4 == 3:
                    engine.compact()
        finally:
            stop.set()
        assert sum(future.result() for future in searching) >= 4
    assert engine.info().mentions == 120


def test_threads_write_at_the_same_time(engine):
    def write(number: int) -> None:
        for batch in range(5):
            id_ = f"{number}-{batch}"
            engine.store([document(id_)])
            engine.write_mined([mined(id_, axis(number), mentions=(mention(id_, "x", axis(number)),))])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    for row in engine.documents(list(engine.document_ids()), vectors=True):
        assert row.vector[int(row.document.id[0])] == 1
    assert engine.info().mentions == 20


@pytest.mark.slow
def test_processes_write_at_the_same_time(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[3]); import writer; from pathlib import Path;"
        "engine = writer.LocalEngine(Path(sys.argv[1]), writer.DIMS);"
        "start = int(sys.argv[2]); writer.write(engine, start, range(start, start + 8)); engine.close()"
    )
    here = str(Path(__file__).parent)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path / "c", str(start), here], cwd=Path(__file__).parents[3]
        )
        for start in (1, 100)
    ]
    assert [process.wait() for process in processes] == [0, 0]
    with closing(LocalEngine(tmp_path / "c", writer.DIMS)) as engine:
        for row in engine.documents(list(engine.document_ids()), vectors=True):
            version = row.document.meta["version"]
            assert row.document == writer.document(row.document.id, version)
            if row.vector is not None:
                expected = writer.vector(row.document.id, int(row.run.removeprefix("run-")))
                np.testing.assert_allclose(row.vector, expected, atol=2e-3)


def test_a_walk_goes_on_while_rows_are_written(engine):
    """Consolidation reads mentions by phrase and writes phrase rows meanwhile."""
    ids = [f"d{number}" for number in range(150)]
    engine.store([document(id_) for id_ in ids])
    engine.write_mined([mined(id_, mentions=(mention(id_, f"phrase {id_}"),)) for id_ in ids])
    seen = []
    for group in engine.mentions_by_phrase():
        engine.write_phrases([phrase(group[0].phrase)])
        seen.append(group[0].phrase_id)
    assert seen == sorted(f"p-phrase {id_}" for id_ in ids)
    assert list(engine.changed_phrases()) == []
    walk = engine.document_ids()
    assert next(walk) == "d0"
    engine.delete(ids)
    assert len(list(walk)) < 1000
    engine.mentions_by_phrase()  # never begun, and nothing is left open


def test_a_search_under_way_outlives_a_compaction_elsewhere(folder, engine):
    engine.store([document("a"), document("b")])
    for degrees in (10, 20, 30):
        engine.write_mined([mined("a", between(0, 1, degrees)), mined("b", axis(2))])
    with closing(LocalEngine(folder, DIMS)) as other, other._reading() as connection:
        engine.compact()
        assert not (folder / "documents-1.f16").exists()
        assert len(other._vectors.rows(connection, "documents")) == 6  # of the snapshot
    # one that begins later reads the new file
    assert len(engine.search(SearchRequest(vector=axis(0))).meaning.ids) == 2
    assert (folder / "documents-2.f16").stat().st_size == 2 * DIMS * 2


def test_a_file_removed_between_its_name_and_its_opening(folder, engine, monkeypatch):
    """A compaction elsewhere at the worst moment: the snapshot is taken again."""
    engine.store([document("a")])
    engine.write_mined([mined("a", axis(0))])
    with closing(LocalEngine(folder, DIMS)) as other:
        opening = other._vectors.hold

        def late(connection) -> None:
            monkeypatch.setattr(other._vectors, "hold", opening)
            connection.execute("SELECT * FROM vector_files").fetchall()
            engine.write_mined([mined("a", axis(1))])
            engine.compact()
            opening(connection)

        monkeypatch.setattr(other._vectors, "hold", late)
        assert other.documents(["a"], vectors=True)[0].vector[1] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_connections_of_its_own(engine):
    engine.store([document("a")])
    child = os.fork()
    if child == 0:
        try:
            engine.store([document("b")])
            os._exit(0 if list(engine.document_ids()) == ["a", "b"] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    engine.store([document("c")])
    assert list(engine.document_ids()) == ["a", "b", "c"]


def test_compaction_gives_space_back(folder, engine):
    ids = [f"d{number}" for number in range(400)]
    engine.store([document(id_, "many words " * 100, unique=id_) for id_ in ids])
    engine.write_mined([mined(id_, mentions=(mention(id_, f"phrase {id_}"),)) for id_ in ids])
    engine.compact()
    before = engine.info().bytes
    engine.delete(ids[40:])
    engine.delete_phrases([f"p-phrase {id_}" for id_ in ids[40:]])
    engine.compact()
    assert engine.info().bytes < before / 3
    assert (folder / "documents-2.f16").stat().st_size == 40 * DIMS * 2
    with engine._connections.reading() as connection:
        assert connection.execute("SELECT count(*) FROM names").fetchone() == (40,)
        assert connection.execute("SELECT count(*) FROM facet_values").fetchone() == (40,)
    assert len(engine.documents(ids)) == 40
    assert {row.phrase for row, _ in engine.nearest_mentions(axis(0), limit=100)} == {
        f"phrase {id_}" for id_ in ids[:40]
    }


def test_counts_of_a_large_collection_are_those_of_a_small_one(engine, monkeypatch):
    """The values of each document are remembered in the one, and read block by block in the other."""
    engine.store([document(f"d{i}", "even" if i % 2 == 0 else "odd", kind=str(i % 3)) for i in range(200)])
    engine.delete([f"d{i}" for i in range(64, 128)])  # a whole block
    request = SearchRequest(words=WordQuery((Clause("even"),)), facets=("kind",))
    # 0, 2, ..., 62 are 11, 10 and 11 of the remainders 0, 1 and 2; 128, 130, ..., 198 are 12 of each.
    expected = {"kind": (("0", 23), ("2", 23), ("1", 22))}
    assert engine.search(request).facets == expected
    monkeypatch.setattr("indexer.engines.local.counting.MANY", 0)
    assert engine.search(request).facets == expected


def test_counts_of_everything_follow_what_is_written_here_and_elsewhere(engine, folder):
    """They are remembered as long as nothing has changed."""

    def counted(asked: LocalEngine) -> tuple[int, dict[str, tuple[tuple[str, int], ...]]]:
        answer = asked.search(SearchRequest(facets=("kind", "keyphrase"), limit=0))
        return answer.words.total, answer.facets

    with closing(LocalEngine(folder, DIMS)) as other:
        assert counted(engine) == counted(other) == (0, {"kind": (), "keyphrase": ()})
        for number, writing in enumerate([engine, other, engine], 1):
            writing.store([document(f"d{number}", kind="new")])
            writing.write_mined([mined(f"d{number}", keyphrases=(keyphrase("wind"),))])
            expected = (number, {"kind": (("new", number),), "keyphrase": (("wind", number),)})
            assert counted(engine) == counted(other) == expected
            assert counted(engine) == counted(other) == expected
        other.delete(["d1"])
        assert counted(engine) == (2, {"kind": (("new", 2),), "keyphrase": (("wind", 2),)})
