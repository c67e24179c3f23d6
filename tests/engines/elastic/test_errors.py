"""What a person reads when the server cannot be used."""

from __future__ import annotations

import socket
from traceback import format_exception

import pytest

from indexer.engines.elastic.cluster import Cluster, connect, explained
from indexer.engines.elastic.health import problems_of_server
from indexer.errors import (
    EngineForbidden,
    EngineIncompatible,
    EngineUnavailable,
    MappingMismatch,
    SearchError,
    SettingsError,
)


def error(kind: str, reason: str) -> dict:
    return {"error": {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "message", "hint"),
    [
        (
            401,
            error("security_exception", "unable to authenticate user [me] for REST request [/]"),
            EngineForbidden,
            "does not accept the user and password, or the API key",
            "INDEXER_CREDENTIALS",
        ),
        (
            403,
            error("security_exception", "action [indices:admin/create] is unauthorized for user [me]"),
            EngineForbidden,
            "A privilege is missing at http://x: action [indices:admin/create] is unauthorized for user [me].",
            "privileges",
        ),
        (
            403,
            error("security_exception", "current license is non-compliant for [bbq_disk]"),
            EngineForbidden,
            "licence",
            "Basic",
        ),
        (
            400,
            error(
                "media_type_header_exception",
                "Invalid media-type value on headers [Accept]; Accept version must be either version 8 or 7, but found 9",
            ),
            EngineIncompatible,
            "do not understand each other",
            "pip install 'elasticsearch>=8.19,<9'",
        ),
        (
            403,
            error("cluster_block_exception", "index [x] blocked by: [FORBIDDEN/8/index write (api)]"),
            EngineUnavailable,
            "takes no writes",
            "disk",
        ),
        (
            404,
            error("index_not_found_exception", "no such index [x]"),
            MappingMismatch,
            "no such index [x]",
            "Index again",
        ),
        (
            429,
            error("circuit_breaking_exception", "Data too large"),
            EngineUnavailable,
            "busy (429)",
            "again",
        ),
        (
            500,
            error("search_phase_execution_exception", "maxClauseCount is set to 1024"),
            SearchError,
            "too many words",
            "max_clause_count",
        ),
        (503, "<html>Service Unavailable</html>", EngineUnavailable, "busy (503): <html>", "again"),
        (400, error("illegal_argument_exception", "bad"), SearchError, "refused the request (400): bad.", ""),
        (500, None, SearchError, "refused the request (500): no reason given.", ""),
    ],
)
def test_an_answer_is_explained(status, body, kind, message, hint):
    problem = explained("http://x", status, body)
    assert type(problem) is kind
    assert message in str(problem)
    assert hint in problem.hint


def test_nobody_there():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    cluster = connect(url)
    with pytest.raises(EngineUnavailable, match=f"no answer from the server at {url}") as caught:
        cluster.ask(cluster.client.info)
    assert "INDEXER_ENGINE" in caught.value.hint
    assert caught.value.retryable
    cluster.close()


def test_a_server_without_tls_is_no_https_server(address):
    cluster = connect(address.replace("http://", "https://"))
    with pytest.raises(EngineUnavailable, match="does not speak TLS"):
        cluster.ask(cluster.client.info)
    cluster.close()


def test_another_product(stub, cluster: Cluster):
    stub.product = False
    with pytest.raises(EngineIncompatible, match="neither Elasticsearch nor OpenSearch") as caught:
        cluster.ask(cluster.client.info)
    assert "X-Elastic-Product" in caught.value.hint


@pytest.mark.parametrize(
    ("userinfo", "credentials", "header"),
    [
        ("", "", None),
        ("me:p%40ss@", "", "Basic bWU6cEBzcw=="),  # me:p@ss
        ("me:other@", "me:p@ss", "Basic bWU6cEBzcw=="),
        ("", "a2V5", "ApiKey a2V5"),
        ("", "@secret", "Basic bWU6cEBzcw=="),
    ],
)
def test_credentials_come_from_the_setting_a_file_or_the_url(
    stub, address, tmp_path, monkeypatch, userinfo, credentials, header
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("me:p@ss\n")
    cluster = connect(address.replace("http://", f"http://{userinfo}"), credentials=credentials)
    cluster.ask(cluster.client.info)
    assert stub.headers[-1].get("authorization") == header
    assert "p@ss" not in cluster.where
    assert "p%40ss" not in cluster.where
    cluster.close()


BLOCKED = {"blocks": {"global": {"10": {"description": "cluster read-only (api)"}}}}
FULL = {"indicators": {"disk": {"status": "red", "symptom": "1 node is out of disk space."}}}
LOW = {"indicators": {"disk": {"status": "yellow", "symptom": "1 node has too little space."}}}
FINE = {"indicators": {"disk": {"status": "green", "symptom": "The disks are fine."}}}
EXPIRED = {"license": {"type": "platinum", "status": "expired"}}
BASIC = {"license": {"type": "basic", "status": "active"}}
MAY_NOT = error("security_exception", "action [cluster:monitor/…] is unauthorized for user [me]")


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([(200, {"blocks": {}}), (200, FINE), (200, BASIC)], []),
        (
            [(200, BLOCKED), (200, FULL), (200, EXPIRED)],
            [
                ("the server takes no writes: cluster read-only (api)", True),
                ("1 node is out of disk space.", True),
                ("the platinum licence is expired", True),
            ],
        ),
        ([(200, {"blocks": {}}), (200, LOW), (200, BASIC)], [("1 node has too little space.", False)]),
        ([(403, MAY_NOT), (403, MAY_NOT), (400, error("illegal_argument_exception", "no handler"))], []),
    ],
)
def test_a_server_that_no_run_could_use_is_known_before_there_is_a_collection(stub, cluster, answers, found):
    stub.mishaps += [lambda items, answer=answer: answer for answer in answers]
    assert [(problem.found, problem.fatal) for problem in problems_of_server(cluster)] == found
    assert not stub.mishaps


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(SettingsError, match="credentials cannot be read"):
        connect("http://x:9200", credentials=f"@{tmp_path / 'missing'}")
    with pytest.raises(SettingsError, match="does not exist"):
        connect("https://x:9200", certificates=str(tmp_path / "missing"))
    with pytest.raises(SettingsError, match="nothing would be encrypted"):
        connect("http://x:9200", certificates=str(tmp_path))


@pytest.mark.parametrize(
    "url",
    [
        "http://host:99999",
        "http://host:9200x",
        "http://[::1",
        "https://me:se/cret@host:9200",
        "https://me:se#cret@host",
        "https://me:12/cret@host",  # which would be port 12 of the host "me"
    ],
)
def test_a_wrong_url_is_named_without_its_password(url):
    with pytest.raises(SettingsError, match="has no usable port") as caught:
        connect(url)
    said = "".join(format_exception(caught.value)) + caught.value.hint
    assert not [part for part in ("99999", "9200x", "::1", "cret", "'se'") if part in said]


def test_the_password_is_in_no_message(address):
    cluster = connect(address.replace("http://", "https://me:secret@"))
    with pytest.raises(EngineUnavailable) as caught:
        cluster.ask(cluster.client.info)
    assert "secret" not in f"{caught.value} {caught.value.hint} {caught.value.facts}"
    cluster.close()
