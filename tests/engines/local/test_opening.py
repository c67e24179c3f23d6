"""Opening a collection: what fits, what does not, and what is said about it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from contract_rows import DIMS, absent, axis, document, mention, mined, topic

from indexer.engines.base import NO_DUPLICATES, Clause, SearchRequest, WordQuery
from indexer.engines.local import LocalEngine
from indexer.errors import UPGRADE, EngineUnavailable, MappingMismatch, NotFound


def reopened(folder, **options) -> list[str]:
    with closing(LocalEngine(folder, DIMS, **options)) as engine:
        return list(engine.document_ids())


def test_what_was_written_is_there_after_opening_again(folder, engine):
    engine.store([document("a")])
    engine.write_mined([mined("a", axis(3), mentions=(mention("a", "x", axis(4)),))])
    engine.close()
    with closing(LocalEngine(folder, DIMS)) as again:
        assert again.documents(["a"], vectors=True)[0].vector[3] == 1
        assert again.mentions(["a"])[0].vector[4] == 1


def test_another_vector_length_is_refused(folder, engine):
    with pytest.raises(MappingMismatch, match="vectors of 8 numbers, the encoder makes 384") as caught:
        LocalEngine(folder, 384)
    assert "bundle" in caught.value.hint


def test_the_language_is_kept_and_another_is_refused(folder, tmp_path):
    words = SearchRequest(words=WordQuery((Clause("laufen"),)))
    for language, found in (("english", 1), ("german", 0)):  # "laufens" has the English stem of "laufen"
        with closing(LocalEngine(tmp_path / language, DIMS, language=language)) as engine:
            engine.store([document("a", "des laufens")])
            assert engine.search(words).words.total == found
    with pytest.raises(
        MappingMismatch, match="made for texts in german, the setting language is english"
    ) as caught:
        LocalEngine(tmp_path / "german", DIMS)
    assert "INDEXER_LANGUAGE=german" in caught.value.hint


def test_a_newer_format_is_refused(folder, engine):
    with closing(sqlite3.connect(folder / "collection.sqlite")) as file:
        file.execute("PRAGMA user_version = 99")
    with pytest.raises(MappingMismatch, match="format 99; this version reads up to 6") as caught:
        LocalEngine(folder, DIMS)
    assert UPGRADE in caught.value.hint


def test_a_file_of_version_1_gets_what_absent_keyphrases_need(folder, engine):
    engine.store([document("a", "plain text"), document("b", "other text")])
    engine.write_topics([topic("t-000001")])
    engine.close()
    with closing(sqlite3.connect(folder / "collection.sqlite")) as file:
        file.executescript(
            "DROP TABLE vector_checksums; DROP INDEX texts_title; DELETE FROM state WHERE key = 'writes';"
            "ALTER TABLE topics DROP COLUMN parent; ALTER TABLE topics DROP COLUMN term;"
            "DROP INDEX documents_duplicate_of; ALTER TABLE documents DROP COLUMN duplicate_of;"
            "DROP TABLE words; ALTER TABLE texts DROP COLUMN absent;"
            "DELETE FROM fields WHERE field = 0;"
            "CREATE VIRTUAL TABLE words USING fts5(title, text, content='texts', content_rowid='doc',"
            " tokenize='porter unicode61 remove_diacritics 2');"
            "INSERT INTO words(words) VALUES ('rebuild'); PRAGMA user_version = 1;"
        )
    query = SearchRequest(words=WordQuery((Clause("plain"),), absent=1.0))
    with closing(LocalEngine(folder, DIMS, read_only=True)) as reader:  # as it is
        assert reader.search(query).words.ids == ("a",)
        assert [(found.id, found.parent) for found in reader.topics()] == [("t-000001", None)]
    with closing(LocalEngine(folder, DIMS)) as writer:
        assert writer.search(query).words.ids == ("a",)
        writer.write_mined([mined("b", axis(0), keyphrases=(absent("plain guess"),))])
        assert set(writer.search(query).words.ids) == {"a", "b"}


def test_a_file_of_version_5_has_no_near_duplicates_until_it_is_written(folder, engine):
    engine.store([document("a", "plain text"), document("b", "plain text")])
    engine.close()
    with closing(sqlite3.connect(folder / "collection.sqlite")) as file:
        file.executescript(
            "DROP INDEX documents_duplicate_of; ALTER TABLE documents DROP COLUMN duplicate_of;"
            "PRAGMA user_version = 5"
        )
    originals = SearchRequest(filters=(NO_DUPLICATES,), facets=("duplicate_of",))
    with closing(LocalEngine(folder, DIMS, read_only=True)) as reader:  # as it is
        assert reader.duplicates() == {}
        assert [stored.duplicate_of for stored in reader.documents(["a", "b"])] == [None, None]
        answer = reader.search(originals)
        assert (answer.words.ids, answer.facets) == (("a", "b"), {"duplicate_of": ()})
    with closing(LocalEngine(folder, DIMS)) as writer:
        writer.write_duplicates({"b": "a"})
        assert writer.duplicates() == {"b": "a"}
        assert writer.search(originals).words.ids == ("a",)


def test_a_sqlite_file_of_another_program_is_refused(folder):
    folder.mkdir()
    with closing(sqlite3.connect(folder / "collection.sqlite")) as file:
        file.execute("CREATE TABLE recipes(name)")
    with pytest.raises(MappingMismatch, match="another program"):
        LocalEngine(folder, DIMS)
    with closing(sqlite3.connect(folder / "collection.sqlite")) as file:
        file.execute("PRAGMA user_version = 1")
    with pytest.raises(MappingMismatch, match="another program"):
        LocalEngine(folder, DIMS)


def test_a_file_that_is_no_database_is_unavailable(folder):
    folder.mkdir()
    (folder / "collection.sqlite").write_bytes(b"PK\x03\x04 this is a zip file" * 100)
    with pytest.raises(EngineUnavailable, match=r"collection\.sqlite is damaged") as caught:
        LocalEngine(folder, DIMS)
    assert "backup" in caught.value.hint


def test_a_damaged_page_is_unavailable(folder, engine):
    engine.store([document(f"d{number}", "some text " * 50) for number in range(200)])
    engine.compact()  # so that all of it is in the main file
    engine.close()
    file = folder / "collection.sqlite"
    data = bytearray(file.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    file.write_bytes(data)
    with pytest.raises(EngineUnavailable, match="damaged"), closing(LocalEngine(folder, DIMS)) as broken:
        broken.documents(list(broken.document_ids()))


def test_a_cut_vector_file_is_unavailable(folder, engine):
    engine.store([document("a"), document("b")])
    engine.write_mined([mined("a"), mined("b")])
    engine.close()
    with open(folder / "documents-1.f16", "r+b") as file:
        file.truncate(DIMS * 2)
    with closing(LocalEngine(folder, DIMS)) as broken:
        assert broken.search(SearchRequest(words=WordQuery((Clause("plain"),)))).words.total == 2
        with pytest.raises(EngineUnavailable, match="has 1 rows where 2 were written"):
            broken.search(SearchRequest(vector=axis(0)))


def test_a_missing_vector_file_is_unavailable(folder, engine):
    engine.store([document("a")])
    engine.write_mined([mined("a")])
    engine.close()
    os.remove(folder / "documents-1.f16")
    with (
        closing(LocalEngine(folder, DIMS)) as broken,
        pytest.raises(EngineUnavailable, match=r"documents-1\.f16 is not there"),
    ):
        broken.documents(["a"])


def test_a_folder_that_is_a_file_is_unavailable(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(EngineUnavailable, match="not a folder"):
        LocalEngine(tmp_path / "file", DIMS)


# -- read only -----------------------------------------------------------------------------------------------


def test_read_only_reads_and_refuses_to_write(folder, engine):
    engine.store([document("a")])
    with closing(LocalEngine(folder, DIMS, read_only=True)) as reader:
        assert list(reader.document_ids()) == ["a"]
        with pytest.raises(EngineUnavailable, match="permission"):
            reader.store([document("b")])
        engine.store([document("c")])
        assert list(reader.document_ids()) == ["a", "c"]


def test_read_only_makes_nothing(tmp_path):
    with pytest.raises(NotFound, match="no collection"):
        LocalEngine(tmp_path / "none", DIMS, read_only=True)
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_can_be_read(folder, engine):
    engine.store([document("a")])
    engine.close()
    folder.chmod(0o500)
    try:
        assert reopened(folder, read_only=True) == ["a"]
        with (
            pytest.raises(EngineUnavailable, match="permission"),
            closing(LocalEngine(folder, DIMS)) as other,
        ):
            other.store([document("b")])
    finally:
        folder.chmod(0o700)


# -- trouble while writing -----------------------------------------------------------------------------------


def test_another_writer_makes_us_wait_and_then_give_up(folder, engine):
    engine.store([document("a")])
    with closing(sqlite3.connect(folder / "collection.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(LocalEngine(folder, DIMS, wait=0.05)) as waiting:  # opening needs no write lock
            assert list(waiting.document_ids()) == ["a"]
            with pytest.raises(EngineUnavailable, match=r"another process \(waited 0\.05 s\)") as caught:
                waiting.store([document("b")])
            assert caught.value.retryable
            other.execute("ROLLBACK")
            assert waiting.store([document("b")]) == []


def test_a_full_disk_keeps_what_was_written(engine, monkeypatch):
    engine.store([document("a")])
    with engine._connections.reading() as connection:  # the one that the next write uses
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(EngineUnavailable, match="no space left") as caught:
        engine.store([document(f"d{number}", "text " * 2000) for number in range(50)])
    assert "Free some space" in caught.value.hint
    assert list(engine.document_ids()) == ["a"]


def test_a_full_disk_under_the_vectors_changes_nothing(engine, monkeypatch):
    engine.store([document("a")])
    engine.write_mined([mined("a", axis(1))])

    def full(handle: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("indexer.engines.local.vectors.os.write", full)
    with pytest.raises(EngineUnavailable, match="no space left"):
        engine.write_mined([mined("a", axis(2))])
    monkeypatch.undo()
    assert engine.documents(["a"], vectors=True)[0].vector[1] == 1


def test_an_error_in_the_middle_of_a_call_undoes_all_of_it(engine, monkeypatch):
    engine.store([document("a", "old")])

    def fail(*_: object) -> None:
        raise RuntimeError("stop")

    monkeypatch.setattr("indexer.engines.local.document_rows.replace_codes", fail)
    with pytest.raises(RuntimeError, match="stop"):
        engine.store([document("a", "new"), document("b")])
    monkeypatch.undo()
    assert [row.document.text for row in engine.documents(["a", "b"])] == ["old"]
    assert engine.store([document("b")]) == []


def test_after_close_a_call_says_so(engine):
    engine.close()
    engine.close()
    with pytest.raises(EngineUnavailable, match="closed"):
        engine.info()


def test_a_copied_folder_is_a_collection(folder, engine, tmp_path):
    engine.store([document("a")])
    engine.write_mined([mined("a", axis(5))])
    engine.close()
    shutil.copytree(folder, tmp_path / "copy")
    with closing(LocalEngine(tmp_path / "copy", DIMS)) as copy:
        np.testing.assert_array_equal(copy.documents(["a"], vectors=True)[0].vector, axis(5))
