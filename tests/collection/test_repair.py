"""Ten kinds of damage to a home: each is found, and repaired as far as the home allows."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from small_reports import made, opened, state, write

from indexer.engines.base import Damage
from indexer.errors import CatalogError
from indexer.runs.repair import compare

FOLDER = "collections/main"


@pytest.fixture
def home(tmp_path):
    """A home with 30 indexed documents."""
    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
    return tmp_path / "home"


@pytest.fixture
def before(home):
    with opened(home) as collection:
        return state(collection)


def overwrite(path, data: bytes, at: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def change(home, statement: str) -> None:
    with closing(sqlite3.connect(home / FOLDER / "collection.sqlite")) as file, file:
        file.execute(statement)


def repaired_of(home):
    with opened(home) as collection:
        return collection.repair()


def is_sound(home) -> bool:
    with opened(home) as collection:
        differences = compare(collection.engine, collection.catalog, collection.name)
        return collection.engine.damage(deep=True) == Damage() and not differences.found


def test_a_sound_home_stays_as_it_is(home, before):
    found = repaired_of(home)
    assert (found.found, found.mined, found.sources) == ([], 0, [])
    with opened(home) as collection:
        assert state(collection) == before


@pytest.mark.parametrize("kind", ["documents", "mentions", "phrases"])
@pytest.mark.parametrize(
    "data", [bytes(4096), np.full(100, np.nan, np.float16).tobytes()], ids=["zeroed", "NaN"]
)
def test_damaged_vectors_are_made_again(home, before, kind, data):
    overwrite(home / FOLDER / f"{kind}-1.f16", data)
    found = repaired_of(home)
    assert f"{kind}-1.f16" in found.found[0]
    assert found.mined == (0 if kind == "phrases" else 30)
    assert is_sound(home)
    with opened(home) as collection:
        assert state(collection) == before


@pytest.mark.parametrize("kind", ["documents", "mentions", "phrases"])
@pytest.mark.parametrize("share", [None, 0, 2], ids=["removed", "emptied", "cut"])
def test_missing_vectors_are_made_again(home, before, kind, share):
    path = home / FOLDER / f"{kind}-1.f16"
    if share is None:
        path.unlink()
    else:
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size // share if share else 0)
    assert repaired_of(home).found
    assert is_sound(home)
    with opened(home) as collection:
        assert state(collection) == before
        assert collection.search("solar wind", mode="meaning").hits


def test_a_damaged_index_of_a_table_is_rebuilt(home, before):
    rename = "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = sql || '{}' WHERE name = 'mentions_phrase'"
    restore = "UPDATE sqlite_master SET sql = replace(sql, ' WHERE 0', '') WHERE name = 'mentions_phrase'"
    for script in (
        rename.format(" WHERE 0"),
        "REINDEX",
        f"PRAGMA writable_schema = 1; {restore}",
    ):  # empty it
        with closing(sqlite3.connect(home / FOLDER / "collection.sqlite")) as file:
            file.executescript(script)
    found = repaired_of(home)
    assert "SQLite file is damaged" in found.found[0]
    assert is_sound(home)
    with opened(home) as collection:
        assert state(collection) == before


def test_a_damaged_word_index_is_rebuilt(home):
    change(home, "DELETE FROM words_data WHERE id > 10")
    found = repaired_of(home)
    assert "word index" in found.found[0]
    with opened(home) as collection:
        assert collection.search("corona", mode="words").total == 10


def test_lost_documents_are_named_with_their_file(home, before, tmp_path):
    with opened(home) as collection:
        collection.engine.delete(["d03", "d04"])
    found = repaired_of(home)
    assert found.found == ["2 documents are not in the engine: d03, d04"]
    assert found.sources == [str(tmp_path / "a.jsonl")]
    with opened(home) as collection:
        collection.index(found.sources)
        assert state(collection) == before


def test_an_altered_text_is_named_with_its_file_and_replaced_when_that_is_indexed(home, before, tmp_path):
    change(home, "UPDATE texts SET text = replace(text, 'solar', 'polar') WHERE doc = 1")
    found = repaired_of(home)
    assert "documents have another text than was read: d" in " ".join(found.found)
    assert found.sources == [str(tmp_path / "a.jsonl")]
    assert is_sound(home)
    with opened(home) as collection:
        collection.index(found.sources)
        assert state(collection)[0] == before[0]
        assert collection.search("polar", mode="words").total == 0


def test_documents_without_their_mined_rows_are_mined_again(home, before):
    with opened(home) as collection:
        (stored,) = collection.engine.documents(["d02"])
        collection.engine.delete(["d02"])
        collection.engine.store([stored.document])
    found = repaired_of(home)
    assert found.mined == 1
    assert is_sound(home)
    with opened(home) as collection:
        assert state(collection)[0] == before[0]


def test_documents_whose_mentions_outlived_their_mined_rows_are_mined_again(home, before):
    change(home, "DELETE FROM mined WHERE doc <= 5")
    assert repaired_of(home).mined == 5
    assert is_sound(home)
    with opened(home) as collection:
        assert state(collection) == before


def test_documents_that_the_catalog_lacks_are_added_to_it(home, before):
    with opened(home) as collection:
        collection.catalog.forget(collection.name, ["d05", "d06"])
    found = repaired_of(home)
    assert found.found == ["2 documents are not in the catalog: d05, d06"]
    assert is_sound(home)
    with opened(home) as collection:
        assert state(collection) == before
        assert collection.catalog.ledger(collection.name, ["d05"])["d05"].state == "done"


def test_a_lost_catalog_is_made_again_with_the_ids_of_the_topics(home, before):
    for path in home.glob("catalog.sqlite*"):
        path.unlink()
    assert "30 documents are not in the catalog" in repaired_of(home).found[0]
    assert is_sound(home)
    with opened(home) as collection:
        assert [t[0] for t in state(collection)[2]] == [t[0] for t in before[2]]
        assert collection.topic_history(before[2][0][0])
        assert collection.catalog.next_topic_number(collection.name) == len(before[2]) + 1


def test_a_damaged_fit_is_named_and_fitted_again_with_the_same_ids(home, before):
    with closing(sqlite3.connect(home / "catalog.sqlite")) as file, file:
        (arrays,) = file.execute("SELECT arrays FROM fits WHERE live").fetchone()
        file.execute("UPDATE fits SET arrays = ? WHERE live", (arrays[:-40] + bytes(40),))
    with opened(home) as collection, pytest.raises(CatalogError, match=r"fit of run .* is damaged"):
        collection.catalog.live_fit(collection.name)
    assert "is damaged" in repaired_of(home).found[0]
    assert is_sound(home)
    with opened(home) as collection:
        assert [t[0] for t in state(collection)[2]] == [t[0] for t in before[2]]
