"""A home in one file, while it is in use, and back."""

from __future__ import annotations

import io
import shutil
import tarfile
import threading
from contextlib import closing

import pytest
from small_reports import made, opened, state, write

from indexer.catalog import Catalog
from indexer.engines.base import Damage
from indexer.engines.local import LocalEngine, copying
from indexer.errors import InputError, NotFound, SettingsError
from indexer.runs.backup import CARD, UNPACKED, back_up, restore
from indexer.runs.repair import compare, settle


@pytest.fixture
def home(tmp_path):
    source = write(tmp_path / "a.jsonl", made())
    with opened(tmp_path / "home") as collection:
        collection.index([source], topics=3)
    return tmp_path / "home"


def names(file):
    with tarfile.open(file) as archive:
        return archive.getnames()


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz", "b.tar.xz"])
def test_a_restored_home_is_what_was_backed_up(home, tmp_path, name):
    (home / "onnx").mkdir()
    (home / "onnx" / "graph").write_bytes(b"made again")
    (home / "bundles" / "own").mkdir(parents=True)
    (home / "bundles" / "own" / "weights").write_bytes(b"kept")
    with opened(home) as collection:
        before = state(collection)
        done = back_up(home, tmp_path / name)
    shutil.rmtree(home)
    assert restore(tmp_path / name, home) == done
    assert done.collections == ("main",)
    assert (home / "bundles" / "own" / "weights").read_bytes() == b"kept"
    assert not (home / "onnx").exists()
    with opened(home) as collection:
        assert state(collection) == before
        assert collection.engine.damage(deep=True) == Damage()
        assert not compare(collection.engine, collection.catalog, collection.name).found
        assert collection.index([tmp_path / "a.jsonl"]).unchanged == 30


def test_a_backup_during_a_run_restores_to_a_home_that_the_next_run_completes(home, tmp_path):
    more = write(tmp_path / "b.jsonl", [{**record, "id": f"e{i}"} for i, record in enumerate(made(300))])
    with opened(home) as collection:
        stored = threading.Event()

        def progress(stage, done, total):
            if stage == "mine" and done:
                stored.set()

        run = threading.Thread(target=collection.index, args=([more],), kwargs={"progress": progress})
        run.start()
        assert stored.wait(60)
        back_up(home, tmp_path / "b.tar")
        run.join()
        after = state(collection)
    copy = tmp_path / "copy"
    restore(tmp_path / "b.tar", copy)
    with opened(copy) as collection:
        waiting = settle(collection.settings, ["main"])
        assert collection.catalog.lock_holder("main") is None
        assert not compare(collection.engine, collection.catalog, "main").found
        states = collection.catalog.count("main")
        assert waiting["main"] == states["stored"] > 0
        assert sum(states.values()) == 330
        collection.index([more])
        assert state(collection) == after


def test_documents_that_were_deleted_during_the_backup_are_deleted(home, tmp_path, monkeypatch):
    copied = copying.copy_sqlite

    def delete_after_catalog(source, target):
        copied(source, target)
        if source.name == "catalog.sqlite":
            with opened(home) as collection:
                collection.delete(["d07"])

    monkeypatch.setattr("indexer.runs.backup.copy_sqlite", delete_after_catalog)
    back_up(home, tmp_path / "b.tar")
    restore(tmp_path / "b.tar", tmp_path / "copy")
    with opened(tmp_path / "copy") as collection:
        settle(collection.settings, ["main"])
        assert collection.catalog.count("main")["done"] == 29
        assert not compare(collection.engine, collection.catalog, "main").found


def test_a_compaction_during_the_backup_does_no_harm(home, tmp_path, monkeypatch):
    with opened(home) as collection:
        collection.delete([f"d{i:02}" for i in range(0, 30, 2)])
        before = state(collection)
        copied, done = copying.copy_sqlite, []

        def compact_after(source, target):
            copied(source, target)
            if source.name != "catalog.sqlite" and not done:
                done.append(True)
                with closing(LocalEngine(home / "collections" / "main", collection.engine.dims)) as other:
                    other.delete(["d01"])
                    other.compact()

        monkeypatch.setattr("indexer.engines.local.copying.copy_sqlite", compact_after)
        back_up(home, tmp_path / "b.tar")
    restore(tmp_path / "b.tar", tmp_path / "copy")
    assert done
    with opened(tmp_path / "copy") as collection:
        assert collection.engine.damage(deep=True) == Damage()
        assert {*before[0]} - {"d01"} <= set(collection.engine.document_ids())


