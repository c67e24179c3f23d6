"""People with keys: logging in, forms, and out."""

from __future__ import annotations

import pytest
from lxml import html
from web_client import serving

from indexer.web.api_keys import Keys

HTML = {"Accept": "text/html"}


@pytest.fixture
def keyed(own):
    keys = Keys(own)
    secrets = {scope: keys.add(scope, scope) for scope in ("read", "write")}
    with serving(own, keys=True) as client:
        yield client, secrets


def token(client, path):
    return html.fromstring(client.get(path, headers=HTML).text).xpath("//input[@name='token']/@value")[0]


def log_in(client, key, next="/"):
    given = {"key": key, "next": next, "token": token(client, "/login")}
    return client.post("/login", data=given, headers=HTML, follow_redirects=False)


def test_without_a_session_every_page_leads_to_the_login(keyed):
    client, _ = keyed
    for path in ("/", "/topics", "/document?id=d00", "/operations", "/api", "/export/topics/csv"):
        answer = client.get(path, headers=HTML, follow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=%2F")


def test_a_key_opens_the_page_that_was_asked_for(keyed):
    client, secrets = keyed
    asked = client.get("/document?id=d00", headers=HTML)
    assert asked.url.path == "/login"
    next_ = html.fromstring(asked.text).xpath("//input[@name='next']/@value")[0]
    answer = log_in(client, secrets["read"], next_)
    assert (answer.status_code, answer.headers["location"]) == (303, "/document?id=d00")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/document?id=d00", headers=HTML).status_code == 200
    assert client.get("/api/phrases?phrase=tides").status_code == 200  # what scripts of the page ask for
    assert secrets["read"] not in client.get("/", headers=HTML).text


def test_what_is_no_key_opens_nothing(keyed):
    client, _ = keyed
    answer = log_in(client, "ixk_wrong")
    assert answer.status_code == 401
    assert "The key is not valid." in answer.text
    assert client.get("/", headers=HTML, follow_redirects=False).status_code == 303


@pytest.mark.parametrize(
    "next_", ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere", "x", "/a b"]
)
def test_a_login_leads_nowhere_else(keyed, next_):
    client, secrets = keyed
    assert log_in(client, secrets["read"], next_).headers["location"] == "/"


def test_logging_out_ends_the_session(keyed):
    client, secrets = keyed
    log_in(client, secrets["read"])
    before = dict(client.cookies)
    client.post("/logout", data={"token": token(client, "/")}, headers=HTML)
    client.cookies.update(before)
    assert client.get("/", headers=HTML, follow_redirects=False).status_code == 303


def test_a_session_ends_with_its_key(keyed, own):
    client, secrets = keyed
    log_in(client, secrets["read"])
    Keys(own).remove("read")
    assert client.get("/", headers=HTML, follow_redirects=False).status_code == 303


def test_a_session_is_another_one_than_before_the_login(keyed):
    client, secrets = keyed
    client.get("/login", headers=HTML)
    before = client.cookies["indexer"]
    log_in(client, secrets["read"])
    assert client.cookies["indexer"] != before


def test_who_may_only_read_sees_no_forms_and_cannot_send_them(keyed):
    client, secrets = keyed
    log_in(client, secrets["read"])
    topic = client.get("/api/topics").json()[0]["id"]
    page = html.fromstring(client.get(f"/topics/{topic}", headers=HTML).text)
    assert page.xpath("//form/@action") == ["/logout"]
    given = {"label": "x", "token": token(client, "/")}
    assert client.post(f"/topics/{topic}/rename", data=given, headers=HTML).status_code == 403


def test_a_session_changes_nothing_through_the_api(keyed):
    client, secrets = keyed
    log_in(client, secrets["write"])
    answer = client.post("/api/retry")
    assert (answer.status_code, "need a key" in answer.json()["detail"]) == (403, True)
    assert (
        client.post("/api/retry", headers={"Authorization": f"Bearer {secrets['write']}"}).status_code == 202
    )


# -- forms of other sites ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [{}, {"token": ""}, {"token": "0" * 64}, {"token": "ü"}])
def test_a_form_without_the_token_of_the_page_changes_nothing(client, sent):
    topic = client.get("/api/topics").json()[0]
    client.get("/operations", headers=HTML)  # there is a cookie
    for path in (f"/topics/{topic['id']}/rename", "/operations/retry"):
        assert client.post(path, data={"label": "stolen", **sent}, headers=HTML).status_code == 403
    upload = client.post("/operations/files", data=sent, files={"file": ("a.txt", b"x")}, headers=HTML)
    assert upload.status_code == 403
    assert client.get("/api/topics").json()[0] == topic
    assert client.get("/api/tasks").json() == []


def test_a_token_is_of_one_visitor(client, own):
    own_token = token(client, "/operations")
    with serving(own) as other:
        token(other, "/operations")
        assert other.post("/operations/retry", data={"token": own_token}, headers=HTML).status_code == 403
    client.cookies.clear()
    assert client.post("/operations/retry", data={"token": own_token}, headers=HTML).status_code == 403
