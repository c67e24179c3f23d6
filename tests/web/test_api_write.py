"""Documents, files, names, retries and retrains through the API; what takes long is a task."""

from __future__ import annotations

import json

import pytest
from web_client import ended, serving, written

from indexer.collection import Collection
from indexer.log import configure


def posted(client, path, **given):
    answer = client.post(path, **given)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/tasks/{answer.json()['id']}"
    return ended(client, answer.json())


def kept(home):
    """What lies in the home of all that was posted."""
    return [path for path in (home / "posted").rglob("*") if path.is_file()]


def test_a_posted_document_is_found(client, own):
    new = {
        "id": "new/1",
        "title": "Tidal power",
        "text": "Ocean waves drive turbines.",
        "meta": {"subject": "oceans"},
    }
    task = posted(client, "/api/documents", json=new)
    assert (task["state"], task["result"]["new"], task["result"]["mined"]) == ("done", 1, 1)
    stored = client.get("/api/documents/new/1").json()
    assert (stored["title"], stored["meta"]) == ("Tidal power", {"subject": "oceans"})
    assert stored["bundle"]
    assert client.get("/api/search", params={"q": "turbines"}).json()["hits"][0]["id"] == "new/1"
    assert not kept(own)


def test_a_name_cannot_be_given_while_somebody_writes(client, own):
    with Collection.open(home=own) as other, other.catalog.lock("main", "indexer index"):
        answer = client.patch("/api/topics/1", json={"label": "New"})
    assert answer.status_code == 409
    assert "is being written by indexer index" in answer.json()["detail"]
    assert answer.json()["hint"].startswith("Wait until it is done.")


def test_an_id_is_not_empty(client):
    assert client.post("/api/documents", json={"id": "", "text": "Sea ice."}).status_code == 422


def test_what_a_task_logs_has_the_id_of_its_request(client, capsys):
    configure("info", format="json")
    try:
        ended(client, client.post("/api/retry", headers={"X-Request-ID": "from-me"}).json())
        client.app.state.served.tasks.close()  # with the last line written
    finally:
        configure()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    told = [line["event"] for line in lines if line.get("request") == "from-me"]
    assert sorted(told) == ["request", "task_begun", "task_ended"]


def test_the_dates_are_those_of_the_documents_that_are_there(client):
    """12 documents have a `date`. More get a `created`, and go again."""

    def field():
        return client.get("/api/timeline").json()["field"]

    assert field() == "date"
    some = [{"id": f"n{i}", "text": "Tides.", "meta": {"created": f"20{10 + i}-05-12"}} for i in range(13)]
    posted(client, "/api/documents", json=some[:1])
    assert field() == "date"
    posted(client, "/api/documents", json=some[1:])
    assert field() == "created"
    ended(client, client.delete("/api/documents/n12").json())
    ended(client, client.delete("/api/documents/n11").json())
    assert field() == "date"


def test_several_at_once_and_the_same_again(client):
    some = [{"id": f"n{i}", "text": f"The stock market number {i}."} for i in range(3)]
    assert posted(client, "/api/documents", json=some)["result"]["new"] == 3
    assert posted(client, "/api/documents", json=some)["result"]["unchanged"] == 3
    assert posted(client, "/api/documents", json=[{"text": "Twice."}] * 2)["result"]["new"] == 1


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"text": "x", "meta": {"id": "y"}}, "cannot be called id"),
        ({"text": "x", "id": "a\u0000b"}, "control characters"),
        ({"text": "   "}, "text"),
        ({"text": "x" * 3_000}, "2,000"),
    ],
)
def test_what_cannot_be_a_document_is_refused_at_once(own, monkeypatch, document, said):
    monkeypatch.setenv("INDEXER_MAX_DOCUMENT_BYTES", "2000")
    with serving(own) as client:
        answer = client.post("/api/documents", json=[{"id": "good", "text": "fine"}, document])
        assert (answer.status_code, client.get("/api/documents/good").status_code) == (422, 404)
        assert said in answer.json()["detail"]
        assert str(own) not in answer.text
        assert client.get("/api/tasks").json() == []
    assert not kept(own)


