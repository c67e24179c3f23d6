"""Who may do what: keys, scopes, limits, and what comes from other sites."""

from __future__ import annotations

import json
import socket
import stat
from contextlib import closing

import pytest
from click.testing import CliRunner
from web_client import serving

from indexer.cli import main
from indexer.errors import NotFound, QueryError, SettingsError
from indexer.web.api_keys import Keys
from indexer.web.auth import RateLimit
from indexer.web.server_state import ServerState


@pytest.fixture
def keyed(own):
    """A client of a server that asks for keys, and a key of each scope."""
    keys = Keys(own)
    made = {
        scope: {"Authorization": f"Bearer {keys.add(scope, scope)}"} for scope in ("read", "write", "admin")
    }
    with serving(own, keys=True) as client:
        yield client, made


# -- keys ----------------------------------------------------------------------------------------------------


def test_only_the_hash_of_a_key_is_kept(tmp_path):
    secret = Keys(tmp_path).add("me", "write")
    kept = (tmp_path / "keys.json").read_text()
    assert secret not in kept
    assert len(json.loads(kept)[0]["hash"]) == 64
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    found = Keys(tmp_path).find(secret)
    assert (found.name, found.may("read"), found.may("write"), found.may("admin")) == (
        "me",
        True,
        True,
        False,
    )
    assert Keys(tmp_path).find(secret + "x") is None


def test_names_of_keys_are_not_given_twice(tmp_path):
    keys = Keys(tmp_path)
    keys.add("me", "read")
    with pytest.raises(QueryError, match="a key 'me' already"):
        keys.add("me", "admin")
    with pytest.raises(QueryError, match="must have 1 to 64"):
        keys.add("two words", "read")
    keys.remove("me")
    with pytest.raises(NotFound, match="Key 'me' does not exist"):
        keys.remove("me")


def test_a_damaged_file_of_keys_lets_nobody_in(tmp_path):
    (tmp_path / "keys.json").write_text("[{]")
    with pytest.raises(SettingsError, match="damaged"):
        Keys(tmp_path).find("x")


def test_keys_on_the_command_line(tmp_path):
    def run(*args):
        return CliRunner().invoke(main, ["--home", str(tmp_path), "keys", *args])

    assert run().output == "no keys\n"
    secret = run("add", "me", "--scope", "admin").output.strip()
    assert Keys(tmp_path).find(secret).scope == "admin"
    listed = json.loads(run("list", "--json").output)
    assert [(row["name"], row["scope"]) for row in listed] == [("me", "admin")]
    assert secret not in run().output
    assert run("remove", "me").output == "key me removed\n"
    assert Keys(tmp_path).find(secret) is None


# -- requests ------------------------------------------------------------------------------------------------


def test_without_a_key_nothing_is_answered(keyed):
    client, _ = keyed
    for path in ("/api/topics", "/api/documents/d00", "/metrics", "/api/tasks", "/api/status"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json()["detail"] == "A key is needed."
    wrong = client.get("/api/topics", headers={"Authorization": "Bearer ixk_wrong"})
    assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, "Bearer")
    assert wrong.json()["detail"] == "The key is not valid."
    assert client.get("/health/live").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "needed"),
    [
        ("GET", "/api/topics", None, "read"),
        ("GET", "/metrics", None, "read"),
        ("POST", "/api/keyphrases", {"text": "Sea ice."}, "read"),
        ("POST", "/api/documents", {"text": "Sea ice."}, "write"),
        ("PATCH", "/api/topics/1", {"label": "New"}, "write"),
        ("POST", "/api/retry", None, "write"),
        ("POST", "/api/retrain", {"dry_run": 3}, "admin"),
    ],
)
def test_a_key_may_do_what_its_scope_says(keyed, method, path, body, needed):
    client, made = keyed
    scopes = ("read", "write", "admin")
    for scope in scopes:
        status = client.request(method, path, json=body, headers=made[scope]).status_code
        assert (status == 403) == (scopes.index(scope) < scopes.index(needed)), (scope, status)


def test_a_key_that_is_removed_ends_at_once(keyed, own):
    client, made = keyed
    assert client.get("/api/topics", headers=made["read"]).status_code == 200
    Keys(own).remove("read")
    assert client.get("/api/topics", headers=made["read"]).status_code == 401