def test_unfinished_generations_are_left_out(home, tmp_path):
    unfinished = home / "collections" / "main" / "generations" / "000002"
    shutil.copytree(home / "collections" / "main", unfinished)
    (unfinished / "unfinished").touch()
    back_up(home, tmp_path / "b.tar")
    assert not [name for name in names(tmp_path / "b.tar") if "000002" in name]


def test_the_old_backup_stays_when_a_new_one_fails(home, tmp_path, monkeypatch):
    back_up(home, tmp_path / "b.tar")
    before = (tmp_path / "b.tar").read_bytes()
    monkeypatch.setattr("indexer.runs.backup._sync", lambda path: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        back_up(home, tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.tar", "home"]


def test_what_cannot_be_backed_up_is_refused(home, tmp_path):
    with pytest.raises(NotFound, match="nothing to back up"):
        back_up(tmp_path / "empty", tmp_path / "b.tar")
    with pytest.raises(SettingsError, match="lies in the home"):
        back_up(home, home / "b.tar")


def test_a_home_that_is_not_empty_is_refused(home, tmp_path):
    back_up(home, tmp_path / "b.tar")
    with pytest.raises(SettingsError, match="not empty"):
        restore(tmp_path / "b.tar", home)


def test_a_stopped_restore_is_done_again(home, tmp_path):
    with opened(home) as collection:
        before = state(collection)
    back_up(home, tmp_path / "b.tar")
    copy = tmp_path / "copy"
    (copy / UNPACKED).mkdir(parents=True)
    (copy / "collections").mkdir()
    restore(tmp_path / "b.tar", copy)
    with opened(copy) as collection:
        assert state(collection) == before


def damaged(file, how):
    data = file.read_bytes()
    if how == "cut":
        return data[: len(data) // 2]
    if how == "another file":
        return b"id,title\n1,none\n"
    if how == "a byte changed":
        at = data.index(b"solar wind")
        return data[:at] + b"polar" + data[at + 5 :]
    contents = {"without its card": None, "a card of numbers": b"[1]", "a newer card": b'{"format": 99}'}[how]
    out = io.BytesIO()
    with tarfile.open(file) as archive, tarfile.open(fileobj=out, mode="w") as other:
        for entry in archive:
            if entry.name != CARD:
                other.addfile(entry, archive.extractfile(entry))
        if contents is not None:
            entry = tarfile.TarInfo(CARD)
            entry.size = len(contents)
            other.addfile(entry, io.BytesIO(contents))
    return out.getvalue()


@pytest.mark.parametrize(
    "how", ["cut", "another file", "a byte changed", "without its card", "a card of numbers", "a newer card"]
)
def test_a_damaged_backup_leaves_the_home_empty(home, tmp_path, how):
    back_up(home, tmp_path / "b.tar")
    (tmp_path / "bad.tar").write_bytes(damaged(tmp_path / "b.tar", how))
    with pytest.raises(InputError, match=r"bad\.tar"):
        restore(tmp_path / "bad.tar", tmp_path / "copy")
    assert list((tmp_path / "copy").iterdir()) == []


@pytest.mark.parametrize("name", ["../outside", "/outside"])
def test_a_file_outside_of_the_home_is_refused(tmp_path, name):
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    with pytest.raises(InputError, match="outside of the home"):
        restore(tmp_path / "b.tar", tmp_path / "home")
    assert not (tmp_path / "outside").exists()


def test_a_restored_catalog_has_no_locks_and_runs_of_the_original(home, tmp_path):
    with (
        Catalog.open(f"sqlite:///{home / 'catalog.sqlite'}") as catalog,
        catalog.lock("main", "indexer index") as lock,
    ):
        catalog.start_run("main", "index", {}, lock=lock)
        back_up(home, tmp_path / "b.tar")
    restore(tmp_path / "b.tar", tmp_path / "copy")
    with opened(tmp_path / "copy") as collection:
        settle(collection.settings, ["main"])
        assert collection.catalog.lock_holder("main") is None
        assert collection.catalog.runs("main", 1)[0].state == "interrupted"