@pytest.mark.slow
def test_an_uploaded_file_is_read_by_its_kind(client, own):
    file = {"file": ("../../Notes on tides.md", b"# Tides\n\nTides come twice a day.", "text/markdown")}
    assert posted(client, "/api/files", files=file)["result"]["new"] == 1
    hit = client.get("/api/search", params={"q": "twice a day", "mode": "words"}).json()["hits"][0]
    assert (hit["title"], hit["meta"]["file"]) == ("Tides", "Notes on tides.md")
    changed = {"file": ("Notes on tides.md", b"# Tides\n\nTides come and go.", "text/markdown")}
    assert posted(client, "/api/files", files=changed)["result"]["changed"] == 1
    assert not kept(own)
    assert not list(own.parent.glob("Notes*"))


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("tool.exe", b"MZ", 415),
        ("bomb.jsonl.gz", b"\x1f\x8b", 415),
        ("no ending", b"text", 415),
        ("not.pdf", b"<html>", 415),
        ("not.docx", b"text", 415),
        ("", b"text", 422),
    ],
)
def test_files_of_other_kinds_are_refused(client, name, content, status):
    assert client.post("/api/files", files={"file": (name, content)}).status_code == status


def test_what_cannot_be_read_is_kept_for_a_retry(client, own):
    lines = b'{"id": "ok", "text": "Sea ice."}\n{broken\n'
    task = posted(client, "/api/files", files={"file": ("two.jsonl", lines)})
    assert (task["result"]["new"], task["result"]["failed"]) == (1, 1)
    (letter,) = client.get("/api/dead-letters").json()
    assert letter["source"].endswith("uploads/two.jsonl:2")
    (file,) = (own / "posted").glob("*/uploads/two.jsonl")
    written(file, [{"id": "ok", "text": "Sea ice."}, {"id": "mended", "text": "Tides."}])
    assert posted(client, "/api/retry")["result"]["new"] == 1
    assert client.get("/api/dead-letters").json() == []


def test_a_topic_is_renamed(client):
    topic = client.get("/api/topics").json()[0]
    answer = client.patch(f"/api/topics/{topic['id']}", json={"label": "Waves and ice"})
    assert answer.json() == {**topic, "label": "Waves and ice", "label_locked": True}
    assert client.get("/api/topics").json()[0]["label"] == "Waves and ice"
    other = client.get("/api/topics").json()[1]["id"]
    taken = client.patch(f"/api/topics/{other}", json={"label": "waves and ice"})
    assert taken.status_code == 409
    assert f'/merge {{"into": "{topic["id"]}"}}' in taken.json()["hint"]
    number = client.patch(f"/api/topics/{topic['id']}", json={"label": "7"})
    assert (number.status_code, number.json()["hint"]) == (
        400,
        "Choose a name that is neither a number nor an id.",
    )
    back = client.delete(f"/api/topics/{topic['id']}/label")
    assert back.json() == topic
    assert client.delete(f"/api/topics/{topic['id']}/label").json() == topic  # there is nothing to take back


def test_a_topic_is_merged_into_another(client):
    large, _, small = client.get("/api/topics").json()
    task = posted(client, f"/api/topics/{small['id']}/merge", json={"into": large["id"]})
    assert (task["state"], task["result"]) == ("done", {"topic": large["id"], "changed": small["documents"]})
    assert task["about"] == f"{small['label']} ({small['id']}) into {large['label']} ({large['id']})"
    assert task["done"] == task["total"] > 0
    assert client.get(f"/api/topics/{small['id']}").json()["id"] == large["id"]
    assert len(client.get("/api/topics").json()) == 2
    itself = client.post(f"/api/topics/{large['id']}/merge", json={"into": large["id"]})
    assert (itself.status_code, itself.json()["hint"]) == (400, "Choose another one.")
    assert client.post(f"/api/topics/{large['id']}/merge", json={"into": "nothing"}).status_code == 404


