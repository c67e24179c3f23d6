"""What a disk, a copy or a person changes in the vector files is found, harms no search, and can be written again."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from contract_rows import DIMS, axis, document, mention, mined, phrase

from indexer.engines.base import Damage, SearchRequest
from indexer.engines.local import LocalEngine
from indexer.engines.local.checksums import BLOCK
from indexer.errors import EngineUnavailable

ROW = DIMS * 2  # bytes
NUMBER = BLOCK + 100  # documents, so that the first 4,096 fill a block


def ids(first: int, end: int) -> tuple[str, ...]:
    return tuple(f"d{number:05d}" for number in range(first, end))


def write(engine: LocalEngine, names: tuple[str, ...]) -> None:
    engine.store([document(id_) for id_ in names])
    engine.write_mined([mined(id_, axis(1), mentions=(mention(id_, "wind"),)) for id_ in names])


@pytest.fixture
def full(engine):
    write(engine, ids(0, NUMBER))
    return engine


def overwrite(path, row: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(row * ROW)
        file.write(data)


def test_what_was_written_in_parts_and_compacted_is_sound(engine):
    write(engine, ids(0, 10))
    write(engine, ids(10, NUMBER))
    write(engine, ids(20, 3_000))
    assert engine.damage(deep=True) == Damage()
    engine.compact()
    write(engine, ids(0, 5))
    assert engine.damage(deep=True) == engine.damage() == Damage()


@pytest.mark.parametrize("data", [bytes(64), np.full(8, np.nan, np.float16).tobytes()])
def test_changed_rows_are_found_with_the_documents_of_their_block(full, folder, data):
    overwrite(folder / "documents-1.f16", BLOCK + 3, data)
    damage = full.damage(deep=True)
    assert damage.documents == ids(BLOCK, NUMBER)
    assert damage.phrases == ()
    assert "documents-1.f16" in damage.found[0]
    assert "100 documents" in damage.found[0]


def test_rows_of_mentions_name_their_documents(full, folder):
    overwrite(folder / "mentions-1.f16", 7, bytes(4))
    assert full.damage().documents == ids(0, BLOCK)


@pytest.mark.parametrize("left", [0, BLOCK * ROW])
def test_a_file_that_was_cut_is_found(full, folder, left):
    with (folder / "documents-1.f16").open("r+b") as file:
        file.truncate(left)
    assert full.damage().documents == ids(0 if left == 0 else BLOCK, NUMBER)


def test_a_removed_file_is_found_and_written_again(full, folder):
    full.close()
    (folder / "documents-1.f16").unlink()
    with closing(LocalEngine(folder, DIMS)) as engine:
        damage = engine.damage()
        assert damage.documents == ids(0, NUMBER)
        engine.set_aside(damage)
        write(engine, ids(0, NUMBER))
        assert engine.damage(deep=True) == Damage()
        assert engine.search(SearchRequest(vector=axis(1), limit=1)).meaning.scores[0] == pytest.approx(1.0)


def test_documents_that_are_mined_again_are_sound_and_the_others_stay(full, folder):
    overwrite(folder / "documents-1.f16", BLOCK + 3, bytes(64))
    damage = full.damage(deep=True)
    full.set_aside(damage)
    assert full.damage(deep=True).documents == damage.documents  # until they are mined again
    write(full, damage.documents)
    full.write_mined([mined(id_, axis(1)) for id_ in damage.documents])
    assert full.damage(deep=True) == Damage()
    full.compact()
    assert full.damage(deep=True) == Damage()
    assert full.info().mined == NUMBER


def test_phrases_are_marked_to_be_written_again(engine, folder):
    write(engine, ids(0, 3))
    engine.write_phrases([phrase("wind")])
    assert list(engine.changed_phrases()) == []
    overwrite(folder / "phrases-1.f16", 0, bytes(4))
    damage = engine.damage()
    assert (damage.documents, damage.phrases) == ((), ("p-wind",))
    engine.set_aside(damage)
    assert list(engine.changed_phrases()) == ["p-wind"]
    engine.write_phrases([phrase("wind")])
    assert engine.damage(deep=True) == Damage()


def test_compaction_refuses_to_copy_damaged_rows(full, folder):
    full.delete(ids(0, 2_000))
    overwrite(folder / "documents-1.f16", BLOCK + 3, bytes(64))
    with pytest.raises(EngineUnavailable, match=r"documents-1\.f16 is damaged") as caught:
        full.compact()
    assert "doctor --repair" in caught.value.hint
    assert full.info().mined == NUMBER - 2_000


def test_a_search_returns_the_sound_rows(full, folder):
    overwrite(folder / "documents-1.f16", 0, np.full(DIMS * BLOCK, np.nan, np.float16).tobytes())
    found = full.search(SearchRequest(vector=axis(1), limit=150)).meaning
    assert sorted(found.ids[:100]) == list(ids(BLOCK, NUMBER))


def test_rows_of_a_version_without_checksums_get_them_as_their_block_grows(engine, folder):
    write(engine, ids(0, 10))
    engine.close()
    with closing(sqlite3.connect(folder / "collection.sqlite")) as file:
        file.executescript(
            "DROP TABLE vector_checksums; DROP INDEX texts_title; DELETE FROM state WHERE key = 'writes';"
            "ALTER TABLE topics DROP COLUMN parent; ALTER TABLE topics DROP COLUMN term;"
            "DROP INDEX documents_duplicate_of; ALTER TABLE documents DROP COLUMN duplicate_of;"
            "PRAGMA user_version = 2"
        )
    with closing(LocalEngine(folder, DIMS, read_only=True)) as reader:
        assert reader.damage(deep=True) == Damage()
    with closing(LocalEngine(folder, DIMS)) as writer:
        write(writer, ids(10, 12))
        assert writer.damage(deep=True) == Damage()
        overwrite(folder / "documents-1.f16", 1, bytes(4))
        assert writer.damage(deep=True).documents == ids(0, 12)


def test_what_is_damaged_after_a_compaction_is_found(full, folder):
    full.delete(ids(0, 2_000))
    full.compact()
    overwrite(folder / "documents-2.f16", 3, bytes(64))
    assert len(full.damage(deep=True).documents) == NUMBER - 2_000  # all in one block
