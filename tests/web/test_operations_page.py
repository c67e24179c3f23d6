"""The page of operations: letters, files, deleting, what the gate said."""

from __future__ import annotations

import re

import pytest
from lxml import html
from web_pages import HTML, cells, finish, one, seen, send, send_file, text


def test_operations_show_runs_and_generations(web):
    tree = seen(web, "/operations")
    tiles = {text(one(tile, "dt")): text(one(tile, "dd")) for tile in tree.xpath("//dl[@class='tiles']/div")}
    assert (tiles["Documents"], tiles["Topics"], tiles["Dead letters"]) == ("21", "3", "0")
    assert "21 read, 21 new, 21 mined" in text(one(tree, "//section[@aria-labelledby='runs']//tbody/tr"))
    assert "live" in text(one(tree, "//section[@aria-labelledby='generations']//tbody/tr"))


@pytest.mark.slow
def test_a_dead_letter_is_tried_again_by_a_form(client, own):
    send_file(client, "two.jsonl", b'{"id": "ok", "text": "Sea ice."}\n{broken\n')
    tree = seen(client, "/operations")
    row = cells(one(tree, "//section[@aria-labelledby='dead']//tbody/tr"))
    reason = "not valid JSON: Expecting property name enclosed in double quotes at column 2."
    assert row[:3] == ["two.jsonl, line 2", reason, "read"]
    task = one(tree, "//li[@data-task]")
    assert text(task).startswith("done, 1 failed index two.jsonl")
    assert "two.jsonl, line 2: not valid JSON" in text(one(task, "details"))
    assert one(task, ".//a[text()='ok' or bdi='ok']").get("href") == "/document?id=ok"
    (file,) = (own / "posted").glob("*/uploads/two.jsonl")
    file.write_text('{"id": "ok", "text": "Sea ice."}\n{"id": "mended", "text": "Tides."}\n')
    send(client, tree, "/operations/retry")
    finish(client)
    assert "Nothing is open." in text(seen(client, "/operations"))
    assert client.get("/api/documents/mended").status_code == 200


def test_what_a_task_has_indexed_is_called_by_its_names(client):
    lines = [f'{{"title": "Tides {i}", "text": "Tides move {i} ships."}}\n' for i in range(5)]
    send_file(client, "tides.jsonl", "".join(lines).encode())
    see = one(seen(client, "/operations"), "//li[@data-task]/span[starts-with(., 'See ')]")
    assert re.fullmatch(r"See Tides \d, Tides \d, Tides \d and 2 more", text(see))


def test_dead_letters_are_dismissed_by_forms(client):
    send_file(client, "two.jsonl", b"{broken\n{broken\n{broken\n")
    tree = seen(client, "/operations")
    letter = tree.xpath("//section[@aria-labelledby='dead']//tbody//input[@name='letter']")[1].get("value")
    token = one(tree, "//form[@action='/operations/retry']/input[@name='token']").get("value")
    assert client.post("/operations/dismiss", data={"letter": letter}, headers=HTML).status_code == 403
    client.post("/operations/dismiss", data={"letter": letter, "token": token}, headers=HTML)
    rows = seen(client, "/operations").xpath("//section[@aria-labelledby='dead']//tbody/tr/th")
    assert [text(row) for row in rows] == ["two.jsonl, line 1", "two.jsonl, line 3"]


@pytest.mark.slow
def test_all_dead_letters_are_dismissed_after_a_question(client):
    send_file(client, "two.jsonl", b"{broken\n{broken\n{broken\n")
    tree = seen(client, "/operations")
    offered = one(tree, "//form[@action='/operations/dismiss'][@method='get']//select[@name='stage']")
    assert offered.xpath("option/@value") == ["", "all", "read"]  # none is chosen before somebody chooses
    assert "required" in offered.attrib
    question = seen(client, "/operations/dismiss?stage=all")
    assert text(one(question, "//h1")) == "Dismiss all 3 dead letters?"
    assert len(client.get("/api/dead-letters").json()) == 3
    assert text(one(seen(client, "/operations/dismiss?stage=read"), "//h1")) == (
        "Dismiss 3 dead letters of the stage “read”?"
    )
    send(client, question, "/operations/dismiss")
    assert client.get("/api/dead-letters").json() == []
    assert "Nothing is open." in text(seen(client, "/operations"))  # dismissed is not processed
    nothing = client.get("/operations/dismiss?stage=all", headers=HTML, follow_redirects=False)
    assert nothing.headers["location"] == "/operations#dead"


def test_a_document_is_deleted_after_a_question(client):
    tree = seen(client, "/document?id=d00")
    title = text(one(tree, "//h1"))
    question = seen(client, one(tree, "//main//a[.='Delete this document']").get("href"))
    assert text(one(question, "//h1")) == f"Delete “{title}”?"
    form = one(question, "//form[@action='/document/delete']")
    given = {field.get("name"): field.get("value") for field in form.xpath("input")}
    assert client.get("/api/documents/d00").status_code == 200
    assert client.post("/document/delete", data={"id": "d00"}, headers=HTML).status_code == 403
    answer = client.post("/document/delete", data=given, headers=HTML, follow_redirects=False)
    assert answer.headers["location"].startswith("/operations#task-")
    finish(client)
    seen(client, "/document?id=d00", 404)
    assert "delete d00" in text(one(seen(client, "/operations"), "//li[@data-task]"))


def test_a_file_that_is_refused_is_told_beside_its_field(client):
    token = one(seen(client, "/operations"), "//form[@action='/operations/files']/input[@name='token']").get(
        "value"
    )
    answer = client.post(
        "/operations/files",
        data={"token": token},
        files={"file": ("x.exe", b"MZ")},
        headers={"Accept": "text/html"},
    )
    assert answer.status_code == 415
    form = one(html.fromstring(answer.text), "//form[@action='/operations/files']")
    assert "'exe' are not read. Read: jsonl" in text(one(form, ".//p[@id='file-problem']"))
    assert one(form, ".//input[@type='file']").get("aria-invalid") == "true"


def test_what_the_gate_said_is_shown(client, monkeypatch):
    from indexer.collection import Collection

    figures = {"name": "NPMI", "old": 0.2, "new": 0.1, "limit": "0.150 or more", "verdict": "worse"}
    judged = {"night-3": {"accepted": False, "reasons": ["Topics are less coherent."], "checks": [figures]}}
    home = client.app.state.served.collection.settings.home
    with Collection.open(home=home) as other, other.catalog.lock("main", "test") as lock:
        run = other.catalog.start_run("main", "retrain", {}, lock=lock)
        other.catalog.finish_run(run, "finished", {"verdict": "refused", "reason": "No.", "judged": judged})
    section = one(seen(client, "/operations"), "//section[@aria-labelledby='gate']")
    assert "night-3: may not take over" in text(section)
    assert cells(one(section, ".//tbody/tr")) == ["NPMI", "0.200", "0.100", "0.150 or more", "worse"]
    assert "refused: No." in text(
        one(seen(client, "/operations"), "//section[@aria-labelledby='runs']//tbody/tr[1]")
    )