def test_documents_are_given_to_a_topic_and_taken_away(client):
    first, second, *_ = client.get("/api/topics").json()
    id_ = client.get(f"/api/topics/{first['id']}").json()["top_documents"][0]["id"]
    path = f"/api/topics/{second['id']}/documents"
    assert posted(client, path, json={"ids": [id_]})["state"] == "done"
    why = client.get("/api/why", params={"document": id_}).json()
    assert [topic["id"] for topic in why["topics"]] == [second["id"]]
    assert why["said"] == [{"id": second["id"], "label": second["label"], "belongs": True}]
    assert posted(client, path, json={"ids": [id_], "belongs": None})["state"] == "done"
    assert client.get("/api/why", params={"document": id_}).json()["said"] == []
    assert "no document 'nothing'" in posted(client, path, json={"ids": ["nothing"]})["error"]
    assert client.post("/api/topics/nothing/documents", json={"ids": [id_]}).status_code == 404
    assert client.post(path, json={"ids": []}).status_code == 422


def test_a_name_waits_for_nobody_and_says_who_writes(client):
    topic = client.get("/api/topics").json()[0]
    with client.app.state.served.collection.catalog.lock("main", "indexer index"):
        answer = client.patch(f"/api/topics/{topic['id']}", json={"label": "Waves"})
    assert answer.status_code == 409
    assert "is being written by indexer index" in answer.json()["detail"]
    assert answer.json()["hint"].startswith("Wait until it is done.")


def test_a_retrain_is_asked_for_with_its_options(client, monkeypatch):
    from trainer.retrain.report import RetrainReport

    asked = []

    def retrain(self, options, *, progress):
        asked.append(options)
        progress("train", 3, 10)
        return RetrainReport(reason="nothing new")

    monkeypatch.setattr(Collection, "retrain", retrain)
    task = posted(client, "/api/retrain", json={"if_drifted": True, "budget": 60})
    assert (task["result"]["verdict"], task["stage"], task["done"], task["total"]) == (
        "nothing",
        "train",
        3,
        10,
    )
    assert (asked[0].if_drifted, asked[0].budget, asked[0].dry_run) == (True, 60, False)


def test_a_task_that_fails_says_why(client, monkeypatch):
    from indexer.errors import EngineUnavailable

    def away(self, *args, **kwargs):
        raise EngineUnavailable("The disk is full.", hint="Make room.")

    monkeypatch.setattr(Collection, "retry", away)
    task = posted(client, "/api/retry")
    assert (task["state"], task["error"]) == (
        "failed",
        "The disk is full. The server's log says more; ask its administrator.",
    )


@pytest.mark.slow
def test_a_task_waits_while_somebody_else_writes(client, own):
    with Collection.open(home=own) as other, other.catalog.lock("main", "indexer index"):
        task = client.post("/api/retry").json()
        for _ in range(100):
            found = client.get(f"/api/tasks/{task['id']}").json()
            if found["stage"].startswith("wait for indexer index"):
                break
        assert found["state"] == "running"
    assert ended(client, task)["state"] == "done"


def test_a_server_that_stops_interrupts_its_task(own, monkeypatch):
    def slow(self, waiting, *, wait, progress):
        while True:
            progress("mine", 1, 2)

    monkeypatch.setattr(Collection, "index_posted", slow)
    with serving(own) as client:
        task = client.post("/api/documents", json={"text": "x"}).json()
        tasks = client.app.state.served.tasks
        while tasks.get(task["id"]).stage != "mine":
            pass
    assert tasks.get(task["id"]).state == "stopped"


def test_documents_that_are_handed_over_are_with_the_workers(client, monkeypatch):
    from indexer.pipeline.run import RunReport

    with Collection.open(home=client.app.state.served.collection.settings.home) as other:
        with other.catalog.lock("main", "test") as lock:
            run = other.catalog.start_run("main", "index", {}, lock=lock)
            report = RunReport(run=run, left_to_workers=1)
            monkeypatch.setattr(Collection, "index_posted", lambda self, waiting, **given: report)
            task = posted(client, "/api/documents", json={"text": "x"})
            assert task["state"] == "with workers"
            other.catalog.finish_run(run, "finished", {"mined": 1})
        assert client.get(f"/api/tasks/{task['id']}").json()["result"]["mined"] == 1
