"""Saved searches: what is new to them after a run, and where it goes."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from indexer.collection import Collection
from indexer.errors import NotFound, QueryError
from indexer.export.saved_searches import Wanted

TEXTS = {
    "a": "Solar wind blows from the sun.",
    "b": "Tides move the sea.",
    "c": "The solar wind is fast in spring.",
}


@pytest.fixture
def collection(tmp_path, encoder):
    with Collection.open(home=tmp_path / "home", encoder=encoder) as opened:
        put(opened, tmp_path, "a", "b")
        yield opened


def put(collection, folder, *ids, **texts):
    """Index documents; `texts` replace those of above."""
    file = folder / "documents.jsonl"
    rows = [{"id": id_, "text": {**TEXTS, **texts}[id_], "label": id_.upper()} for id_ in ids]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return collection.index([file])


def delivered(file):
    return [json.loads(line)["id"] for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def test_new_and_changed_documents_are_delivered_once_and_old_ones_never(collection, tmp_path):
    file = tmp_path / "new.jsonl"
    assert collection.add_saved_search("wind", Wanted("solar wind", "words", file=str(file))).total == 1
    put(collection, tmp_path, "a", "b")
    assert delivered(file) == []
    report = put(collection, tmp_path, "a", "b", "c")
    assert delivered(file) == ["c"]
    assert "Saved search 'wind': 1 new hit." in report.notes
    put(collection, tmp_path, "a", "b", "c", b="Tides of the solar wind.")
    assert delivered(file) == ["c", "b"]
    assert collection.check_saved_searches().found == {"wind": 0}
    (saved,) = collection.saved_searches()
    assert (saved.name, saved.new, saved.error) == ("wind", 1, "")
    line = json.loads(file.read_text("utf-8").splitlines()[0])
    assert all(topic["label"] != topic["id"] for topic in line["topics"])


def test_filters_hold(collection, tmp_path):
    file = tmp_path / "new.jsonl"
    wanted = Wanted("wind", "words", (("label", "=", "X"),), file=str(file))
    with pytest.raises(QueryError, match="no field 'colour'"):
        collection.add_saved_search("wind", Wanted("wind", "words", (("colour", "=", "red"),), command="cat"))
    collection.add_saved_search("wind", wanted)
    put(collection, tmp_path, "a", "b", "c")
    assert delivered(file) == []


def test_by_meaning_only_what_is_close_is_new(collection, tmp_path, monkeypatch):
    file = tmp_path / "new.jsonl"
    collection.add_saved_search("sun", Wanted("the sun blows solar wind", "meaning", file=str(file)))
    monkeypatch.setattr(Collection, "_cosine_by_chance", lambda self: 1.1)
    put(collection, tmp_path, "a", "b", "c")
    assert delivered(file) == []
    monkeypatch.setattr(Collection, "_cosine_by_chance", lambda self: -1.0)
    put(collection, tmp_path, "a", "b", "c", c="The sun blows.")
    assert delivered(file) == ["c"]


def test_what_could_not_be_delivered_is_delivered_after_the_next_run(collection, tmp_path):
    folder = tmp_path / "later"
    file = folder / "new.jsonl"
    with pytest.raises(QueryError, match="cannot be written: No such file"):
        collection.add_saved_search("wind", Wanted("wind", "words", file=str(file)))
    folder.mkdir()
    collection.add_saved_search("wind", Wanted("wind", "words", file=str(file)))
    file.unlink()
    folder.rmdir()
    report = put(collection, tmp_path, "a", "b", "c")
    assert "No such file" in collection.saved_searches()[0].error
    assert any(note.startswith("Saved search 'wind' failed: ") for note in report.notes)
    folder.mkdir()
    put(collection, tmp_path, "a", "b", "c")
    assert delivered(file) == ["c"]
    assert collection.saved_searches()[0].error == ""


def test_a_command_gets_the_hits_and_one_that_fails_keeps_no_other_from_them(collection, tmp_path):
    file = tmp_path / "copy.jsonl"
    copying = f"import sys; open({str(file)!r}, 'w').write(sys.stdin.read())"
    collection.add_saved_search("bad", Wanted("wind", command=f'"{sys.executable}" -c "exit(\'no mail\')"'))
    collection.add_saved_search("good", Wanted("wind", "words", command=f'"{sys.executable}" -c "{copying}"'))
    put(collection, tmp_path, "a", "b", "c")
    assert delivered(file) == ["c"]
    errors = {saved.name: saved.error for saved in collection.saved_searches()}
    assert errors["bad"].endswith("ended with 1: no mail.")
    assert errors["good"] == ""


def test_a_webhook_gets_the_hits(collection, tmp_path):
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if len(posted) == 1 else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/hook"
        collection.add_saved_search("wind", Wanted("wind", "words", webhook=address))
        put(collection, tmp_path, "a", "b", "c")
        assert "500" in collection.saved_searches()[0].error
        assert collection.check_saved_searches().found == {"wind": 1}
        server.shutdown()
    assert posted[0] == posted[1]
    assert (posted[0]["search"], posted[0]["query"]) == ("wind", "wind")
    assert [hit["id"] for hit in posted[0]["hits"]] == ["c"]


def test_names_and_addresses_are_checked(collection):
    collection.add_saved_search("wind", Wanted("wind", command="cat"))
    for name, wanted in (
        ("wind", Wanted("x", command="cat")),
        (" ", Wanted("x", command="cat")),
        ("x" * 101, Wanted("x", command="cat")),
        ("y", Wanted("x", webhook="ftp://x")),
    ):
        with pytest.raises(QueryError):
            collection.add_saved_search(name, wanted)
    for places in ({}, {"command": "cat", "webhook": "http://localhost/"}):
        with pytest.raises(QueryError, match="one file, one webhook or one command"):
            collection.add_saved_search("y", Wanted("x", **places))
    collection.remove_saved_search("wind")
    with pytest.raises(NotFound):
        collection.remove_saved_search("wind")
    with pytest.raises(NotFound, match="no saved search 'wind'"):
        collection.check_saved_searches(["wind"])
    assert collection.saved_searches() == []
