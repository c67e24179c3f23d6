"""indexer searches, as a person types it."""

from __future__ import annotations

import json

from click.testing import CliRunner

from indexer.cli import main


def test_a_search_is_saved_listed_checked_and_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, new = tmp_path / "some.jsonl", tmp_path / "new.jsonl"

    def call(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, ["--home", str(tmp_path / "home"), *arguments])
        assert done.exit_code == code, done.output
        return done.output

    def put(*texts: str) -> None:
        source.write_text(
            "".join(json.dumps({"id": text[:4], "text": text}) + "\n" for text in texts), "utf-8"
        )
        call("index", str(source))

    put("Solar wind blows.")
    assert "Saved 'wind'. It finds 1 document by words now" in call(
        "searches", "add", "wind", "solar", "wind", "--mode", "words", "--file", "new.jsonl"
    )
    put("Solar wind blows.", "More solar wind blows.")
    assert [json.loads(line)["id"] for line in new.read_text("utf-8").splitlines()] == ["More"]
    listed = call("searches")
    assert "solar wind" in listed
    assert str(new) in listed
    assert json.loads(call("searches", "list", "--json"))[0]["new"] == 1
    assert "wind: 0 new hits" in call("searches", "check")
    assert "wind: 1 new hit" in call("status")
    assert "Say where new hits go" in call("searches", "add", "x", "y", code=2)
    call("searches", "remove", "wind")
    assert "no saved searches" in call("searches")
