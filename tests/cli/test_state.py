"""indexer status, doctor and models."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import time
from contextlib import closing

import pytest
from small_parts import WideHashEncoder

from indexer.cli import main
from indexer.collection import Collection
from indexer.engines.elastic.health import HealthProblem
from indexer.engines.local import LocalEngine


def as_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


# -- status -------------------------------------------------------------------------------------------------


def test_status_shows_counts_and_runs(read, indexed):
    shown = read("status").stdout
    assert f"collection    main in {indexed}" in shown
    assert "documents     21\n" in shown
    assert "topics        3; 0 documents without one" in shown
    assert "21 read, 21 new, 21 mined" in shown


def test_status_as_json(read):
    found = as_json(read("status", "--json"))
    assert found["documents"] == {"stored": 0, "mined": 0, "done": 21}
    assert found["engine"]["topics"] == 3
    assert found["last_runs"][0]["kind"] in ("index", "retry")
    assert sum(found["dead"].values()) == 0


def test_dead_letters_name_file_and_line(run, home, tmp_path):
    (tmp_path / "bad.jsonl").write_text("not json\n")
    run("index", "bad.jsonl", home=home)
    head, row = run("status", "--dead", home=home).stdout.splitlines()
    assert head.split() == ["number", "stage", "tries", "last", "reason"]
    assert "bad.jsonl:1: not valid JSON" in row
    letters = as_json(run("status", "--dead", "--json", home=home))
    assert letters[0]["stage"] == "read"
    shown = run("status", home=home).stdout
    said = f"dead letters 1 (read 1); see them: indexer --home {home} status --dead"
    assert said in " ".join(shown.split())


def test_no_dead_letters_is_an_empty_list(read):
    assert as_json(read("status", "--dead", "--json")) == []


def test_status_while_the_engine_is_away_shows_what_the_catalog_knows(read):
    result = read("status", "--engine", "http://127.0.0.1:1")
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "problem There is no answer from the server at http://127.0.0.1:1" in text
    assert "documents 21" in text
    assert "21 read, 21 new, 21 mined" in text
    found = json.loads(read("status", "--json", "--engine", "http://127.0.0.1:1").stdout)
    assert (found["engine"], found["topics"], found["documents"]["done"]) == (None, None, 21)
    assert len(found["problems"]) == 1


def test_status_does_not_wait_for_a_server_that_is_silent(read):
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        start = time.perf_counter()
        result = read("status", "--engine", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert time.perf_counter() - start < 5
    text = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "did not answer in time" in text
    assert "documents 21" in text


def test_status_while_the_catalog_is_away_shows_the_engine(read, monkeypatch):
    monkeypatch.setenv("INDEXER_DATABASE", "postgresql+psycopg://me:secret@127.0.0.1:1/catalog")
    result = read("status")
    assert (result.exit_code, "secret" in result.output) == (1, False)
    text = " ".join(result.stdout.split())
    assert "cannot be used: connection failed" in text
    assert "documents 21" in text
    assert "topics 3" in text


def test_status_with_nothing_at_all_is_an_error(run, home):
    result = run("status", "--engine", "http://127.0.0.1:1", home=home)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "There is no answer from the server" in result.stderr
    assert not home.exists()


def test_status_names_a_block_of_the_engine(indexed):
    class Blocked(LocalEngine):
        def problems(self):
            yield HealthProblem("indexer-main-phrases takes no writes", "Free some space.", fatal=True)
            yield HealthProblem("words are compared by their letters", "", fatal=False)

    with Collection.open(home=indexed) as collection:
        blocked = Blocked(collection.engine.path, collection.engine.dims)
        with closing(Collection(collection.settings, blocked, collection.catalog)) as collection:
            assert collection.problems() == ("indexer-main-phrases takes no writes. Free some space.",)


# -- doctor -------------------------------------------------------------------------------------------------


@pytest.fixture
def states(run):
    def look(home):
        result = run("doctor", "--json", home=home)
        return result.exit_code, {check["check"]: check for check in json.loads(result.stdout)}

    return look


@pytest.mark.slow
def test_doctor_of_a_healthy_collection(states, indexed):
    code, found = states(indexed)
    assert code == 0
    assert {name: check["state"] for name, check in found.items() if check["state"] == "FAIL"} == {}
    assert set(found) == {
        "python", "packages", "home", "disk", "sqlite", "threads", "tagger", "model", "encoder", "catalog",
        "engine", "generations", "integrity", "counts", "lock", "last run", "dead letters",
    }  # fmt: skip
    assert found["tagger"]["found"] == "plain-0"
    assert found["encoder"]["found"].startswith("hash@00000000+test, ")


@pytest.mark.slow
def test_doctor_for_people(read):
    lines = read("doctor").stdout.splitlines()
    assert lines[0].split()[:2] == ["OK", "python"]
    assert lines[-1] == "all is well"


def test_doctor_before_the_first_run_makes_nothing(states, home):
    code, found = states(home)
    assert code == 0
    assert found["collection"]["found"] == f"none yet in {home}"
    assert found["catalog"]["found"] == f"sqlite:///{home}/catalog.sqlite, made when it is needed"
    assert not home.exists()


def test_doctor_finds_a_catalog_that_is_away_before_there_is_a_collection(states, home, monkeypatch):
    monkeypatch.setenv("INDEXER_DATABASE", "postgresql+psycopg://me:secret@127.0.0.1:1/catalog")
    code, found = states(home)
    assert (code, found["catalog"]["state"]) == (1, "FAIL")
    assert "cannot be used: connection failed" in found["catalog"]["found"]
    assert "secret" not in str(found)
    assert found["catalog"]["hint"] == "Check INDEXER_DATABASE, and that the server is up."
    assert "collection" not in found  # it cannot be opened
    assert not home.exists()


def test_doctor_names_a_catalog_of_a_newer_version_and_leaves_it_alone(states, home):
    home.mkdir()
    with closing(sqlite3.connect(home / "catalog.sqlite")) as connection:
        connection.execute("CREATE TABLE catalog_version (version_num TEXT)")
        connection.execute("INSERT INTO catalog_version VALUES ('9999')")
        connection.commit()
    code, found = states(home)
    assert (code, found["catalog"]["state"]) == (1, "FAIL")
    assert "has schema 9999" in found["catalog"]["found"]


def test_doctor_shows_what_is_quick_before_it_loads_the_encoder(run, home, monkeypatch):
    def load(*args, **kwargs):
        before.extend(said)
        return WideHashEncoder()

    said: list[str] = []
    before: list[str] = []
    monkeypatch.setattr("indexer.cli.doctor.say", said.append)
    monkeypatch.setattr("models.load.load_encoder", load)
    run("doctor", "--engine", "http://127.0.0.1:1", home=home)
    names = [row.split()[1] for row in before]
    assert names == [
        "python",
        "packages",
        "home",
        "disk",
        "sqlite",
        "server",
        "catalog",
        "threads",
        "tagger",
        "model",
    ]


def test_doctor_finds_a_damaged_file(states, indexed, home):
    shutil.copytree(indexed, home)
    file = next(home.rglob("collection.sqlite"))
    for extra in file.parent.glob("collection.sqlite-*"):
        extra.unlink()
    data = bytearray(file.read_bytes())
    data[4096 * 3 : 4096 * 12] = b"\x55" * 4096 * 9
    file.write_bytes(data)
    code, found = states(home)
    assert code == 1
    failed = [check for check in found.values() if check["state"] == "FAIL"]
    assert failed
    assert all(check["hint"] for check in failed)


@pytest.mark.slow
def test_doctor_notices_dead_letters_and_lost_documents(run, states, home, indexed, tmp_path):
    shutil.copytree(indexed, home)
    (tmp_path / "bad.jsonl").write_text("not json\n")
    run("index", "bad.jsonl", home=home)
    from indexer.catalog import Catalog

    with Catalog.open(f"sqlite:///{home}/catalog.sqlite") as catalog:
        catalog.forget("main", ["d00"])
    code, found = states(home)
    assert code == 0
    assert found["dead letters"]["state"] == found["counts"]["state"] == "WARN"
    assert found["counts"]["found"] == "the engine has 21 documents, the catalog knows of 20"


def test_status_shows_that_a_run_was_killed(run, home, indexed):
    shutil.copytree(indexed, home)
    from indexer.catalog import Catalog

    with (
        Catalog.open(f"sqlite:///{home}/catalog.sqlite") as catalog,
        catalog.lock("main", "indexer index") as lock,
    ):
        catalog.start_run("main", "index", {}, lock=lock)
        assert as_json(run("status", "--json", home=home))["last_runs"][0]["state"] == "running"
    assert as_json(run("status", "--json", home=home))["last_runs"][0]["state"] == "interrupted"


def test_doctor_notices_an_interrupted_run(states, home, indexed):
    shutil.copytree(indexed, home)
    from indexer.catalog import Catalog

    with Catalog.open(f"sqlite:///{home}/catalog.sqlite") as catalog:
        run = catalog.start_run("main", "index", {})
        catalog.finish_run(run, "interrupted", {})
    _, found = states(home)
    assert found["last run"]["state"] == "WARN"


def test_an_encoder_that_does_not_load_fails_one_check_only(states, indexed, monkeypatch):
    from indexer.errors import BackendUnavailable

    def broken(*args, **kwargs):
        raise BackendUnavailable("It cannot run here.", hint="Take another.")

    monkeypatch.setattr("models.load.load_encoder", broken)
    code, found = states(indexed)
    assert code == 1
    assert found["encoder"] == {
        "check": "encoder", "state": "FAIL", "found": "It cannot run here.", "hint": "Take another.",
    }  # fmt: skip
    assert found["dead letters"]["state"] == "OK"


# -- models -------------------------------------------------------------------------------------------------


@pytest.fixture
def with_own(run, home):
    """A home with a bundle of its own."""
    from models.registry import SHIPPED

    folder = home / "bundles" / "mine"
    shutil.copytree(SHIPPED / "minilm-base", folder)
    card = json.loads((folder / "bundle.json").read_text())
    (folder / "bundle.json").write_text(json.dumps({**card, "name": "mine"}))
    return home


def test_models_are_listed(run, with_own):
    rows = as_json(run("models", "--json", home=with_own))
    assert {(row["name"], row["where"], row["used"]) for row in rows} >= {
        ("mine", "home", False), ("minilm-base", "shipped", False),
        ("minilm-phrases", "shipped", True),
    }  # fmt: skip
    shown = run("models", home=with_own).stdout
    assert any(line.startswith("*  minilm-phrases") for line in shown.splitlines())


def test_a_bundle_that_cannot_be_used_says_why(run, with_own):
    (with_own / "bundles" / "mine" / "bundle.json").write_text("{}")
    row = next(row for row in as_json(run("models", "--json", home=with_own)) if row["name"] == "mine")
    assert "not the description of a bundle" in row["error"]


def test_model_in_full(run, home):
    shown = run("models", "show", "minilm-base", home=home).stdout
    assert "384 numbers" in shown
    assert as_json(run("models", "show", "minilm-base", "--json", home=home))["dims"] == 384


def test_an_unknown_model_lists_those_there_are(run, home):
    result = run("models", "show", "nope", home=home)
    assert result.exit_code == 1
    assert "Available: minilm-base" in result.stderr


def test_remove_asks_first(run, with_own):
    refused = run("models", "remove", "mine", home=with_own, input="n\n")
    assert refused.exit_code == 1
    assert (with_own / "bundles" / "mine").exists()
    assert run("models", "remove", "mine", home=with_own, input="y\n").stdout == "mine removed\n"
    assert not (with_own / "bundles" / "mine").exists()


def test_shipped_models_stay(run, home):
    result = run("models", "remove", "minilm-base", "--yes", home=home)
    assert result.exit_code == 1
    assert "shipped" in result.stderr


def test_the_model_of_a_collection_stays(run, with_own, tmp_path):
    (tmp_path / "a.txt").write_text("A text about heat pumps.")
    run("index", "a.txt", "--bundle", "mine", home=with_own)
    result = run("models", "remove", "mine", "--yes", "--bundle", "mine", home=with_own)
    assert result.exit_code == 2
    assert "uses the bundle 'mine'" in result.stderr


def test_main_is_the_entry_point():
    assert callable(main)