def test_too_many_requests_have_to_wait(own):
    """One in 100 seconds: however slow this machine is, the second comes too early."""
    secret = Keys(own).add("me", "read")
    with serving(own, keys=True, rate=0.01) as client:
        answers = [client.get("/api/topics", headers={"Authorization": f"Bearer {secret}"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]
        assert 90 < int(answers[1].headers["retry-after"]) <= 100


def test_who_tries_keys_has_to_wait(own, monkeypatch):
    monkeypatch.setattr("indexer.web.auth.TRIES", 0.01)
    secret = Keys(own).add("me", "read")
    with serving(own, keys=True) as client:
        answers = [client.get("/api/topics", headers={"Authorization": f"Bearer {i}"}) for i in range(3)]
        assert [answer.status_code for answer in answers] == [401, 429, 429]
        right = client.get("/api/topics", headers={"Authorization": f"Bearer {secret}"})
        assert right.status_code == 200  # others need not


def test_a_bucket_fills_again():
    now = 0.0
    limit = RateLimit(ServerState(), "keys", 2.0, clock=lambda: now)
    assert [limit.wait("a") for _ in range(6)] == [0.0] * 6
    assert limit.wait("a") == 0.5
    assert limit.wait("b") == 0.0
    now = 1.0
    assert [limit.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]


# -- from elsewhere ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_changes_nothing(client, headers):
    answer = client.post("/api/documents", json={"text": "Sea ice."}, headers=headers)
    assert (answer.status_code, "another site" in answer.json()["detail"]) == (403, True)
    assert client.get("/api/tasks").json() == []


def test_the_own_page_and_programs_may(client):
    for headers in ({"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}, {}):
        assert client.post("/api/retry", headers=headers).status_code == 202


def test_a_name_that_was_given_our_address_opens_nothing(web):
    """DNS rebinding: the page of another site reads a server on this machine under its own name."""
    answer = web.get("/api/topics", headers={"Host": "elsewhere.example"})
    assert (answer.status_code, answer.json()["hint"]) == (421, "Open it at http://localhost:80.")
    for host in ("127.0.0.1:8000", "[::1]:8000", "localhost"):
        assert web.get("/api/topics", headers={"Host": host}).status_code == 200


def test_headers_of_every_answer(web):
    for path in ("/api/topics", "/api/nothing", "/openapi.json"):
        headers = web.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


# -- the command ---------------------------------------------------------------------------------------------


def test_serve_listens_to_others_only_with_keys(own):
    result = CliRunner().invoke(main, ["--home", str(own), "serve", "--host", "0.0.0.0"])
    assert result.exit_code == 2
    assert "To listen on 0.0.0.0, keys are needed, and there is none." in result.output
    assert "keys add NAME --scope read" in result.output


@pytest.mark.parametrize(
    ("host", "asked"), [("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True)]
)
def test_serve_asks_for_keys_where_others_can_come(own, monkeypatch, host, asked):
    started = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: started.append((self.config, sockets)))
    Keys(own).add("me", "read")
    result = CliRunner().invoke(main, ["--home", str(own), "serve", "--host", host, "--port", "0"])
    assert result.exit_code == 0, result.output
    config, sockets = started[0]
    app = config.app
    for bound in sockets:
        bound.close()
    assert (app.state.served.access.keys is not None) == asked
    app.state.served.tasks.close()
    app.state.served.collection.close()


def test_serve_makes_no_collection(tmp_path):
    result = CliRunner().invoke(main, ["--home", str(tmp_path / "nowhere"), "serve"])
    assert (result.exit_code, (tmp_path / "nowhere").exists()) == (1, False)


def test_a_port_in_use_is_named_with_what_to_do(own):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, ["--home", str(own), "serve", "--port", port])
    assert result.exit_code == 2
    assert f"The server cannot listen on port {port} of 127.0.0.1" in result.output
    assert "choose another one with --port" in " ".join(result.output.split())


def test_serve_refuses_synonyms_that_cannot_be_read(own, tmp_path, monkeypatch):
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("lonely\n", "utf-8")
    monkeypatch.setenv("INDEXER_SYNONYMS", str(wrong))
    result = CliRunner().invoke(main, ["--home", str(own), "serve", "--port", "0"])
    assert (result.exit_code, "line 1: 'lonely'" in result.stderr) == (2, True)
