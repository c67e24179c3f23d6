from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, event, inspect, text
from sqlalchemy.pool import Pool

from indexer.catalog import Catalog, LedgerEntry
from indexer.catalog.database import VERSION_TABLE
from indexer.catalog.migrations import known
from indexer.catalog.tables import SCHEMA, Base
from indexer.errors import UPGRADE, CatalogError

HOME_OF_0_1_0 = Path(__file__).parents[1] / "data" / "home-0.1.0.zip"
Start = Callable[[Callable[[], object]], Callable[[], int]]


def run_sql(url: str, statement: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_open_makes_the_folder_and_the_schema(tmp_path: Path) -> None:
    with Catalog.open(f"sqlite:///{tmp_path}/new/catalog.sqlite") as catalog:
        assert catalog.count("main") == {"stored": 0, "mined": 0, "done": 0}


def test_what_was_written_is_there_after_opening_again(url: str) -> None:
    with Catalog.open(url) as catalog:
        catalog.record("main", [LedgerEntry("a", "1")])
    with Catalog.open(url) as catalog:
        assert catalog.ledger("main", ["a"])["a"].content_hash == "1"


def test_the_migrations_make_the_tables_that_a_new_catalog_has(url: str) -> None:
    """From the schema of 0.1.0, which is what its catalog in tests/data has (the next test)."""
    Catalog.open(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        new = described(connection)
        connection.execute(text("ALTER TABLE topics RENAME COLUMN label_locked TO named_by_hand"))
        connection.execute(text("DROP TABLE saved_searches"))
        connection.execute(text("DROP TABLE terms"))
        connection.execute(text("DROP TABLE corrections"))
        connection.execute(text("DROP TABLE namings"))
        connection.execute(text("ALTER TABLE documents DROP COLUMN sketch"))
        connection.execute(text("ALTER TABLE topics DROP COLUMN mark"))
        connection.execute(text("ALTER TABLE topics DROP COLUMN mined"))
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0004'"))
    Catalog.open(url).close()
    with engine.connect() as connection:
        assert described(connection) == new
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_a_catalog_of_0_1_0_gets_the_tables_that_a_new_one_has(tmp_path: Path) -> None:
    found = []
    with ZipFile(HOME_OF_0_1_0) as archive:
        archive.extract("catalog.sqlite", tmp_path / "old")
    for name in ("old", "new"):
        Catalog.open(url := f"sqlite:///{tmp_path}/{name}/catalog.sqlite").close()
        engine = create_engine(url)
        with engine.connect() as connection:
            found.append(described(connection))
        engine.dispose()
    assert found[0] == found[1]


def described(connection: Connection) -> dict[str, Any]:
    """Columns, keys and indexes of all tables, whatever their order."""
    inspector = inspect(connection)

    def plain(found: Any) -> list[str]:
        return sorted(str(sorted((k, text_of(v)) for k, v in one.items() if k != "comment")) for one in found)

    def text_of(value: Any) -> str:
        return str({k: str(v) for k, v in value.items()}) if isinstance(value, dict) else str(value)

    return {
        name: [
            plain(inspector.get_columns(name)),
            inspector.get_pk_constraint(name)["constrained_columns"],
            plain(inspector.get_indexes(name)),
            plain(inspector.get_unique_constraints(name)),
            plain(inspector.get_foreign_keys(name)),
        ]
        for name in sorted(inspector.get_table_names())
    }


def test_the_newest_migration_is_the_one_that_the_code_expects() -> None:
    assert max(known()) == SCHEMA


@pytest.mark.parametrize(("schema", "hint"), [("9999", UPGRADE), ("0003", "older than version 0.1.0")])
def test_opening_another_schema_says_what_to_do(url: str, schema: str, hint: str) -> None:
    Catalog.open(url).close()
    run_sql(url, f"UPDATE {VERSION_TABLE} SET version_num = '{schema}'")
    try:
        with pytest.raises(
            CatalogError, match=rf"has schema {schema}; this version reads \d+ to \d+"
        ) as caught:
            Catalog.open(url)
    finally:
        run_sql(url, f"UPDATE {VERSION_TABLE} SET version_num = '{SCHEMA}'")
    assert hint in caught.value.hint
    assert "pip" not in UPGRADE  # the package index has another project of this name


def test_two_that_open_a_new_catalog_at_once_both_succeed(tmp_path: Path, start_process: Start) -> None:
    url = f"sqlite:///{tmp_path}/catalog.sqlite"
    waits = [start_process(lambda: Catalog.open(url)) for _ in range(3)]
    assert [wait() for wait in waits] == [0, 0, 0]


def test_threads_that_open_new_catalogs_at_once_all_succeed(tmp_path: Path) -> None:
    """Alembic keeps its state in the module."""
    urls = [f"sqlite:///{tmp_path}/{i % 2}.sqlite" for i in range(6)]
    with ThreadPoolExecutor(6) as threads:
        for catalog in threads.map(Catalog.open, urls):
            assert catalog.topics("main") == []
            catalog.close()


@pytest.mark.live
@pytest.mark.xdist_group("postgres")
def test_two_that_open_an_empty_postgres_at_once_both_succeed(postgres: str) -> None:
    Catalog.open(postgres).close()
    run_sql(postgres, f"DROP TABLE {', '.join(Base.metadata.tables)}, {VERSION_TABLE} CASCADE")
    with ThreadPoolExecutor(4) as threads:
        for catalog in threads.map(Catalog.open, [postgres] * 4):
            assert catalog.topics("main") == []
            catalog.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "catalog.sqlite"
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE topics (mine)")  # somebody else's: the migration stops half-way
    other.close()
    with pytest.raises(CatalogError, match="table topics already exists"):
        Catalog.open(f"sqlite:///{file}")
    engine = create_engine(f"sqlite:///{file}")
    assert inspect(engine).get_table_names() == ["topics"]
    engine.dispose()


def test_writers_wait_for_each_other(url: str) -> None:
    with Catalog.open(url) as catalog, ThreadPoolExecutor(8) as threads:
        numbers = list(threads.map(lambda _: catalog.next_topic_number("main", 3), range(40)))
    assert sorted(numbers) == list(range(1, 121, 3))


def test_a_forked_child_makes_its_own_connections(catalog: Catalog, start_process: Start) -> None:
    made: list[int] = []

    def record_in_child() -> None:
        made.clear()
        catalog.record("main", [LedgerEntry("child", "1")])
        assert made == [os.getpid()]

    catalog.record("main", [LedgerEntry("parent", "1")])
    connected = (Pool, "connect", lambda *_: made.append(os.getpid()))
    event.listen(*connected)
    try:
        assert start_process(record_in_child)() == 0
        assert list(catalog.ids("main")) == ["child", "parent"]
        assert made == []  # the parent has kept its own
    finally:
        event.remove(*connected)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("catalog.sqlite", "'catalog.sqlite' is not an SQLAlchemy URL"),
        ("mysql://me:pw@host/db", "cannot live in mysql"),
        ("sqlite://", "must be a file"),
        ("sqlite:////dev/null/catalog.sqlite", "folder /dev/null for the catalog cannot be made"),
        ("postgresql+nonsense://host/db", "driver for postgresql"),
    ],
)
def test_an_unusable_url_is_explained(url: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message) as caught:
        Catalog.open(url)
    assert "pw" not in str(caught.value)


def test_a_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("These are my notes, which nobody may overwrite. " * 100)
    with pytest.raises(CatalogError, match=r"notes\.txt cannot be used: file is not a database\."):
        Catalog.open(f"sqlite:///{file}")
    assert file.read_text().startswith("These are my notes")


def test_a_server_that_is_not_there_is_explained_without_the_password() -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'indexer[postgres]'")
    with pytest.raises(CatalogError, match="cannot be used") as caught:
        Catalog.open("postgresql://me:secret@127.0.0.1:1/db")
    assert "secret" not in str(caught.value)
    assert "INDEXER_DATABASE" in caught.value.hint
