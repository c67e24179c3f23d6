"""Whatever is asked for, an answer comes that the description of the API knows."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from fuzzing import TIMES, examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from services.ports import wait_until
from web_client import indexed, made, serving

KNOWN = (
    "d00",
    "t-000001",
    "2",
    "ice",
    '"sea ice"',
    "subject=oceans",
    "date>=2004",
    "a [[sea ice]] melts",
    "csv",
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(KNOWN)
VALUES = {
    "integer": st.integers(-1, 120).map(str) | TEXTS,
    "boolean": st.sampled_from(["true", "false", "maybe"]),
    "string": TEXTS,
    "array": st.lists(TEXTS, max_size=3),
}
NAMES = st.sampled_from(["id", "title", "text", "meta", "label", "limit", "other"])
BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=6,
)
POSTED = st.fixed_dictionaries(
    {"text": TEXTS}, optional={"id": TEXTS, "title": TEXTS, "meta": BODIES, "limit": BODIES}
)
TAKING_BODIES = (("POST", "/api/keyphrases"), ("POST", "/api/documents"), ("PATCH", "/api/topics/{id}"))

any_of = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=TIMES == 1, database=None
)


@pytest.fixture(scope="module")
def served(tmp_path_factory, parts):
    with serving(indexed(tmp_path_factory.mktemp("any") / "home", made(9))) as client:
        wait_until(
            lambda: client.get("/health/ready").status_code == 200, 60, "the encoder"
        )  # it is asked for, too
        yield client


def described(served):
    return served.app.openapi()["paths"]


def parameters(operation, where):
    return {
        p["name"]: VALUES[
            p["schema"].get("type", "string")
        ]  # a choice has none: its values are named elsewhere
        for p in operation.get("parameters", [])
        if p["in"] == where
    }


def check(answer, operation):
    """The status is one that is told of, is no failure, and has the kind of body that goes with it."""
    assert str(answer.status_code) in operation["responses"], answer.text
    assert answer.status_code < 500, answer.text
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind in operation["responses"][str(answer.status_code)]["content"]
    if answer.status_code >= 400:
        assert set(answer.json()) >= {"title", "status", "detail", "request", "type"}


@pytest.mark.slow
@settings(any_of, max_examples=examples(250))
@given(data=st.data())
def test_whatever_is_asked_the_answer_is_described(served, data):
    paths = described(served)
    path = data.draw(st.sampled_from([path for path in paths if "get" in paths[path]]))
    operation = paths[path]["get"]
    query = data.draw(st.fixed_dictionaries({}, optional=parameters(operation, "query")))
    # A path may not end, nor go up, where a value stands in it.
    named = data.draw(st.fixed_dictionaries(parameters(operation, "path")))
    here = path.format(**{name: quote(value.strip("./") or "x", safe="") for name, value in named.items()})
    check(served.get(here, params=query), operation)


@pytest.mark.slow
@settings(any_of, max_examples=examples(120))
@given(target=st.sampled_from(TAKING_BODIES), body=BODIES | POSTED | st.lists(POSTED, max_size=3))
def test_whatever_is_sent_the_answer_is_described(served, target, body):
    method, path = target
    answer = served.request(method, path.format(id="1"), content=json.dumps(body).encode())
    check(answer, described(served)[path][method.lower()])


HEADERS = st.one_of(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
    st.sampled_from(["[", "[::1", "http://[", "localhost:x", "@", "null", "[]", "http://[::1]:99999999"]),
)


@pytest.mark.parametrize(
    "name", ["Host", "Origin", "Cookie", "Authorization", "Content-Type", "Accept-Language"]
)
@settings(any_of, max_examples=examples(40))
@given(value=HEADERS)
def test_any_header_is_answered(served, name, value):
    for method, path in (("GET", "/"), ("POST", "/api/keyphrases"), ("POST", "/operations/upload")):
        assert served.request(method, path, headers={name: value}).status_code < 500
