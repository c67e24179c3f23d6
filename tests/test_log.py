from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import structlog

from indexer.log import configure, get_logger, masked


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    configure()  # loggers that were made at import are used by the tests after these


def test_warnings_show_and_info_does_not_when_nobody_configured(capsys: pytest.CaptureFixture[str]) -> None:
    log = get_logger("test")
    log.info("document_read", id="a")
    log.warning("document_buried", id="a", reason='no "text"\nin it', attempts=2)
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.endswith(" warning document_buried id=a reason=\"no 'text'\\nin it\" attempts=2")


@pytest.mark.parametrize(
    ("verbose", "shown"), [(0, ["warning"]), (1, ["info", "warning"]), (2, ["debug", "info", "warning"])]
)
def test_verbose_shows_more(verbose: int, shown: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    log = get_logger("test")  # made before `configure`, as loggers of modules are
    configure(verbose=verbose)
    for level in ("debug", "info", "warning"):
        getattr(log, level)("event")
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == shown


def test_the_level_can_be_raised_to_errors(capsys: pytest.CaptureFixture[str]) -> None:
    configure("error")
    get_logger().warning("event")
    assert capsys.readouterr().err == ""


def test_json_lines_are_objects(capsys: pytest.CaptureFixture[str]) -> None:
    configure(format="json")
    get_logger("test").warning("document_buried", id="a", attempts=2)
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["level"], line["id"], line["attempts"]) == (
        "document_buried",
        "warning",
        "a",
        2,
    )


def test_an_exception_comes_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        get_logger().exception("bug")
    first, *trace = capsys.readouterr().err.splitlines()
    assert first.endswith("error bug")
    assert trace[-1] == "ZeroDivisionError: division by zero"


def test_passwords_in_urls_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    get_logger().warning("no_answer", url="redis://me:secret@host/0")
    assert "url=redis://me:***@host/0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@host:9200/", "https://me:***@host:9200/"),
        ("redis://:secret@host", "redis://:***@host"),
        ("amqp://me:se@cr@et@host//", "amqp://me:***@host//"),
        ("from a://u:secret@h to b://u:secret@h", "from a://u:***@h to b://u:***@h"),
        ("http://host:9200/a@b", "http://host:9200/a@b"),
        ("sqlite:////data/catalog.sqlite", "sqlite:////data/catalog.sqlite"),
        ("me@host.org: hello", "me@host.org: hello"),
    ],
)
def test_masked_hides_passwords_and_nothing_else(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_a_program_that_configured_structlog_keeps_its_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[str] = []

    def keep(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        seen.append(str(event["event"]))
        raise structlog.DropEvent

    structlog.configure(processors=[keep])
    get_logger().info("event")
    assert seen == ["event"]
    assert capsys.readouterr().err == ""
