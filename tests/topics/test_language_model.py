"""The request to a language model, and what of the answers of a hostile server is refused."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from fake_model import FakeModel, answer, completion, fake_model

from indexer.errors import NoAnswer, SettingsError
from indexer.settings import load_settings
from indexer.topics.language_model import LanguageModel

KEY = "sk-very-secret"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with fake_model() as found:
        yield found


def model(fake: FakeModel, timeout: float = 5.0) -> LanguageModel:
    return LanguageModel(fake.url, "small", KEY, timeout)


def refusal(fake: FakeModel, timeout: float = 5.0) -> str:
    with pytest.raises(NoAnswer) as caught:
        model(fake, timeout).ask("Name it.", '{"phrases": ["x"]}')
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_the_request_is_a_chat_completion_with_the_key(fake: FakeModel) -> None:
    fake.says = lambda shown: "Space weather"
    assert model(fake).ask("Name it.", '{"phrases": ["x"]}') == "Space weather"
    headers, body = fake.requests[0]
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "path": "/v1/chat/completions",
        "model": "small",
        "messages": [
            {"role": "system", "content": "Name it."},
            {"role": "user", "content": '{"phrases": ["x"]}'},
        ],
        "temperature": 0,
        "max_tokens": 100,
    }


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_is_named_by_its_status_alone(fake: FakeModel, status: int) -> None:
    fake.respond = lambda handler: answer(handler, f"wrong key {KEY}".encode(), status)
    assert refusal(fake) == f"the server answered with status {status}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(fake: FakeModel, status: int) -> None:
    fake.respond = lambda handler: answer(handler, b"", status, Location="/elsewhere")
    assert refusal(fake) == f"the server answered with status {status}"
    assert [body["path"] for _, body in fake.requests] == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the answer is not a chat completion"),
        (b"<html>hello</html>", "the answer is not a chat completion"),
        (b"[" * 60_000, "the answer is not a chat completion"),
        (b"9" * 60_000, "the answer is not a chat completion"),
        (b"\xff\xfe", "the answer is not a chat completion"),
        (b"{}", "the answer is not a chat completion"),
        (b'{"choices": []}', "the answer is not a chat completion"),
        (b'{"choices": {"0": 1}}', "the answer is not a chat completion"),
        (b'{"choices": [{"message": {"content": null}}]}', "the answer has no text"),
        (b'{"choices": [{"message": {"content": ["x"]}}]}', "the answer has no text"),
        (gzip.compress(b"0" * 10_000_000), "the answer is not a chat completion"),
        (completion("x" * 100_000), "the answer has more than 65,536 bytes"),
    ],
    ids=[
        "empty",
        "html",
        "deep",
        "number",
        "bytes",
        "object",
        "no choice",
        "keys",
        "null",
        "list",
        "gzip",
        "long",
    ],
)
def test_what_is_not_a_short_chat_completion_is_refused(fake: FakeModel, body: bytes, reason: str) -> None:
    headers = {"Content_Encoding": "gzip"} if body.startswith(b"\x1f") else {}
    fake.respond = lambda handler: answer(handler, body, **headers)
    assert refusal(fake) == reason


def test_another_type_is_not_read(fake: FakeModel) -> None:
    fake.respond = lambda handler: answer(handler, completion("Space"), Content_Type="text/html")
    assert refusal(fake) == "the answer is not JSON"


def test_a_body_without_an_end_is_read_up_to_a_limit(fake: FakeModel) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        for _ in range(10_000):
            handler.wfile.write(b" " * 100_000)

    fake.respond = endless
    assert refusal(fake) == "the answer has more than 65,536 bytes"


@pytest.mark.parametrize("part", ["status", "headers", "body"])
def test_a_server_that_drips_is_left_when_the_time_is_over(fake: FakeModel, part: str) -> None:
    """Each read is in time, the answer is not."""

    def drip(handler: BaseHTTPRequestHandler) -> None:
        begun = {"status": b"HTTP/1.0 2", "headers": b"HTTP/1.0 200 OK\r\nX-A: ", "body": b""}[part]
        if part == "body":
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.end_headers()
        handler.wfile.write(begun)
        for _ in range(40):
            handler.wfile.write(b"0")
            time.sleep(0.05)

    fake.respond = drip
    start = time.monotonic()
    assert refusal(fake, timeout=0.3) == "no answer within 0.3 seconds"
    assert time.monotonic() - start < 1.5


def test_what_does_not_speak_http_is_refused(fake: FakeModel) -> None:
    fake.respond = lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n") and None
    assert refusal(fake) == "no answer: BadStatusLine"


def test_where_no_server_listens_there_is_no_answer() -> None:
    with fake_model() as gone:
        pass
    assert refusal(gone) == "no answer: ConnectionRefusedError"


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel€"])
def test_a_key_that_no_header_can_hold_is_not_repeated(fake: FakeModel, key: str) -> None:
    with pytest.raises(NoAnswer, match=r"^no answer: \w+$"):
        LanguageModel(fake.url, "small", key).ask("Name it.", "{}")
    assert fake.requests == []


def test_an_answer_that_repeats_the_key_is_kept_without_it(fake: FakeModel) -> None:
    fake.says = lambda shown: f"Your key is {KEY}"
    assert model(fake).ask("Name it.", "{}") == "Your key is ***"


def test_the_settings_name_a_model_or_none(tmp_path) -> None:
    assert LanguageModel.of(load_settings(home=tmp_path)) is None
    with pytest.raises(SettingsError, match="INDEXER_NAMING_MODEL is empty"):
        LanguageModel.of(load_settings(naming_url="http://localhost:1/v1"))
    (tmp_path / "key").write_text(f"{KEY}\n")
    settings = load_settings(
        naming_url="http://localhost:1/v1/", naming_model="small", naming_key=f"@{tmp_path / 'key'}"
    )
    found = LanguageModel.of(settings)
    assert found == LanguageModel("http://localhost:1/v1/", "small", KEY)
    assert KEY not in repr(found)
    settings = load_settings(naming_url="http://localhost:1/v1/", naming_model="small", naming_key=KEY)
    assert KEY not in repr(settings)
    assert KEY not in str(settings.shown())
    with pytest.raises(SettingsError, match="must be empty or begin with http"):
        load_settings(naming_url="https://me:pw@host/v1")
