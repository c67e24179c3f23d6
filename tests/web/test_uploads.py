"""What is posted again and again under one name, what of it fails, and what a killed server had accepted."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from web_client import ended, serving, written
from web_pages import HTML, one, seen

from indexer.collection import Collection
from indexer.errors import EngineUnavailable
from indexer.runs.uploads import Uploads

BROKEN = "{broken"


def lines(*records):
    return "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records).encode()


def upload(client, name, *records):
    answer = client.post("/api/files", files={"file": (name, lines(*records))})
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json())


def retried(client):
    return ended(client, client.post("/api/retry").json())


def letters(client):
    return [letter["where"] for letter in client.get("/api/dead-letters").json()]


def text(client, id_):
    answer = client.get(f"/api/documents/{id_}")
    return answer.json()["text"] if answer.status_code == 200 else None


def files(home):
    return sorted(path.name for path in (home / "posted").rglob("*") if path.is_file())


ONE = {"id": "rev1", "text": "Version one of the tides."}
TWO = {"id": "rev1", "text": "Version two of the tides."}
OTHER = {"id": "rev2", "text": "Sea ice and salinity."}


def test_a_mended_upload_closes_the_letters_of_the_older_one_and_a_retry_keeps_it(client, own):
    assert upload(client, "notes.jsonl", ONE, BROKEN)["result"]["failed"] == 1
    assert letters(client) == ["notes.jsonl, line 2"]
    assert upload(client, "notes.jsonl", TWO, OTHER)["result"]["changed"] == 1
    assert letters(client) == []
    assert files(own) == []
    assert retried(client)["result"]["read"] == 0
    assert (text(client, "rev1"), text(client, "rev2")) == (TWO["text"], OTHER["text"])


@pytest.mark.slow
def test_the_newest_copy_of_a_name_is_tried_again_and_no_good_document_becomes_a_letter(client, own):
    upload(client, "bad.jsonl", ONE, BROKEN)
    upload(client, "bad.jsonl", TWO, BROKEN)
    assert files(own) == ["bad.jsonl"]
    for tries in (3, 4):
        assert retried(client)["result"]["failed"] == 1
        (letter,) = client.get("/api/dead-letters").json()
        assert (letter["where"], letter["attempts"]) == ("bad.jsonl, line 2", tries)
    assert text(client, "rev1") == TWO["text"]


def test_an_upload_replaces_what_the_one_before_it_held(client):
    upload(client, "list.jsonl", ONE, OTHER, {"text": "A line without an id."})
    result = upload(client, "list.jsonl", ONE, {"text": "A changed line without an id."})["result"]
    assert (result["new"], result["unchanged"], result["deleted"]) == (1, 1, 2)
    assert text(client, "rev2") is None
    assert client.get("/api/status").json()["documents"]["done"] == 12 + 2


@pytest.mark.slow
def test_an_upload_that_replaces_documents_of_another_one_says_so(client):
    upload(client, "latin1.jsonl", ONE, OTHER)
    notes = upload(client, "other.jsonl", TWO, {"id": "rev9", "text": "Nine."})["result"]["notes"]
    assert notes == ["1 document came from another file before: rev1 (latin1.jsonl)."]
    assert notes[0] in client.get("/operations").text
    assert post(client, ONE)["result"]["notes"] == [
        "1 document came from another file before: rev1 (other.jsonl)."
    ]
    assert post(client, TWO)["result"]["notes"] == []  # documents posted one by one have no file


@pytest.mark.parametrize("second", ["file", "another"])
def test_two_files_at_once_are_refused(client, own, second):
    """Regression: all but the last were dropped, and the answer was 202."""
    both = [("file", ("a.jsonl", lines(ONE))), (second, ("b.jsonl", lines(OTHER)))]
    answer = client.post("/api/files", files=both)
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "These are 2 files; one is taken at a time.",
    )
    assert answer.json()["hint"] == "Send each with a request of its own."
    token = one(seen(client, "/operations"), "//form[@action='/operations/files']/input[@name='token']")
    page = client.post("/operations/files", data={"token": token.get("value")}, files=both, headers=HTML)
    assert page.status_code == 422
    assert "These are 2 files; one is taken at a time." in page.text
    assert client.get("/api/tasks").json() == []
    assert files(own) == []


def test_what_cannot_be_read_whole_removes_nothing(client):
    upload(client, "list.jsonl", ONE, OTHER)
    assert upload(client, "list.jsonl", TWO, BROKEN)["result"]["deleted"] == 0
    assert text(client, "rev2") == OTHER["text"]
    assert upload(client, "list.jsonl", TWO)["result"]["deleted"] == 1


def test_another_file_under_a_like_name_is_another_upload(client):
    upload(client, "a&b.jsonl", ONE)
    assert upload(client, "a#b.jsonl", OTHER)["result"]["deleted"] == 0
    assert text(client, "rev1") == ONE["text"]


@pytest.fixture
def refusing(monkeypatch):
    """An engine that cannot store some texts, for as long as they are in here."""
    from indexer.engines.base import Refused
    from indexer.engines.local.engine import LocalEngine

    poison, store = {"poison"}, LocalEngine.store

    def picky(self, documents):
        bad = [d for d in documents if any(word in d.text for word in poison)]
        good = [d for d in documents if d not in bad]
        return [*store(self, good), *(Refused(d.id, "it is unsound", "unsound") for d in bad)]

    monkeypatch.setattr(LocalEngine, "store", picky)
    return poison


def post(client, *documents):
    return ended(client, client.post("/api/documents", json=list(documents)).json())


def test_a_retry_writes_no_document_of_which_a_newer_version_is_stored(client, own, refusing):
    post(client, ONE, {"id": "bad1", "text": "A poison."})
    post(client, TWO, {"id": "bad2", "text": "Another poison."})
    assert letters(client) == ["posted document 2"] * 2
    refusing.clear()
    result = retried(client)["result"]
    assert (result["new"], result["changed"], result["failed"]) == (2, 0, 0)
    assert text(client, "rev1") == TWO["text"]
    assert letters(client) == []
    assert files(own) == []


def test_a_retry_does_not_bring_back_what_was_deleted(client, refusing):
    post(client, ONE, {"id": "bad", "text": "A poison."})
    assert ended(client, client.delete("/api/documents/rev1").json())["result"]["deleted"] == 1
    refusing.clear()
    assert retried(client)["result"]["new"] == 1
    assert (text(client, "rev1"), text(client, "bad")) == (None, "A poison.")


def test_a_retry_of_files_writes_no_older_version(tmp_path, own):
    older, newer = tmp_path / "older.jsonl", tmp_path / "newer.jsonl"
    older.write_bytes(lines(ONE, BROKEN))
    with Collection.open(home=own) as collection:
        collection.index([older])
        collection.index([written(newer, [TWO])])
        older.write_bytes(lines(ONE, OTHER))
        report = collection.retry()
        assert (report.new, report.changed, report.failed) == (1, 0, 0)
        assert "1 document stored again or deleted since" in report.notes[0]
        assert collection.document("rev1").document.text == TWO["text"]
        assert collection.dead_letters() == []


def test_what_failed_after_another_version_was_stored_is_newer_than_that(tmp_path, own):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    with Collection.open(home=own) as collection:
        collection.index([written(first, [ONE])])
        second.write_bytes(lines({"id": "rev1", "text": 3}))
        assert collection.index([second]).failed == 1
        second.write_bytes(lines(TWO))
        assert collection.retry().changed == 1
        assert collection.document("rev1").document.text == TWO["text"]


def test_a_mended_file_closes_its_letters_when_it_is_indexed(tmp_path, own):
    file = tmp_path / "notes.jsonl"
    file.write_bytes(lines(ONE, BROKEN))
    with Collection.open(home=own) as collection:
        collection.index([file])
        file.write_bytes(lines(ONE, OTHER))
        collection.index([file])
        assert collection.dead_letters() == []


# -- homes ---------------------------------------------------------------------------------------------------


@pytest.fixture
def names(own, monkeypatch):
    """The home as it can be called: from the root on, from a folder beside it, through a link."""
    beside = own.parent / "beside"
    beside.mkdir()
    (beside / "link").symlink_to(own)
    monkeypatch.chdir(beside)
    return own, Path("../home"), beside / "link"


@pytest.mark.slow
@pytest.mark.parametrize(("first", "then"), [(0, 1), (1, 0), (0, 2), (2, 0)])
def test_an_upload_has_one_place_however_the_home_is_called(names, own, first, then):
    """Regression: uploads under ``--home ../x`` replaced nothing of those under the path from the root on."""
    with serving(names[first]) as client:
        upload(client, "notes.jsonl", ONE, BROKEN)
    with serving(names[then]) as client:
        assert letters(client) == ["notes.jsonl, line 2"]
        result = upload(client, "notes.jsonl", OTHER)["result"]
        assert (result["deleted"], result["notes"]) == (1, [])
        assert letters(client) == []
        assert files(own) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [1, 2])
def test_what_was_uploaded_before_homes_were_resolved_still_fits(names, own, name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "resolve", Path.absolute)
        with serving(names[name]) as client:
            upload(client, "notes.jsonl", ONE, OTHER, BROKEN)
    with serving(names[name]) as client:
        assert letters(client) == ["notes.jsonl, line 3"]
        assert retried(client)["result"]["failed"] == 1
        assert files(own) == ["notes.jsonl"]
        result = upload(client, "notes.jsonl", TWO)["result"]
        assert (result["changed"], result["deleted"], result["notes"]) == (1, 1, [])
        assert letters(client) == []
        assert files(own) == []


# -- killed --------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """Ends a process where nobody expects it."""


def killed(*args, **kwargs):
    raise Killed


# Each is the first thing that is not done any more.
STEPS = {
    "it is at its place": "indexer.runs.uploads.Path.replace",
    "it is read": "indexer.runs.index.read",
    "its documents are stored": "indexer.catalog.ledger.Ledger.record",
    "what it lacks is removed": "indexer.pipeline.run.Pipeline.remove_missing",
    "it is mined": "indexer.pipeline.run.Pipeline.mine",
    "topics follow": "indexer.pipeline.run.Pipeline.finish",
    "it waits no longer": "indexer.runs.uploads.Uploads.drop",
    "copies are tidied": "indexer.runs.uploads.Uploads.tidy",
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_loses_nothing_and_mixes_no_versions(own, step):
    """Killed in the middle of the newer upload, before one of its steps; the next server goes on."""
    with serving(own) as client:
        upload(client, "notes.jsonl", ONE, OTHER, BROKEN)
    with Collection.open(home=own) as collection:
        waiting = collection.posted.receive(lambda path: path.write_bytes(lines(TWO)), name="notes.jsonl")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(STEPS[step], killed)
            with pytest.raises(Killed):
                collection.index_posted(waiting)
    with serving(own) as client:
        for task in client.get("/api/tasks").json():
            assert ended(client, task)["state"] == "done"
        retried(client)
        assert (text(client, "rev1"), text(client, "rev2")) == (TWO["text"], None)
        assert letters(client) == []
        assert files(own) == []
        assert client.get("/api/status").json()["documents"] == {"stored": 0, "mined": 0, "done": 13}


def ended_while_read(collection, waiting, error, times):
    """Begin to store something, so many times, and end as it is read."""

    def end(*args, **kwargs):
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indexer.runs.index.read", end)
        for _ in range(times):
            with pytest.raises(error):
                collection.index_posted(waiting)


@pytest.mark.slow
def test_what_kills_every_server_becomes_a_letter_and_stops_nothing(own):
    with Collection.open(home=own) as collection:
        waiting = collection.posted.receive(lambda path: path.write_bytes(lines(ONE)), name="notes.jsonl")
        ended_while_read(collection, waiting, Killed, 3)
        collection.posted.receive(lambda path: path.write_bytes(lines(OTHER)), name="other.jsonl")
    with serving(own) as client:
        (task,) = client.get("/api/tasks").json()
        assert ended(client, task)["state"] == "done"
        assert (text(client, "rev1"), text(client, "rev2")) == (None, OTHER["text"])
        (letter,) = client.get("/api/dead-letters").json()
        assert letter["where"] == "notes.jsonl"
        assert letter["reason"].endswith("the program crashed 3 times while it was stored.")
        retried(client)
        assert text(client, "rev1") == ONE["text"]
    assert files(own) == []


def test_to_be_told_to_stop_is_no_death(own):
    with Collection.open(home=own) as collection:
        waiting = collection.posted.receive(lambda path: path.write_bytes(lines(ONE)), name="notes.jsonl")
        ended_while_read(collection, waiting, KeyboardInterrupt, 4)
        assert collection.index_posted(waiting).new == 1


def test_what_waits_is_done_in_the_order_in_which_it_came(own):
    posted = Uploads(own, "main")
    for version in (ONE, TWO):
        posted.receive(lambda path, version=version: path.write_bytes(lines(version)), name="notes.jsonl")
    with serving(own) as client:
        (task,) = client.get("/api/tasks").json()
        assert ended(client, task)["about"] == "notes.jsonl"
        assert text(client, "rev1") == TWO["text"]
    assert files(own) == []


@pytest.mark.slow
def test_what_waits_is_one_task_that_tells_of_each(own, monkeypatch):
    posted = Uploads(own, "main")
    posted.receive(lambda path: path.write_bytes(lines(ONE)))
    posted.receive(lambda path: path.write_bytes(lines(OTHER, BROKEN)), name="notes.jsonl")
    posted.receive(lambda path: path.write_bytes(lines(TWO, {"id": "rev3", "text": "Tides."})))
    begin, stages, index_posted = threading.Event(), [], Collection.index_posted

    def slow(self, waiting, *, wait, progress):
        assert begin.wait(10)
        report = index_posted(self, waiting, wait=wait, progress=progress)
        progress("mine", 1, 2)
        stages.append(client.get("/api/tasks").json()[0]["stage"])
        return report

    monkeypatch.setattr(Collection, "index_posted", slow)
    with serving(own) as client:
        (task,) = client.get("/api/tasks").json()
        assert task["about"] == "notes.jsonl, 2 posts of documents"
        begin.set()
        task = ended(client, task)
        assert stages == ["post 1 of 3: mine", "post 2 of 3: mine", "post 3 of 3: mine"]
        assert task["documents"] == ["rev2", "rev1", "rev3"]
        result = task["result"]
        assert [result[name] for name in ("read", "new", "changed", "failed")] == [4, 3, 1, 1]
        assert len(result["problems"]) == 1


def test_what_is_half_received_never_waits(own):
    posted = Uploads(own, "main")

    def cut_off(path: Path) -> None:
        path.write_bytes(b"half")
        raise Killed

    with pytest.raises(Killed):
        posted.receive(cut_off, name="notes.jsonl")
    assert posted.waiting() == []
    assert files(own) == []


def test_a_killed_retry_forgets_no_letter(tmp_path, own, monkeypatch):
    file = tmp_path / "notes.jsonl"
    file.write_bytes(lines(ONE, BROKEN))
    with Collection.open(home=own) as collection:
        collection.index([file])
        with monkeypatch.context() as patch:
            patch.setattr("indexer.runs.index.read", killed)
            with pytest.raises(Killed):
                collection.retry()
        assert len(collection.dead_letters()) == 1


def test_what_fails_for_a_while_waits_and_is_stored_before_what_comes_later(client, own, monkeypatch):
    from indexer.engines.local.engine import LocalEngine

    def away(self, documents):
        raise EngineUnavailable("The disk is full.", hint="Make room.")

    with monkeypatch.context() as patch:
        patch.setattr(LocalEngine, "store", away)
        assert upload(client, "notes.jsonl", ONE)["state"] == "failed"
    assert files(own) != []
    assert upload(client, "notes.jsonl", TWO)["state"] == "done"
    assert text(client, "rev1") == TWO["text"]
    assert files(own) == []


# -- what is told --------------------------------------------------------------------------------------------


def test_tasks_name_what_they_are_about_and_posted_documents_their_ids(client):
    begun = client.post("/api/documents", json=[{"text": "No id."}, {"id": "mine", "text": "An id."}]).json()
    assert begun["about"] == "2 documents posted"
    made, mine = begun["documents"]
    assert (len(made), mine) == (24, "mine")
    assert ended(client, begun)["documents"] == [made, mine]
    assert text(client, made) == "No id."
    task = upload(client, "notes.jsonl", ONE, OTHER)
    assert (task["about"], task["documents"]) == ("notes.jsonl", ["rev1", "rev2"])
    page = ended(client, client.post("/api/files", files={"file": ("a.md", b"# Tides\n\nThey come.")}).json())
    assert text(client, page["documents"][0]) == "They come."
    assert [task["documents"] for task in client.get("/api/tasks").json()] == [[], [], []]


@pytest.mark.slow
def test_dead_letters_are_dismissed(client, own):
    upload(client, "a.jsonl", ONE, BROKEN)
    upload(client, "b.jsonl", BROKEN, BROKEN)
    first, *_ = client.get("/api/dead-letters").json()
    assert client.delete(f"/api/dead-letters/{first['id']}").json() == {"dismissed": 1}
    assert client.delete(f"/api/dead-letters/{first['id']}").status_code == 404
    assert letters(client) == ["b.jsonl, line 1", "b.jsonl, line 2"]
    assert client.delete("/api/dead-letters?stage=encode").json() == {"dismissed": 0}
    assert client.delete("/api/dead-letters?stage=read").json() == {"dismissed": 2}
    assert retried(client)["result"]["read"] == 0
    assert files(own) == []
    assert upload(client, "b.jsonl", BROKEN)["result"]["failed"] == 1


def test_a_deleted_document_is_gone(client):
    assert client.delete("/api/documents/nowhere").status_code == 404
    (before,) = [t for t in client.get("/api/topics").json() if t["id"] == topic_of(client, "d00")]
    task = ended(client, client.delete("/api/documents/d00").json())
    assert (task["state"], task["about"], task["result"]["deleted"]) == ("done", "d00", 1)
    assert text(client, "d00") is None
    assert client.get("/api/search?q=&limit=100").json()["total"] == 11
    (after,) = [t for t in client.get("/api/topics").json() if t["id"] == before["id"]]
    assert after["documents"] == before["documents"] - 1
    assert client.get("/api/status").json()["documents"]["done"] == 11


def topic_of(client, id_):
    return client.get(f"/api/documents/{id_}").json()["topics"][0]["id"]
