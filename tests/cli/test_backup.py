"""indexer backup and restore, and what doctor finds and repairs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from indexer.engines.local import LocalEngine


def checks(run, home, *options):
    result = run("doctor", "--json", *options, home=home)
    return result.exit_code, {check["check"]: check for check in json.loads(result.stdout)}


def test_doctor_finds_and_repairs_damaged_vectors(run, home, indexed):
    shutil.copytree(indexed, home)
    path = home / "collections" / "main" / "mentions-1.f16"
    path.write_bytes(bytes(path.stat().st_size))
    code, found = checks(run, home)
    assert code == 1
    assert "mentions-1.f16: the vectors of 21 documents" in found["integrity"]["found"]
    assert f"indexer --home {home} doctor --repair" in found["integrity"]["hint"]
    assert "21 documents mined again" in run("doctor", "--repair", home=home).stdout
    assert checks(run, home, "--deep")[1]["integrity"]["found"] == "all rows are what was written"


def test_doctor_is_content_once_it_has_repaired_a_removed_file(run, home, indexed):
    shutil.copytree(indexed, home)
    (home / "collections" / "main" / "documents-1.f16").unlink()
    assert checks(run, home)[0] == 1
    code, found = checks(run, home, "--repair")
    assert code == 0
    assert found["engine"]["state"] == "OK"


def test_doctor_names_the_files_of_lost_texts(run, home, write, corpus, tmp_path):
    source = write(tmp_path / "docs.jsonl", corpus())
    run("index", source, "--topics", "3", home=home)
    with closing(LocalEngine(home / "collections" / "main", 384)) as engine:
        engine.delete(["d03"])
    code, found = checks(run, home, "--deep")
    assert (code, found["integrity"]["found"]) == (1, "1 documents are not in the engine: d03")
    code, found = checks(run, home, "--repair")
    assert f"indexer --home {home} index {source}" in found["repair"]["hint"]


@pytest.mark.parametrize("option", ["--deep", "--repair"])
@pytest.mark.parametrize("table", ["keyphrases", "sqlite_schema"])
def test_what_is_beyond_repair_leads_to_a_backup(run, home, indexed, table, option):
    shutil.copytree(indexed, home)
    path = home / "collections" / "main" / "collection.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    with path.open("r+b") as file:
        file.seek((found[0] - 1) * size if found else 100)  # the file begins with 100 bytes about it
        file.write(bytes(size - 100))
    result = run("doctor", option, home=home)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)  # no traceback
    said = " ".join(result.stdout.split())
    assert f"Move the home away and put back a backup: indexer --home {home} restore FILE" in said
    assert "interrupted" not in said


def test_a_backup_that_is_replaced_is_named(run, indexed, tmp_path):
    file = tmp_path / "b.tar"
    assert "is replaced" not in run("backup", file, home=indexed).stdout
    assert f"{file}, which is replaced," in run("backup", file, home=indexed).stdout


def test_backup_and_restore(run, home, indexed, tmp_path):
    result = run("backup", tmp_path / "b.tar", "--json", home=indexed)
    assert json.loads(result.stdout)["collections"] == ["main"]
    result = run("restore", tmp_path / "b.tar", home=home)
    assert (result.exit_code, "1 collection" in result.stdout) == (0, True)
    assert run("topics", home=home).stdout == run("topics", home=indexed).stdout
    result = run("restore", tmp_path / "b.tar", home=home)
    assert (result.exit_code, "is not empty" in result.stderr) == (2, True)
